import { setTimeout as sleep } from 'node:timers/promises';
import type { Stops } from '../../src/dev/stops.js';
import { connect } from '../connection.js';
import { rssMb } from '../cpu.js';
import { install } from '../installation.js';
import { percentile } from '../percentile.js';
import { markdownTable } from '../report/markdown.js';
import { digits } from '../report/text.js';
import { type Seed, seed as seedData } from '../seed.js';
import { type Api, startApis } from '../service.js';
import { createHolders, workloads } from '../workloads/index.js';
import { newRequest } from '../workloads/sign-in.js';

/** What one api does while `callers` people sign in repeatedly, and four applications refresh tokens. */
export interface Overload {
  callers: number;
  /** Sign-ins per second that were admitted, and that were refused (`shed`). */
  admitted: number;
  shed: number;
  admittedMs: { p50: number; p99: number };
  refreshes: number;
  /** Refreshes per second that were refused as well. */
  refreshesShed: number;
  refreshMs: { p50: number; p99: number };
  /** The slowest answer of `/healthz`, in milliseconds. */
  healthMs: number;
  /** The api's memory at the end; null if not on Linux. */
  rssMb: number | null;
}

type Kind = 'admitted' | 'shed' | 'refresh' | 'refreshShed' | 'health';

const warmMs = 2_000;
const measuredMs = 10_000;
const refreshers = 4;
/** Measures one api while nobody, then more and more people sign in. */
export async function measureOverload(
  stops: Stops,
  counts: readonly number[],
  say: (line: string) => void,
): Promise<Overload[]> {
  say('starting PostgreSQL and an api');
  const installation = await install(stops);
  const seed = await seedData(installation.databaseUrl);
  const [api] = (await startApis(1, installation, stops)) as [Api];
  const results: Overload[] = [];
  for (const callers of counts) {
    say(`${callers} callers sign in`);
    results.push(await measure(api, seed, callers));
  }
  return results;
}

async function measure(api: Api, seed: Seed, callers: number): Promise<Overload> {
  const holders = createHolders(api.origin, seed);
  const times: Record<Kind, number[]> = { admitted: [], shed: [], refresh: [], refreshShed: [], health: [] };
  const closes: (() => Promise<void>)[] = [];
  const connected = () => {
    const connection = connect(api.origin);
    closes.push(connection.close);
    return connection;
  };
  const refresh = workloads.find(({ name }) => name === 'refresh')!;
  const mailedCode = async () => '';
  const refreshing = await Promise.all(
    Array.from({ length: refreshers }, (_, index) =>
      refresh.prepare({ index, connection: connected(), seed, holders, mailedCode }),
    ),
  );
  const begunAt = performance.now();
  const isOver = () => performance.now() > begunAt + warmMs + measuredMs;
  const timed = async (work: () => Promise<Kind>) => {
    const at = performance.now();
    const what = await work();
    if (at > begunAt + warmMs) times[what].push(performance.now() - at);
  };
  const refreshLoops = refreshing.map(async (run) => {
    while (!isOver()) await timed(() => run().then(() => 'refresh' as const, refused));
  });
  const signIns = Array.from({ length: callers }, async (_, index) => {
    const connection = connected();
    while (!isOver()) await timed(() => signIn(connection, seed, index));
  });
  const health = (async () => {
    const connection = connected();
    for (; !isOver(); await sleep(50)) await timed(() => connection.get('/healthz').then(() => 'health' as const));
  })();
  await Promise.all([...refreshLoops, ...signIns, health]);
  await Promise.all(closes.map((close) => close()));
  const both = (all: number[]) => ({
    p50: all.length ? percentile(all, 0.5) : 0,
    p99: all.length ? percentile(all, 0.99) : 0,
  });
  const perSecond = (all: number[]) => (all.length * 1000) / measuredMs;
  return {
    callers,
    admitted: perSecond(times.admitted),
    shed: perSecond(times.shed),
    admittedMs: both(times.admitted),
    refreshes: perSecond(times.refresh),
    refreshesShed: perSecond(times.refreshShed),
    refreshMs: both(times.refresh),
    healthMs: Math.max(0, ...times.health),
    rssMb: rssMb(api.pid),
  };
}

/** @throws the error if it is no refusal because of load */
async function refused(error: Error): Promise<'refreshShed'> {
  if (!error.message.startsWith('503 ')) throw error;
  await sleep(1_000);
  return 'refreshShed';
}

/** Signs in; waits for `Retry-After` if it is refused. @throws Error for any other answer */
async function signIn(connection: ReturnType<typeof connect>, seed: Seed, index: number): Promise<'admitted' | 'shed'> {
  const { query } = newRequest(seed.publicClient, seed.redirectUri);
  const email = seed.emails[index % seed.emails.length] as string;
  const form = { ...Object.fromEntries(query), email, password: seed.password };
  const { status, headers, text } = await connection.post('/oauth/authorize', form, { accept: 'application/json' });
  if (status === 200) return 'admitted';
  if (status !== 503) throw new Error(`${status}: ${text.slice(0, 200)}`);
  await sleep(Number(headers['retry-after']) * 1_000);
  return 'shed';
}

/** Returns Markdown with a line for each number of callers. */
export function overloadTable(results: readonly Overload[]): string {
  const rows = results.map((result) =>
    [
      result.callers,
      ...[result.admitted, result.shed, result.admittedMs.p50, result.admittedMs.p99].map(digits),
      ...[result.refreshes, result.refreshesShed, result.refreshMs.p50, result.refreshMs.p99, result.healthMs].map(
        digits,
      ),
      result.rssMb ?? '',
    ].map(String),
  );
  const headings = [
    'callers',
    'sign-ins/s',
    'refused/s',
    'p50 ms',
    'p99 ms',
    'refreshes/s',
    'refused/s',
    'p50 ms',
    'p99 ms',
    'slowest probe ms',
    'api MB',
  ];
  return markdownTable(headings, rows);
}
