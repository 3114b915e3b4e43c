import { nextDelay, nextShare } from '../../src/http/server/shedding.js';

test('the refused share grows under overload, never to everything, and returns to nothing', () => {
  let share = 0;
  for (let i = 0; i < 3; i++) share = nextShare(share, 3);
  expect(share).toBeCloseTo(0.9);
  for (let i = 0; i < 100; i++) share = nextShare(share, 50);
  expect(share).toBe(0.95);
  share = nextShare(share, 1);
  expect(share).toBeLessThan(0.95);
  for (let i = 0; i < 100; i++) share = nextShare(share, 0.5);
  expect(share).toBe(0);
});

/** A loop that needs this long for one turn's requests, at first with three times what it can do. */
test('the loop settles where it accepts what it can do', () => {
  let share = 0;
  const shares: number[] = [];
  for (let i = 0; i < 600; i++) {
    share = nextShare(share, 3 * (1 - share));
    shares.push(share);
  }
  const settled = shares.slice(-300);
  const average = settled.reduce((sum, one) => sum + one, 0) / settled.length;
  expect(average).toBeGreaterThan(0.6);
  expect(average).toBeLessThan(0.75);
});

test('one long task, or a halted process, is no overload', () => {
  const limit = 200;
  expect(nextDelay(0, 20_000, limit)).toBeLessThan(limit);
  let delay = 0;
  for (let i = 0; i < 5; i++) delay = nextDelay(delay, 2 * limit, limit);
  expect(delay).toBeGreaterThan(limit);
  expect(nextDelay(0, -5, limit)).toBe(0);
});
