/** The shortest word that is looked for: shorter ones are parts of too many others. */
const SHORTEST_WORD = 4;
/** What has to be left of a password without the words of its context: as much as of any password. */
const LEAST_LEFT = 8;
/** Of this service; in the context of every password. */
const OURS = 'gatehouse';

/** What stands for what it looks like, so that `g4teh0use` is `gatehouse`. One character each, so that places stay. */
const lookalikes: Readonly<Record<string, string>> = {
  0: 'o',
  1: 'i',
  l: 'i',
  3: 'e',
  4: 'a',
  '@': 'a',
  5: 's',
  $: 's',
  7: 't',
  8: 'b',
};

/**
 * Whether a password is, or is little more than, words of its context (NIST SP 800-63B-4 §3.1.1.2, docs/decisions/0060):
 * a name or an address as a whole, what stands before its `@`, and each of its parts of at least four letters. Case, accents,
 * punctuation and the usual digits for letters make no difference. Taken out, the words have to leave eight characters,
 * for which digits in a row, and a character that is repeated, count once.
 * @param context names and mail addresses; what is not known is left out
 */
export function isOfContext(password: string, context: readonly (string | null | undefined)[]): boolean {
  let left = folded(password).replace(/[^\p{L}\p{N}@$]/gu, '');
  let shape = shapeOf(left);
  const before = shape;
  for (const word of wordsOf(context)) {
    for (let at = shape.indexOf(word); at >= 0; at = shape.indexOf(word)) {
      const gap = ' '.repeat(word.length); // and no new word where two parts meet
      shape = shape.slice(0, at) + gap + shape.slice(at + word.length);
      left = left.slice(0, at) + gap + left.slice(at + word.length);
    }
  }
  if (shape === before) return false;
  const counted = left
    .replaceAll(' ', '')
    .replace(/\p{N}+/gu, '0')
    .replace(/(.)\1+/gu, '$1');
  return [...counted].length < LEAST_LEFT;
}

/** The longest first: a name as a whole before its parts. */
function wordsOf(context: readonly (string | null | undefined)[]): string[] {
  const texts = [OURS, ...context].flatMap((text) => (text ? [folded(text)] : []));
  const words = texts.flatMap((text) => [text, text.replace(/@.*$/s, ''), ...(text.match(/\p{L}+/gu) ?? [])]);
  const shapes = new Set(words.map((word) => shapeOf(word.replace(/[^\p{L}\p{N}@$]/gu, ''))));
  return [...shapes].filter((word) => word.length >= SHORTEST_WORD).sort((one, other) => other.length - one.length);
}

/** In small letters, without accents. */
const folded = (text: string) => text.toLowerCase().normalize('NFKD').replace(/\p{M}/gu, '');

const shapeOf = (text: string) => text.replace(/[0134578l@$]/g, (character) => lookalikes[character] ?? character);
