import { isStorable, unstorableIn } from '../../src/platform/storable.js';

test.each<[unknown, string | null]>([
  ['', null],
  ['😀 \u0001 \ufffd', null],
  ['\ud83d', ''],
  ['\ude00\ud83d', ''],
  ['a\0', ''],
  [1.7976931348623157e308, null],
  [Number.NEGATIVE_INFINITY, ''],
  [{ a: [1, { b: 'x', c: null, d: false }], e: undefined }, null],
  [undefined, null],
  [{ a: [1, { b: ['x', '\0'] }] }, 'a[1].b[1]'],
  [[['a'], ['\ud800']], '[1][0]'],
  [{ a: { b: Number.POSITIVE_INFINITY } }, 'a.b'],
  [{ a: { '\ud800': 1 } }, 'a'], // its name is as little to be answered as to be stored
  [{ '\0': 1 }, ''],
])('of %j there is in the way of storing it: %j', (value, where) => {
  expect(unstorableIn(value)).toBe(where);
  expect(isStorable(value)).toBe(where === null);
});
