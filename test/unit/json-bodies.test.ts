import { authzenOperations } from '../../src/http/authzen/index.js';
import { portalOperations } from '../../src/http/portal-api.js';
import { worthReading } from '../../src/http/server/body-extents.js';
import { excessOf } from '../../src/http/server/json-bodies.js';
import { environmentOperations } from '../../src/http/surfaces/environment-operations.js';

const any = { parts: Number.POSITIVE_INFINITY, widest: Number.POSITIVE_INFINITY };
const isDeeper = (text: string, deepest: number) => excessOf(text, { ...any, deepest }) === 'too_deep';

const nested = (depth: number, inner = '') => `${'['.repeat(depth)}${inner}${']'.repeat(depth)}`;

test('depth is counted outside of strings, at any length', () => {
  expect(isDeeper(nested(100), 100)).toBe(false);
  expect(isDeeper(nested(101), 100)).toBe(true);
  expect(isDeeper('{"a":'.repeat(101), 100)).toBe(true);
  expect(isDeeper('[]'.repeat(500), 100)).toBe(false);
});

test.each([
  ['brackets', `"${'['.repeat(300)}"`, false],
  ['brackets after an escaped quote', `"a\\"${'['.repeat(300)}"`, false],
  ['brackets after an escaped backslash and an escaped quote', `"\\\\\\"${'['.repeat(300)}"`, false],
  ['a backslash at its end', `"a\\\\",${nested(101)}`, true],
  ['nothing', `"",${nested(101)}`, true],
  ['no end', `"${nested(101)}`, false],
])('depth is counted outside of strings: a string with %s', (_name, text, expected) => {
  expect(isDeeper(`[${text}]`, 100)).toBe(expected);
});

test('a text of backslashes and quotes takes no longer than any other', () => {
  expect(isDeeper(`["${'\\'.repeat(400_000)}"${'"\\'.repeat(200_000)}`, 100)).toBe(false);
});

/** Counts character by character, as the first version did. */
function slowly(text: string, most: number): boolean {
  let depth = 0;
  for (let i = 0, inText = false; i < text.length; i++) {
    if (inText) {
      if (text[i] === '\\') i++;
      else if (text[i] === '"') inText = false;
    } else if (text[i] === '"') inText = true;
    else if ('{['.includes(text[i] as string)) {
      if (++depth > most) return true;
    } else if ('}]'.includes(text[i] as string)) depth = Math.max(0, depth - 1);
  }
  return false;
}

test('random texts give the same result as character by character', () => {
  for (let round = 0; round < 5000; round++) {
    const signs = '[[{]}"\\a,';
    const text = Array.from({ length: 30 }, () => signs[Math.floor(Math.random() * signs.length)]).join('');
    expect([text, isDeeper(text, 4)]).toEqual([text, slowly(text, 4)]);
  }
});

describe('members and elements are counted', () => {
  const excess = (text: string, parts: number, widest = parts) => excessOf(text, { deepest: 100, parts, widest });

  test.each([
    ['[1,2,3]', 3],
    ['{"a":1,"b":{"c":[]}}', 4],
    ['{"a,b":"c,[{","d":"\\",\\""}', 2],
    [`[${'[],'.repeat(50)}[]]`, 102],
  ])('in total, outside of strings: %s', (text, count) => {
    expect(excess(text, count)).toBe(null);
    expect(excess(text, count - 1, count)).toBe('too_many');
  });

  test('in each object or array', () => {
    const text = `[${'{"a":1,"b":2},'.repeat(40)}{"a":1}]`;
    expect(excess(text, 1000, 41)).toBe(null);
    expect(excess(text, 1000, 40)).toBe('too_many');
    expect(excess(`[[1,2,3],${'[1],'.repeat(8)}[1]]`, 1000, 10)).toBe(null);
  });
});

const operations = [...new Set([...environmentOperations, ...portalOperations, ...authzenOperations])];

test.each(operations.filter(({ body }) => body).map(({ id, body }) => [id, body]))(
  'the largest body that %s accepts is read',
  (_id, body) => {
    expect(excessOf(JSON.stringify(largest(body as Shape)), { deepest: 100, ...worthReading(body) })).toBe(null);
  },
);

interface Shape {
  type?: string;
  properties?: Record<string, Shape>;
  items?: Shape;
  maxItems?: number;
  'x-max-bytes'?: number;
}
/** Returns a value with the maximum of members and elements. */
function largest({ type, properties = {}, items = {}, maxItems, ...more }: Shape): unknown {
  const bytes = more['x-max-bytes'];
  if (bytes !== undefined) return { a: Array.from({ length: bytes / 2 - 4 }, () => 0) };
  if (type === 'object')
    return Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, largest(one)]));
  if (type !== 'array') return 0;
  const element = largest(items);
  return Array.from({ length: maxItems ?? 50 }, () => element);
}
