import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { hours, minutes, seconds } from '../../src/platform/clock.js';
import { install } from '../installation.js';
import { startNameServer } from '../name-server.js';
import { percentile } from '../percentile.js';
import { markdownTable } from '../report/markdown.js';
import type { Surroundings } from '../surroundings.js';
import { cpuOfEach, type DurableCpu, durableCpu } from '../temporal.js';
import { type BenchWorker, megabytes, startWorker, untilOpen } from '../worker.js';

/** What `pending` claims of domains without their DNS record cost. */
export interface PendingDomains {
  pending: number;
  /** From the start of the worker until no message is left in the outbox. */
  openedMs: number;
  /** CPU time of worker, Temporal and PostgreSQL while the worker polled; null if not on Linux. */
  pollingCpu: DurableCpu | null;
  /** The worker's highest memory while it opened them (`openingRssMb`) and while it polled; null if not on Linux. */
  openingRssMb: number | null;
  rssMb: number | null;
  /** Checks that fell due while it polled, and how many of them happened. */
  due: number;
  looked: number;
  /** Milliseconds from the due time of a check to the question at the name server; null if none fell due. */
  lateMs: { p50: number; p99: number } | null;
}

const giveUpAfterMs = hours(1);
/** How long polling is observed, and how late a check may be before it counts as missing. */
const polledForMs = minutes(5);
const missingAfterMs = seconds(30);
const claimsOfAccount = 20;

/**
 * Claims `pending` domains, all some hours old: the usual schedule checks each once an hour, at its own time. The
 * embedded Temporal opens about twenty per second on two cores, so ten thousand take a while.
 */
export async function measureDomains(
  pending: number,
  { stops, say, startTemporal }: Surroundings,
): Promise<PendingDomains> {
  say(`${pending} claims: starting PostgreSQL and a name server`);
  const installation = await install(stops);
  const temporal = await startTemporal(installation);
  const names = await startNameServer(stops);
  const owner = new pg.Client({ connectionString: installation.ownerUrl });
  await owner.connect();
  try {
    const dueAt = await seed(owner, pending);
    const servers = { temporal: temporal.address, smtpUrl: 'smtp://127.0.0.1:9' };
    const start = performance.now();
    const worker = await startWorker(installation, servers, stops, { DNS_SERVERS: names.address });
    const opened = await untilOpen({ worker, start, giveUpAfterMs, say, left: () => leftInOutbox(owner) });
    await worker.settles(); // a started process still has a task that waits for the worker
    const from = Date.now() + missingAfterMs; // checks that were due before may be late
    await sleep(missingAfterMs);
    say(`polling for ${polledForMs / 60_000} minutes`);
    const spent = durableCpu(worker, temporal, installation);
    const rssMb = await maxWhile(worker, polledForMs + missingAfterMs);
    const pollingCpu = spent();
    await worker.stop();
    return { pending, ...opened, pollingCpu, rssMb, ...looksAt(names.asked, dueAt, { from, to: from + polledForMs }) };
  } finally {
    await owner.end();
  }
}

/**
 * Writes rows and messages like a claim does, in separate Accounts.
 * @returns by domain, one of the times of its checks
 */
async function seed(owner: pg.Client, pending: number): Promise<Map<string, number>> {
  await owner.query(
    `insert into accounts (id, name, slug, created_at, updated_at)
     select gen_random_uuid(), 'Bench ' || n, 'bench-' || n, now(), now() from generate_series(0, ($1::int - 1) / $2::int) n`,
    [pending, claimsOfAccount],
  );
  // The usual schedule begins with an hour of more frequent checks; later ones are at whole hours of the claim's age.
  const { rows } = await owner.query<{ domain: string; started_at: Date }>(
    `insert into sso_domains (id, account_id, domain, token, status, claimed_by_type, claimed_by, created_at, started_at, fails_at, next_check_at)
     select gen_random_uuid(), a.id, 'd-' || n || '.bench.example', 'bench-' || n, 'pending', 'platform_admin', gen_random_uuid(),
       s.at, s.at, s.at + interval '30 days', s.at + interval '4 hours'
     from generate_series(0, $1::int - 1) n join accounts a on a.slug = 'bench-' || n / $2::int,
       lateral (select now() - interval '3 hours' - n * interval '1 hour' / $1::int as at) s
     returning domain, started_at`,
    [pending, claimsOfAccount],
  );
  await owner.query(
    `update sso_domains set next_check_at = started_at + interval '1 hour' * ceil(extract(epoch from now() - started_at) / 3600)`,
  );
  await owner.query(
    `insert into outbox (id, process, input, created_at, due_at, attempts)
     select gen_random_uuid(), 'ssoDomainVerification', jsonb_build_object('claimId', id, 'accountId', account_id, 'environmentId', null),
       now(), now(), 0 from sso_domains`,
  );
  return new Map(rows.map(({ domain, started_at }) => [`_svc-verification.${domain}`, started_at.getTime()]));
}

/** Returns how many messages the relay has not started yet. */
async function leftInOutbox(owner: pg.Client): Promise<number> {
  return (await owner.query<{ left: number }>('select count(*)::int as left from outbox')).rows[0]!.left;
}

async function maxWhile(worker: BenchWorker, ms: number): Promise<number | null> {
  let most = worker.rssMb();
  for (const end = performance.now() + ms; performance.now() < end; await sleep(500)) {
    most = most === null ? null : Math.max(most, worker.rssMb() ?? 0);
  }
  return most;
}

/** Returns how many checks fell due in a time span, how many of them happened, and how late. */
function looksAt(
  asked: readonly { name: string; at: number }[],
  dueAt: ReadonlyMap<string, number>,
  { from, to }: { from: number; to: number },
): Pick<PendingDomains, 'due' | 'looked' | 'lateMs'> {
  const due = new Map<string, number>();
  for (const [name, one] of dueAt) {
    const first = one + Math.ceil((from - one) / hours(1)) * hours(1);
    if (first < to) due.set(name, first);
  }
  const late = new Map<string, number>();
  for (const { name, at } of asked) {
    const ms = at - (due.get(name) ?? Number.POSITIVE_INFINITY);
    if (ms >= 0 && !late.has(name)) late.set(name, ms);
  }
  const times = [...late.values()];
  const lateMs = times.length ? { p50: percentile(times, 0.5), p99: percentile(times, 0.99) } : null;
  return { due: due.size, looked: late.size, lateMs };
}

/** Returns Markdown with a line for each number of claims. */
export function domainsTable(results: readonly PendingDomains[]): string {
  const rows = results.map(({ pending, openedMs, openingRssMb, rssMb, pollingCpu, due, looked, lateMs }) =>
    [
      pending,
      `${(openedMs / 1000).toFixed(1)} s`,
      megabytes(openingRssMb),
      megabytes(rssMb),
      `${looked} of ${due}`,
      lateMs ? `${Math.round(lateMs.p50)} ms` : '–',
      lateMs ? `${Math.round(lateMs.p99)} ms` : '–',
      cpuOfEach(pollingCpu, (polledForMs + missingAfterMs) / 1000),
    ].map(String),
  );
  const headings = [
    'pending claims',
    'to open them',
    'worker meanwhile',
    'worker while it polls',
    'looks in five minutes',
    'late: p50',
    'p99',
    'CPU ms a second: worker + Temporal + PostgreSQL',
  ];
  return markdownTable(headings, rows);
}
