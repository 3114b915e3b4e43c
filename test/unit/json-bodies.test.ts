import { isDeeper } from '../../src/http/json-bodies.js';

const nested = (depth: number, inner = '') => `${'['.repeat(depth)}${inner}${']'.repeat(depth)}`;

test('depth is counted outside of strings, at any length', () => {
  expect(isDeeper(nested(100), 100)).toBe(false);
  expect(isDeeper(nested(101), 100)).toBe(true);
  expect(isDeeper('{"a":'.repeat(101), 100)).toBe(true);
  expect(isDeeper('[]'.repeat(500), 100)).toBe(false);
});

test.each([
  ['brackets', `"${'['.repeat(300)}"`, false],
  ['brackets behind an escaped quote', `"a\\"${'['.repeat(300)}"`, false],
  ['brackets behind an escaped backslash and an escaped quote', `"\\\\\\"${'['.repeat(300)}"`, false],
  ['a backslash at its end', `"a\\\\",${nested(101)}`, true],
  ['nothing', `"",${nested(101)}`, true],
  ['no end', `"${nested(101)}`, false],
])('a string with %s', (_name, text, expected) => {
  expect(isDeeper(`[${text}]`, 100)).toBe(expected);
});

test('a text made of backslashes and quotes takes no longer than any other', () => {
  expect(isDeeper(`["${'\\'.repeat(400_000)}"${'"\\'.repeat(200_000)}`, 100)).toBe(false);
});

/** As the first version said it, sign by sign. */
function slowly(text: string, most: number): boolean {
  let depth = 0;
  for (let i = 0, inText = false; i < text.length; i++) {
    if (inText) {
      if (text[i] === '\\') i++;
      else if (text[i] === '"') inText = false;
    } else if (text[i] === '"') inText = true;
    else if ('{['.includes(text[i] as string)) {
      if (++depth > most) return true;
    } else if ('}]'.includes(text[i] as string)) depth--;
  }
  return false;
}

test('random texts are read as sign by sign', () => {
  for (let round = 0; round < 5000; round++) {
    const signs = '[[{]}"\\a,';
    const text = Array.from({ length: 30 }, () => signs[Math.floor(Math.random() * signs.length)]).join('');
    expect([text, isDeeper(text, 4)]).toEqual([text, slowly(text, 4)]);
  }
});
