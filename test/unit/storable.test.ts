import { alteredIn, isStorable } from '../../src/platform/database/storable.js';

test.each<[unknown, string | null]>([
  ['', null],
  ['😀 \u0001 \ufffd', null],
  ['\ud83d', ''],
  ['\ude00\ud83d', ''],
  [1.7976931348623157e308, null],
  [Number.NEGATIVE_INFINITY, ''],
  [{ a: [1, { b: 'x', c: null, d: false }], e: undefined }, null],
  [undefined, null],
  [{ a: [1, { b: ['x', '\ud800'] }] }, 'a[1].b[1]'],
  [[['a'], ['\ud800']], '[1][0]'],
  [{ a: { b: Number.POSITIVE_INFINITY } }, 'a.b'],
  [{ a: { '\ud800': 1 } }, 'a'], // a key that can be neither returned nor stored
  [{ '\ud800': 1 }, ''],
])('of %j, what would be stored differently is at: %j', (value, where) => {
  expect(alteredIn(value)).toBe(where);
  expect(isStorable(value)).toBe(where === null);
});

test.each(['a\0', { '\0': 1 }, [{ a: ['\0'] }]])('%j cannot be stored, but would not be altered', (value) => {
  expect(isStorable(value)).toBe(false);
  expect(alteredIn(value)).toBeNull();
});
