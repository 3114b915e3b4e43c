import { watchClock } from '../../src/platform/clock-watch.js';
import type { Db } from '../../src/platform/database/db.js';
import { clockAhead } from '../../src/platform/metrics/metrics.js';
import { newDatabase, type TestDatabase } from '../support/database.js';
import { until } from '../support/until.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await newDatabase();
});
afterAll(() => database.close());

const shown = async () => (await clockAhead.get()).values[0]?.value ?? Number.NaN;

/** Starts a watch with a clock that is off by `offMs`, or that the test sets. */
function watch(options: { offMs: number; everyMs?: number; db?: Pick<Db, 'statement'>; clock?: () => number }) {
  const state = { offMs: options.offMs };
  const lines: string[] = [];
  const say = ({ aheadMs }: { aheadMs?: number }, message: string) =>
    void lines.push(`${Math.round((aheadMs ?? Number.NaN) / 1000)} s: ${message}`);
  const clock = options.clock ?? (() => Date.now() + state.offMs);
  const { db = database.db, everyMs = 10 } = options;
  return { ...watchClock({ db, clock, everyMs, log: { warn: say, info: say } }), state, lines };
}

test.each([120_000, -600_000])(
  'a clock that is off by %d ms is shown, and logged once, and logged when it is right again',
  async (offMs) => {
    const { first, stop, state, lines } = watch({ offMs });
    await first;
    expect(await shown()).toBeCloseTo(offMs / 1000, 0);
    state.offMs = 0;
    await until('the clock is right again', () => lines.length > 1);
    expect(await shown()).toBeCloseTo(0, 0);
    stop();
    expect(lines).toEqual([
      `${offMs / 1000} s: the clock of this machine is not that of PostgreSQL`,
      expect.stringMatching(/^-?0 s: the clock of this machine is that of PostgreSQL again$/),
    ]);
  },
);

test('a PostgreSQL that is away or slow causes no warning about the clock', async () => {
  clockAhead.set(7);
  const away = watch({ offMs: 0, everyMs: 60_000, db: { statement: () => Promise.reject(new Error('away')) } });
  await away.first;
  const times = [0, 1_500];
  const late = watch({ offMs: 0, everyMs: 60_000, clock: () => times.shift() ?? 0 });
  await late.first;
  for (const { stop } of [away, late]) stop();
  expect(await shown()).toBe(7);
  expect([...away.lines, ...late.lines]).toEqual([]);
});
