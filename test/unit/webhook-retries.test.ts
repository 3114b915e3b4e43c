import { nextAttemptAt } from '../../src/domain/webhooks/retries.js';
import { hours, minutes, seconds } from '../../src/platform/clock.js';

const now = new Date('2026-11-21T12:00:00.000Z');
const schedule = [seconds(5), minutes(5), hours(24)];
const waitMs = (attempts: number, retryAfter: string | null = null) => {
  const next = nextAttemptAt(schedule, { attempts, retryAfter, now });
  return next && next.getTime() - now.getTime();
};

test.each([
  [1, seconds(5)],
  [2, minutes(5)],
  [3, hours(24)],
])('after failure %i, the next attempt waits as scheduled, plus or minus a tenth', (attempts, expected) => {
  const waits = Array.from({ length: 500 }, () => waitMs(attempts) as number);
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(0.9 * expected - 1);
  expect(Math.max(...waits)).toBeLessThanOrEqual(1.1 * expected + 1);
  expect(Math.max(...waits) - Math.min(...waits)).toBeGreaterThan(0.1 * expected);
});

test('then it is given up, whatever the receiver requests', () => {
  expect(waitMs(4)).toBeNull();
  expect(waitMs(4, '60')).toBeNull();
});

test.each<[string, number]>([
  ['120', minutes(2)],
  ['Sat, 21 Nov 2026 12:30:00 GMT', minutes(30)],
  ['999999', hours(24)],
  ['Sat, 28 Nov 2026 12:00:00 GMT', hours(24)],
  ['99999999999', hours(24)],
  ['9'.repeat(400), hours(24)],
  ['Saturday, 21-Nov-26 12:30:00 GMT', minutes(30)],
  ['Sat Nov 21 12:30:00 2026', minutes(30)],
  ['Sun Nov  1 12:30:00 2037', hours(24)],
])('a receiver that asks for more time gets it, up to a day: Retry-After %s', (retryAfter, expected) => {
  expect(waitMs(1, retryAfter)).toBe(expected);
});

test.each([
  '0',
  '1',
  '-5',
  'soon',
  '',
  '1e9',
  '120 seconds',
  'Sat, 21 Nov 2020 12:30:00 GMT',
  'No, 99 Foo 2026 GMT',
  'Sat Nov 99 12:30:00 2026',
  '2026-11-21T12:30:00Z',
])('a Retry-After that is shorter or unreadable leaves the schedule as it is: %s', (retryAfter) => {
  expect(waitMs(1, retryAfter)).toBeGreaterThanOrEqual(seconds(4.5));
  expect(waitMs(1, retryAfter)).toBeLessThanOrEqual(seconds(5.5));
});
