/** A moment as a mail says it. The reader's time zone is unknown, so the text names ours. */
export const inWords = (date: Date, locale: string): string =>
  `${new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }).format(date)} UTC`;
