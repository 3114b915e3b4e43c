/**
 * An address as limits count it: all that PostgreSQL (`citext`) may take for one address counts as one. What that is depends on the
 * database's locale, where `İ` may be an `i` and `I` an `ı`, and it lowers letter by letter, where JavaScript looks at the whole word.
 */
export const countedAddress = (email: string): string =>
  [...email].map((letter) => letter.toLowerCase().replace('\u0131', 'i').replace('\u0307', '')).join('');
