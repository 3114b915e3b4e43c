/**
 * Characters that show nothing, as the inside of a character class that the expressions of other languages can read, too: blanks,
 * what Unicode has ignored wherever it cannot be shown (`Default_Ignorable_Code_Point`; marks of direction, joiners, fillers), and
 * the Braille pattern without a dot.
 */
export const invisible =
  ' \\u00a0\\u00ad\\u034f\\u061c\\u115f\\u1160\\u1680\\u17b4\\u17b5\\u180b-\\u180f\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f' +
  '\\u2800\\u3000\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb';

const somethingVisible = new RegExp(`[^${invisible}]`, 'u');

/** Whether a reader sees anything of it. */
export const isVisible = (text: string): boolean => somethingVisible.test(text);

/**
 * What a text of one line is without, written likewise: control characters, the other ends of a line (U+2028, U+2029), and what turns
 * the reading direction of whatever stands after it around.
 */
export const offLine = '\\x00-\\x1f\\x7f-\\x9f\\u2028-\\u202e\\u2066-\\u2069';

const everyOffLine = new RegExp(`[${offLine}]+`, 'gu');

export const isOnOneLine = (text: string): boolean => text.search(everyOffLine) < 0;

/** A text that somebody else may not mend, with blanks instead. */
export const broughtToOneLine = (text: string): string => text.replace(everyOffLine, ' ').trim();
