/**
 * Returns an address in the form under which limits count it: all spellings that PostgreSQL (`citext`) may treat as one
 * address count as one. That depends on the database's locale, in which `İ` may be an `i` and `I` an `ı`; and
 * PostgreSQL lower-cases letter by letter, while JavaScript considers the whole word.
 */
export const countedAddress = (email: string): string =>
  [...email].map((letter) => letter.toLowerCase().replace('\u0131', 'i').replace('\u0307', '')).join('');
