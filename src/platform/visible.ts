/**
 * Invisible characters, as the inside of a character class in a syntax that other languages' expressions share: blanks,
 * Unicode's `Default_Ignorable_Code_Point` (direction marks, joiners, fillers), which is ignored where it cannot be
 * shown, and the Braille pattern without dots.
 */
export const invisible =
  ' \\u00a0\\u00ad\\u034f\\u061c\\u115f\\u1160\\u1680\\u17b4\\u17b5\\u180b-\\u180f\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f' +
  '\\u2800\\u3000\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb';

const somethingVisible = new RegExp(`[^${invisible}]`, 'u');

/** Whether a reader sees any character of the text. */
export const isVisible = (text: string): boolean => somethingVisible.test(text);

/**
 * Characters that a text on one line must not have, in the same syntax: control characters, the other line ends
 * (U+2028, U+2029), and those that change the reading direction of the text after them.
 */
export const offLine = '\\x00-\\x1f\\x7f-\\x9f\\u2028-\\u202e\\u2066-\\u2069';

const everyOffLine = new RegExp(`[${offLine}]+`, 'gu');

export const isOnOneLine = (text: string): boolean => text.search(everyOffLine) < 0;

/** Returns a text with blanks in place of those characters, if its sender cannot be asked to correct it. */
export const broughtToOneLine = (text: string): string => text.replace(everyOffLine, ' ').trim();
