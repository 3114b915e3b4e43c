/** Formats a moment for a mail. The reader's time zone is unknown, so the text names UTC. */
export function formatDateTime(date: Date, locale: string): string {
  const moment = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }).format(
    date,
  );
  return locale === 'de' ? `${moment} Uhr UTC` : `${moment} UTC`;
}
