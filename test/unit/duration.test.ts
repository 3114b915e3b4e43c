import { parseDurations } from '../../src/platform/duration.js';

test('a list of durations has a count for each, and an invalid one is refused', () => {
  expect(parseDurations('5s,3x1m,2h')).toEqual([5000, 60_000, 60_000, 60_000, 7_200_000]);
  for (const wrong of ['', '5', '0x1m', '9999x1s,9999x1s', 'x1m', '1m,'])
    expect(() => parseDurations(wrong)).toThrow(RangeError);
});
