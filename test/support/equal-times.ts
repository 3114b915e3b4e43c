const pairs = 30;
const warmUps = 5;
const attempts = 6;

/** What is timed: a call, or a call with its preparation, which is not timed. */
type Timed<T> = (() => Promise<unknown>) | { prepare: () => Promise<T>; run: (prepared: T) => Promise<unknown> };

/**
 * Expects two things to take equally long, so that the response time does not reveal whether an address is known.
 *
 * They are timed in turns. Other load on the machine spoils one series, a leak in the code spoils each of them; so this
 * fails only if none of several series is even: by the medians (a factor of 1.5 at most) and by how often the one is
 * slower than the other (half the time if times reveal nothing; four standard deviations are allowed).
 */
export async function expectEqualTimes<T>(one: Timed<T>, other: Timed<T>): Promise<void> {
  const uneven: object[] = [];
  for (let attempt = 0; attempt < attempts; attempt++) {
    const times = await series(one, other);
    const medians = [median(times.one), median(times.other)] as const;
    const ratio = Math.max(...medians) / Math.min(...medians);
    const slower = chanceOfBeingSlower(times.one, times.other);
    if (ratio < 1.5 && slower > 0.2 && slower < 0.8) return;
    uneven.push({ medians, slower });
  }
  throw new Error(`One of the two takes longer, in each of ${attempts} series: ${JSON.stringify(uneven)}`);
}

/** Returns the milliseconds of each call, without the first ones, which only warm up. */
async function series<T>(one: Timed<T>, other: Timed<T>) {
  const times = { one: [] as number[], other: [] as number[] };
  const timed = async (kind: keyof typeof times, round: number) => {
    const run = await ready(kind === 'one' ? one : other);
    const start = performance.now();
    await run();
    if (round >= 0) times[kind].push(performance.now() - start);
  };
  for (let round = -warmUps; round < pairs; round++) {
    for (const kind of round % 2 ? (['one', 'other'] as const) : (['other', 'one'] as const)) await timed(kind, round);
  }
  return times;
}

async function ready<T>(timed: Timed<T>): Promise<() => Promise<unknown>> {
  if (typeof timed === 'function') return timed;
  const prepared = await timed.prepare();
  return () => timed.run(prepared);
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number;

/** Returns the probability that one drawn at random is slower than one of the others (Mann-Whitney). */
function chanceOfBeingSlower(some: number[], others: number[]): number {
  const wins: number[] = some.flatMap((a) => others.map((b) => (a > b ? 1 : a === b ? 0.5 : 0)));
  return wins.reduce((sum, win) => sum + win, 0) / wins.length;
}
