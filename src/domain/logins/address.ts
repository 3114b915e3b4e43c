/**
 * An address that was typed, as it is looked up. What no identity can have, nor PostgreSQL hold, becomes the empty one, which
 * is nobody's: it is refused like any other, after the same work.
 */
export const addressTyped = (typed: string): string => (isAddress(typed) ? typed : '');

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const isAddress = (email: string) => email.length <= 320 && !/[\x00-\x1f\x7f]/.test(email);

/**
 * An address as limits count it: all that PostgreSQL (`citext`) may take for one address counts as one. What that is depends on the
 * database's locale, where `İ` may be an `i` and `I` an `ı`, and it lowers letter by letter, where JavaScript looks at the whole word.
 */
export const countedAddress = (email: string): string =>
  [...email].map((letter) => letter.toLowerCase().replace('\u0131', 'i').replace('\u0307', '')).join('');

const form =
  /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*@(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/i;

/** Whether it is one mail address, as JSON Schema's `email` has it in this service's own API. */
export const isMailAddress = (text: string): boolean => text.length <= 254 && form.test(text);
