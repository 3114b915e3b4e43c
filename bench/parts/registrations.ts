import { createHash } from 'node:crypto';
import pg from 'pg';
import { SMTPServer } from 'smtp-server';
import type { Stops } from '../../src/dev/stops.js';
import { hours } from '../../src/platform/clock.js';
import { freePort } from '../../src/platform/embedded/ports.js';
import { createProcesses, type Processes } from '../../src/temporal/processes.js';
import { install } from '../installation.js';
import { markdownTable } from '../report/markdown.js';
import type { Surroundings } from '../surroundings.js';
import { cpuOfEach, type DurableCpu, durableCpu } from '../temporal.js';
import { megabytes, startWorker, untilOpen } from '../worker.js';

/** What `open` registrations cost that wait for their link to be used. */
export interface OpenRegistrations {
  open: number;
  /** From the first message in the outbox until all wait and every mail is sent. */
  openedMs: number;
  /** CPU time of worker, Temporal and PostgreSQL meanwhile; null if not on Linux. */
  openingCpu: DurableCpu | null;
  /** The worker's highest memory while it opened them; null if not on Linux. */
  openingRssMb: number | null;
  /** A new worker with them open: the time until it works, and its memory after it has confirmed and reconciled. */
  restartMs: number;
  rssMb: number | null;
  /** Milliseconds to confirm a registration that no worker has cached; measured one after the other. */
  confirmMs: { median: number; slowest: number };
  /** Accounts created per second when many links are used at once. */
  accountsPerSecond: number;
  /** Milliseconds of a reconciler run that finds all of them running. */
  reconcileMs: number;
}

const giveUpAfterMs = hours(1);
const confirmed = 20;
/** How many people use their link, and how many of them at once. */
const manyConfirmed = 200;
const atOnce = 20;
const namespace = 'default';

/**
 * Opens `open` registrations, and measures what waiting costs. Each has its own workflow and that of its mail; the
 * embedded Temporal opens about twenty per second on two cores, so ten thousand take a while.
 */
export async function measureRegistrations(
  open: number,
  { stops, say, startTemporal }: Surroundings,
): Promise<OpenRegistrations> {
  say(`${open} registrations: starting PostgreSQL and a mail server`);
  const installation = await install(stops);
  const temporal = await startTemporal(installation);
  const smtpUrl = await startSink(stops);
  const servers = { temporal: temporal.address, smtpUrl };
  const owner = new pg.Pool({ connectionString: installation.ownerUrl, max: 4 }); // many links are used at once
  const processes = createProcesses({ address: temporal.address, namespace, apiKey: null });
  try {
    const ids = await seed(owner, open, installation.masterKeys.split(':')[0]!);
    const first = await startWorker(installation, servers, stops);
    const cpu = durableCpu(first, temporal, installation);
    const opened = await untilOpen({
      worker: first,
      start: performance.now(),
      giveUpAfterMs,
      say,
      left: () => leftToMail(owner, open),
    });
    const openingCpu = cpu();
    await first.stop();

    const worker = await startWorker(installation, servers, stops);
    const times: number[] = [];
    for (const id of ids.slice(0, confirmed)) times.push(await timeOf(() => confirm(processes, owner, id)));
    times.sort((a, b) => a - b);
    const reconcileMs = await timeOf(() => reconcile(processes));
    const many = ids.slice(confirmed, confirmed + manyConfirmed);
    const manyMs = await timeOf(() => confirmAll(processes, owner, many));
    return {
      open,
      ...opened,
      openingCpu,
      restartMs: worker.readyMs,
      rssMb: worker.rssMb(),
      confirmMs: { median: times[times.length >> 1]!, slowest: times.at(-1)! },
      accountsPerSecond: (many.length * 1000) / manyMs,
      reconcileMs,
    };
  } finally {
    await processes.close();
    await owner.end();
  }
}

/** Writes rows and messages like `park`, old enough for the reconciler. */
async function seed(owner: pg.Pool, open: number, keyId: string): Promise<string[]> {
  const { rows } = await owner.query<{ id: string }>(
    `insert into pending_registrations (id, email, password_hash, first_name, last_name, account_name, application_name, locale,
       token_hash, token_key_id, status, correlation_id, created_at, expires_at)
     select id, 'bench' || n || '@bench.example', '-', 'Bench', 'Example', 'Bench ' || n, 'Shop', 'en', $2::bytea || int4send(n), $3,
       'pending', gen_random_uuid(), now() - interval '5 minutes', now() + interval '1 day'
     from (select gen_random_uuid() as id, n from generate_series(1, $1::int) n) as numbered returning id`,
    [open, createHash('sha256').update('bench').digest(), keyId],
  );
  await owner.query(
    `insert into outbox (id, process, input, created_at, due_at, attempts)
     select gen_random_uuid(), 'registrationVerification',
       jsonb_build_object('pendingRegistrationId', id, 'expiresAt', to_char(expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'reminderAt', null),
       now(), now(), 0 from pending_registrations`,
  );
  return rows.map(({ id }) => id);
}

/** Returns how many registrations have no sent mail yet. */
async function leftToMail(owner: pg.Pool, open: number): Promise<number> {
  const { rows } = await owner.query<{ sent: number }>(
    `select count(*)::int as sent from emails where status = 'sent'`,
  );
  return open - rows[0]!.sent;
}

/** Confirms like the api when a person presses the link's button. */
async function confirm(processes: Processes, owner: pg.Pool, id: string): Promise<void> {
  const { rows } = await owner.query<{ expires_at: Date }>(
    'select expires_at from pending_registrations where id = $1',
    [id],
  );
  const expiresAt = rows[0]!.expires_at.toISOString();
  await processes.confirmRegistration({ pendingRegistrationId: id, expiresAt, reminderAt: null });
}

async function confirmAll(processes: Processes, owner: pg.Pool, ids: readonly string[]): Promise<void> {
  const left = [...ids];
  const one = async () => {
    for (let id = left.pop(); id !== undefined; id = left.pop()) await confirm(processes, owner, id);
  };
  await Promise.all(Array.from({ length: atOnce }, one));
}

async function reconcile({ client }: Processes): Promise<void> {
  const handle = await client.workflow.start('reconciler', {
    workflowId: 'reconciler-of-the-benchmark',
    taskQueue: 'processes',
    args: [],
  });
  const { restarted } = (await handle.result()) as { restarted: Record<string, number> };
  if (Object.keys(restarted).length > 0) throw new Error(`the reconciler restarted ${JSON.stringify(restarted)}`);
}

async function timeOf(work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Starts a mail server that accepts everything and stores nothing. */
async function startSink(stops: Stops): Promise<string> {
  const port = await freePort();
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, _session, done) {
      stream.resume();
      stream.on('end', () => done());
    },
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', () => resolve()));
  const stop = () => new Promise<void>((resolve) => server.close(() => resolve()));
  stops.add({ name: 'mail server', exited: new Promise<never>(() => {}), stop });
  return `smtp://127.0.0.1:${port}`;
}

/** Returns Markdown with a line for each number of registrations. */
export function registrationsTable(results: readonly OpenRegistrations[]): string {
  const rows = results.map((one) =>
    [
      one.open,
      `${(one.openedMs / 1000).toFixed(1)} s`,
      ((one.open * 1000) / one.openedMs).toFixed(1),
      cpuOfEach(one.openingCpu, one.open),
      megabytes(one.openingRssMb),
      `${(one.restartMs / 1000).toFixed(1)} s`,
      megabytes(one.rssMb),
      `${Math.round(one.confirmMs.median)} ms`,
      `${Math.round(one.confirmMs.slowest)} ms`,
      one.accountsPerSecond.toFixed(1),
      `${(one.reconcileMs / 1000).toFixed(1)} s`,
    ].map(String),
  );
  const headings = [
    'open registrations',
    'to open them',
    'a second',
    'CPU ms of each: worker + Temporal + PostgreSQL',
    'worker meanwhile',
    'new worker works',
    'its memory',
    'confirm: median',
    'slowest',
    'Accounts a second',
    'reconciler',
  ];
  return markdownTable(headings, rows);
}
