/** The shortest word that counts: shorter ones are parts of too many others. */
const minWordLength = 4;
/** What has to be left of a password without its context's words: as much as any password needs. */
const minLeft = 8;
/** The name of this service, which is part of every password's context. */
const ownWord = 'gatehouse';

/**
 * Characters that are used for similar letters, so that `g4teh0use` is `gatehouse`. One for one, so that positions stay
 * the same.
 */
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
 * Whether a password is little more than words of its context (NIST SP 800-63B-4 §3.1.1.2, docs/decisions/0060): a
 * whole name or address, the part before its `@`, and each of its parts of at least four letters. Case, accents,
 * punctuation and the usual digits for letters make no difference. Without the words eight characters have to be left,
 * of which consecutive digits, and repetitions of a character, count once.
 * @param context names and mail addresses; unknown ones are left out
 */
export function isOfContext(password: string, context: readonly (string | null | undefined)[]): boolean {
  let left = folded(password).replace(/[^\p{L}\p{N}@$]/gu, '');
  let shape = shapeOf(left);
  const before = shape;
  for (const word of wordsOf(context)) {
    for (let at = shape.indexOf(word); at >= 0; at = shape.indexOf(word)) {
      const gap = ' '.repeat(word.length); // so that no new word appears where two parts meet
      shape = shape.slice(0, at) + gap + shape.slice(at + word.length);
      left = left.slice(0, at) + gap + left.slice(at + word.length);
    }
  }
  if (shape === before) return false;
  const counted = left
    .replaceAll(' ', '')
    .replace(/\p{N}+/gu, '0')
    .replace(/(.)\1+/gu, '$1');
  return [...counted].length < minLeft;
}

/** The longest first: a whole name before its parts. */
function wordsOf(context: readonly (string | null | undefined)[]): string[] {
  const texts = [ownWord, ...context].flatMap((text) => (text ? [folded(text)] : []));
  const words = texts.flatMap((text) => [text, text.replace(/@.*$/s, ''), ...(text.match(/\p{L}+/gu) ?? [])]);
  const shapes = new Set(words.map((word) => shapeOf(word.replace(/[^\p{L}\p{N}@$]/gu, ''))));
  return [...shapes].filter((word) => word.length >= minWordLength).sort((one, other) => other.length - one.length);
}

/** In lower case, without accents. */
const folded = (text: string) => text.toLowerCase().normalize('NFKD').replace(/\p{M}/gu, '');

const shapeOf = (text: string) => text.replace(/[0134578l@$]/g, (character) => lookalikes[character] ?? character);
