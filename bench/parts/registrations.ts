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

/** What that many registrations cost that wait for their link. */
export interface OpenRegistrations {
  open: number;
  /** From the first message in the outbox until all wait and every mail is out. */
  openedMs: number;
  /** Of worker, Temporal and PostgreSQL meanwhile; null off Linux. */
  openingCpu: DurableCpu | null;
  /** The worker's memory while it opened them, at most; null off Linux. */
  openingRssMb: number | null;
  /** A new worker beside them: until it works, and its memory once it has confirmed and reconciled. */
  restartMs: number;
  rssMb: number | null;
  /** Milliseconds to confirm one, that no worker has in memory; each in a row of its own. */
  confirmMs: { median: number; slowest: number };
  /** Accounts that come of links a second, when many are followed at once. */
  accountsPerSecond: number;
  /** A run of the reconciler that finds every one of them running. */
  reconcileMs: number;
}

const giveUpAfterMs = hours(1);
const confirmed = 20;
/** So many people follow their link, so many of them at once. */
const manyConfirmed = 200;
const atOnce = 20;
const namespace = 'default';

/**
 * Opens so many registrations, and looks at what waiting costs. Each has its workflow and that of its mail;
 * the embedded Temporal opens some twenty of them a second on two cores, so ten thousand take their time.
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
  const owner = new pg.Pool({ connectionString: installation.ownerUrl, max: 4 }); // many follow their link at once
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

/** Rows and messages as `park` writes them; old enough for the reconciler. */
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

/** How many have no mail yet that has been sent. */
async function leftToMail(owner: pg.Pool, open: number): Promise<number> {
  const { rows } = await owner.query<{ sent: number }>(
    `select count(*)::int as sent from emails where status = 'sent'`,
  );
  return open - rows[0]!.sent;
}

/** As the api does it when the link's button is pressed. */
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

/** A mail server that takes everything and keeps nothing. */
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

/** Markdown, a line for each number of registrations. */
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
