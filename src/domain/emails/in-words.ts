/** A moment as a mail says it. The reader's time zone is unknown, so the text names ours. */
export function inWords(date: Date, locale: string): string {
  const moment = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }).format(
    date,
  );
  return locale === 'de' ? `${moment} Uhr UTC` : `${moment} UTC`;
}
