import { withWait } from '../../activities/waiting.js';
import { growingPauses, msUntil } from '../../workflows/waits.js';

test('what says that it is not there yet says how long, and that counts, whatever the time is elsewhere', () => {
  const inAMinute = new Date(Date.now() + 60_000).toISOString();
  const { waitMs } = withWait({}, inAMinute);
  expect(waitMs).toBeGreaterThan(55_000);
  expect(waitMs).toBeLessThanOrEqual(60_000);
  const passedByOurs = new Date(Date.now() - 600_000).toISOString();
  expect(msUntil(passedByOurs, waitMs)).toBe(waitMs);
  expect(withWait({ status: 'pending' }, passedByOurs)).toEqual({ status: 'pending', waitMs: 0 });
  expect(withWait({ status: 'completed' }, null)).toEqual({ status: 'completed' });
});

test('a worker of the release before tells only the moment', () => {
  expect(msUntil(new Date(Date.now() + 60_000).toISOString(), undefined)).toBeGreaterThan(55_000);
});

test('the pauses between retries double, up to a minute', () => {
  const pause = growingPauses();
  expect(Array.from({ length: 9 }, pause)).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60].map((each) => each * 1_000));
});
