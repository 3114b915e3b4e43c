import { withWait } from '../../activities/waiting.js';
import { growingPauses, msUntil } from '../../workflows/waits.js';

test('a look that finds nothing yet returns how long to wait, and that counts, whatever other clocks show', () => {
  const inAMinute = new Date(Date.now() + 60_000).toISOString();
  const { waitMs } = withWait({}, inAMinute);
  expect(waitMs).toBeGreaterThan(55_000);
  expect(waitMs).toBeLessThanOrEqual(60_000);
  const passedByOurs = new Date(Date.now() - 600_000).toISOString();
  expect(msUntil(passedByOurs, waitMs)).toBe(waitMs);
  expect(withWait({ status: 'pending' }, passedByOurs)).toEqual({ status: 'pending', waitMs: 0 });
  expect(withWait({ status: 'completed' }, null)).toEqual({ status: 'completed' });
});

test('a wait from before an outage of the workers ends at its moment, or within minutes of their return', () => {
  const [minute, hour] = [60_000, 3_600_000];
  const ahead = (ms: number) => new Date(Date.now() + ms).toISOString();
  expect(msUntil(ahead(4 * hour), 10 * hour) / minute).toBeCloseTo(240, 1); // read after six hours
  expect(msUntil(ahead(-2 * hour), 10 * hour)).toBe(5 * minute); // or too late
  expect(msUntil(ahead(-2 * hour), 20_000)).toBe(20_000);
  expect(msUntil(ahead(10 * hour - 50_000), 10 * hour)).toBe(10 * hour); // as clocks differ
  expect(msUntil(ahead(11 * hour), 10 * hour)).toBe(10 * hour); // Temporal's clock is slow
});

test('a worker of the previous release returns only the moment', () => {
  expect(msUntil(new Date(Date.now() + 60_000).toISOString(), undefined)).toBeGreaterThan(55_000);
});

test('the pauses between retries double, up to a minute', () => {
  const pause = growingPauses();
  expect(Array.from({ length: 9 }, pause)).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60].map((each) => each * 1_000));
});
