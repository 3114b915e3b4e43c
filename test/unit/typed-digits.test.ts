import { expect, test } from '@jest/globals';
import { typedDigits } from '../../src/domain/one-time/typed-digits.js';

test.each(['828033', '828 033', ' 828\u00a0033\n', '828-033', '828–033', '828.033', '８２８０３３'])(
  'a code typed as %j is read as its digits',
  (typed) => {
    expect(typedDigits(typed)).toBe('828033');
  },
);

test('other characters stay, so that the text is no code', () => {
  expect(typedDigits('828o33')).toBe('828o33');
  expect(typedDigits('+828033')).toBe('+828033');
});
