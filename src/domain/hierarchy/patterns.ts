import { UnusableSchema } from './unusable-schema.js';

/** Longer texts match no pattern of a tenant. */
export const maxMatchedLength = 1_000;
const maxPatternLength = 256;
/**
 * The most ways to divide a text among the quantifiers, of which an unbounded one counts as many as a text has
 * characters.
 */
const maxWays = maxMatchedLength ** 3;
const explodes = 'has a pattern that could take exponentially long, such as (a+)+';

interface Part {
  /** The sources of all parts that match one character. */
  characters: string[];
  /** In how many ways it may match a text at most. */
  ways: number;
  /** The character with which it always begins or ends, if there is one. */
  first: string | null;
  last: string | null;
}

const nothing: Part = { characters: [], ways: 1, first: null, last: null };

/**
 * Checks that no text makes a regular expression take exponential time. A repeated part may only vary inside if each
 * repetition begins or ends with a character that nothing else in it can match, as in `^[a-z]+(-[a-z]+)*$`. No
 * backreferences, and no lookaround.
 * @throws UnusableSchema
 */
export function assertHarmless(pattern: string): void {
  if (pattern.length > maxPatternLength)
    throw new UnusableSchema(`has a pattern longer than ${maxPatternLength} characters`);
  try {
    new RegExp(pattern, 'u');
  } catch {
    throw new UnusableSchema('has a pattern that is not a regular expression');
  }
  let at = 0;

  function alternatives(): Part {
    const parts = [sequence()];
    while (pattern[at] === '|') {
      at++;
      parts.push(sequence());
    }
    const ways = parts.reduce((sum, part) => sum + part.ways, 0);
    return parts.length === 1 ? (parts[0] as Part) : { ...nothing, characters: charactersOf(parts), ways };
  }

  function sequence(): Part {
    const parts: Part[] = [];
    while (at < pattern.length && pattern[at] !== '|' && pattern[at] !== ')') parts.push(quantified());
    return {
      characters: charactersOf(parts),
      ways: parts.reduce((product, part) => product * part.ways, 1),
      first: parts[0]?.first ?? null,
      last: parts.at(-1)?.last ?? null,
    };
  }

  function quantified(): Part {
    const part = atom();
    const [source = '', min, max] = /^(?:[*+?]|\{(\d+)(?:,(\d*))?\})\??/.exec(pattern.slice(at)) ?? [];
    if (source === '') return part;
    at += source.length;
    const [from, to] = boundsOf(source, min, max);
    const inside = part.ways > 1 && !isDelimited(part) ? part.ways ** to : part.ways;
    const ways = inside * Math.min(to - from + 1, maxMatchedLength);
    if (ways > maxWays) throw new UnusableSchema(explodes);
    return from === to && to === 1 ? part : { ...part, ways, ...(from !== to && { first: null, last: null }) };
  }

  function atom(): Part {
    const rest = pattern.slice(at);
    if (/^\((?!\?)|^\(\?:|^\(\?<[\p{ID_Start}$_]/u.test(rest)) {
      at += /^\((?:\?:|\?<[^>]*>)?/.exec(rest)?.[0].length ?? 1;
      const part = alternatives();
      at++; // the closing bracket
      return part;
    }
    if (rest.startsWith('(')) throw new UnusableSchema('has a pattern that looks around');
    if (/^\\[1-9k]/.test(rest)) throw new UnusableSchema('has a pattern that refers back');
    const character = /^(?:\[(?:\\.|[^\]\\])*\]|\\[pPux]\{[^}]*\}|\\u[\da-f]{4}|\\x[\da-f]{2}|\\c[a-z]|\\.|.)/isu.exec(
      rest,
    )?.[0];
    at += character?.length ?? 1;
    if (character === undefined || /^(?:\^|\$|\\b|\\B)$/.test(character)) return nothing;
    const written = /^[^.[\\]$/u.test(character) ? character : /^\\[^\w]$/u.test(character) ? character.slice(1) : null;
    return { characters: [character], ways: 1, first: written, last: written };
  }

  if (alternatives().ways > maxWays) throw new UnusableSchema(explodes);
}

const charactersOf = (parts: readonly Part[]) => parts.flatMap(({ characters }) => characters);

function boundsOf(source: string, min: string | undefined, max: string | undefined): [number, number] {
  if (min !== undefined) {
    const to = max === undefined ? Number(min) : max === '' ? Number.POSITIVE_INFINITY : Number(max);
    return [Number(min), to];
  }
  return source[0] === '?' ? [0, 1] : [source[0] === '+' ? 1 : 0, Number.POSITIVE_INFINITY];
}

/** Whether a certain character marks where each repetition begins, or ends. */
function isDelimited({ first, last, characters }: Part): boolean {
  const stands = (sign: string) => characters.filter((source) => new RegExp(`^(?:${source})$`, 'u').test(sign)).length;
  return (first !== null && stands(first) === 1) || (last !== null && stands(last) === 1);
}
