const characters = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** In UTF-16 units: longer than a flag or a family in emoji: whoever heaps up more marks wants to draw over the page. */
const maxUnits = 20;

/**
 * Returns the first character of a name in upper case, as readers count characters: a flag or a letter with its accent
 * is one, although Unicode may write it as several code points. Empty for an empty name.
 */
export function initialOf(name: string): string {
  const [first] = characters.segment(name.slice(0, 100));
  const initial = first?.segment ?? '';
  return (initial.length > maxUnits ? String.fromCodePoint(initial.codePointAt(0) as number) : initial).toUpperCase();
}
