/**
 * An address that was typed, as it is looked up. What no identity can have, nor PostgreSQL hold, becomes the empty one, which
 * is nobody's: it is refused like any other, after the same work.
 */
export const addressTyped = (typed: string): string => (isAddress(typed) ? typed : '');

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const isAddress = (email: string) => email.length <= 320 && !/[\x00-\x1f\x7f]/.test(email);
