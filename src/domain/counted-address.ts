/**
 * An address in the form in which limits count it: everything that PostgreSQL (`citext`) may take for one address
 * counts as one. That depends on the database's locale, in which `İ` may be an `i` and `I` an `ı`; and PostgreSQL
 * lower-cases letter by letter, while JavaScript considers the whole word.
 */
export const countedAddress = (email: string): string =>
  [...email].map((letter) => letter.toLowerCase().replace('\u0131', 'i').replace('\u0307', '')).join('');
