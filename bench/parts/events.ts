import pg from 'pg';
import type { Stops } from '../../src/dev/stops.js';
import { nilUuid } from '../../src/platform/uuid.js';
import { type Installation, install } from '../installation.js';
import { percentile } from '../percentile.js';
import { percent } from '../report/text.js';
import { type Seed, seed } from '../seed.js';
import { type Api, startApis } from '../service.js';

/** What it costs to read the events of an Environment that has `events` of them. */
export interface EventReads {
  events: number;
  /**
   * Events per second for one reader of the whole feed, a thousand at a time, and for `pg` alone over the same index.
   */
  feedPerSecond: number;
  limitPerSecond: number;
  /** Milliseconds for a hundred changes from any place in the feed. */
  feedPageMs: Times;
  /** Milliseconds for twenty rows of the audit log with the exact total. */
  auditMs: Record<(typeof auditPages)[number], Times>;
}
interface Times {
  p50: number;
  p99: number;
}

const auditPages = ['first page', 'middle page', 'last page', 'of one action', 'of one actor'] as const;
const months = 6;
const actors = 200;
const perTransaction = 5_000;
const asked = 100;

/** Writes the events of half a year and reads them like clients do, from one api process. */
export async function measureEvents(stops: Stops, counts: readonly number[], say: (line: string) => void) {
  const results: EventReads[] = [];
  for (const events of counts) {
    say(`${events} events: starting PostgreSQL and writing them`);
    const installation = await install(stops);
    const seeded = await seed(installation.databaseUrl);
    await withOwner(installation, (owner) => fill(owner, seeded.scope, events));
    const [api] = await startApis(1, installation, stops);
    say(`${events} events: reading`);
    results.push(await measure(installation, api as Api, seeded, events));
  }
  return results;
}

async function withOwner<T>({ ownerUrl }: Installation, work: (owner: pg.Client) => Promise<T>): Promise<T> {
  const owner = new pg.Client({ connectionString: ownerUrl });
  await owner.connect();
  try {
    return await work(owner);
  } finally {
    await owner.end();
  }
}

/** Writes events by SQL as the owner: through the service's own rules a million changes would take an hour. */
async function fill(owner: pg.Client, scope: Seed['scope'], events: number): Promise<void> {
  for (let back = months; back > 0; back--) {
    await owner.query(`do $$ declare starts timestamptz := date_trunc('month', now(), 'UTC') - interval '${back} months';
      name text := 'events_' || to_char(starts at time zone 'UTC', 'YYYY_MM');
begin
  execute format('create table %I partition of events for values from (%L) to (%L)', name, starts, starts + interval '1 month');
  execute format('alter table %I enable row level security', name);
  insert into event_partitions values (name, starts, starts + interval '1 month');
end $$`);
  }
  await owner.query('delete from event_marks'); // the installation's marks are later than these events
  for (let from = 0; from < events; from += perTransaction) {
    await owner.query(
      `with written as (
         insert into events (id, transaction_id, account_id, application_id, environment_id, actor_type, actor_id, action, resource_type,
           resource_id, metadata, outcome, category, severity, correlation_id, is_domain_event, customer_visible, identity_visible, created_at)
         select uuidv7(), pg_current_xact_id()::text::bigint, $1, $2, $3, 'platform_admin',
           '00000000-0000-7000-8000-' || lpad((i % ${actors})::text, 12, '0'),
           (array['node.updated', 'node.created', 'role_assignment.created', 'identity.updated'])[1 + i % 4], 'node', gen_random_uuid()::text,
           '{"changed": ["name"]}', 'success', 'structure', 'info', gen_random_uuid(), true, true, false,
           date_trunc('month', now(), 'UTC') - interval '${months} months' * (1 - i::float / $6)
         from generate_series($4::int, $5::int) i returning created_at)
       insert into event_marks select pg_current_xact_id()::text::bigint, min(created_at) - interval '5 minutes' from written`,
      [
        ...[scope.accountId, scope.applicationId, scope.environmentId],
        ...[from, Math.min(events, from + perTransaction) - 1, events],
      ],
    );
  }
  await owner.query('select gatehouse_settle_events()');
  await owner.query('vacuum (analyze) events');
}

async function measure(
  installation: Installation,
  api: Api,
  { scope, apiKey }: Seed,
  events: number,
): Promise<EventReads> {
  const read = async (path: string) => {
    const answer = await fetch(`${api.origin}/api/v1${path}`, { headers: { 'x-api-key': apiKey } });
    if (answer.status !== 200) throw new Error(`${path} was answered ${answer.status}`);
    return answer.json() as Promise<Record<string, never>>;
  };
  const timed = async (paths: (i: number) => string): Promise<Times> => {
    const taken: number[] = [];
    for (let i = -20; i < asked; i++) {
      const begun = performance.now();
      await read(paths(i));
      if (i >= 0) taken.push(performance.now() - begun); // the first reads compile code and plans
    }
    return { p50: percentile(taken, 0.5), p99: percentile(taken, 0.99) };
  };
  const cursors = await readFeed(read, events);
  const feedPerSecond = (events * 1000) / cursors.ms;
  const limitPerSecond = await withOwner(installation, (owner) => readAlone(owner, scope.environmentId));
  const anywhere = (i: number) => cursors.seen[Math.abs(i * 7919) % cursors.seen.length];
  const { pagination } = (await read('/audit-logs?take=20')) as { pagination?: { page_count: number } };
  const last = pagination?.page_count ?? 1;
  const page = (number: number, more = '') => `/audit-logs?take=20&page=${Math.max(1, Math.floor(number))}${more}`;
  const actorOf = (i: number) => `00000000-0000-7000-8000-${String(Math.abs(i) % actors).padStart(12, '0')}`;
  return {
    events,
    feedPerSecond,
    limitPerSecond,
    feedPageMs: await timed((i) => `/changes?limit=100&cursor=${anywhere(i)}`),
    auditMs: {
      'first page': await timed(() => page(1)),
      'middle page': await timed((i) => page(last / 2 + i)),
      'last page': await timed((i) => page(last - Math.abs(i))),
      'of one action': await timed((i) => page(1 + Math.abs(i), '&action=node.created')),
      'of one actor': await timed((i) => page(1, `&actor_id=${actorOf(i)}`)),
    },
  };
}

/** Reads the whole feed like a new reader. @returns the cursor after each thousand, and the time in ms */
async function readFeed(read: (path: string) => Promise<Record<string, never>>, events: number) {
  const seen: string[] = [];
  let count = 0;
  const begun = performance.now();
  for (let cursor = ''; ; ) {
    const { items, next_cursor, has_more } = (await read(`/changes?limit=1000${cursor}`)) as unknown as {
      items: unknown[];
      next_cursor: string;
      has_more: boolean;
    };
    count += items.length;
    seen.push(next_cursor);
    cursor = `&cursor=${next_cursor}`;
    if (!has_more) break;
  }
  // The feed also has the events of the installation's creation.
  if (count < events) throw new Error(`the feed had ${count} of ${events} events`);
  return { seen, ms: performance.now() - begun };
}

/** Reads the same rows in the same portions with the bare statement. @returns events per second */
async function readAlone(owner: pg.Client, environmentId: string): Promise<number> {
  let [transaction, created, id, count] = ['0', new Date(0), nilUuid, 0];
  const begun = performance.now();
  for (;;) {
    const { rows } = await owner.query({
      name: 'alone',
      text: `select transaction_id, id, action, resource_type, resource_id, metadata, created_at from events
        where environment_id = $1 and is_domain_event and (transaction_id, created_at, id) > ($2::bigint, $3, $4::uuid)
        order by transaction_id, created_at, id limit 1000`,
      values: [environmentId, transaction, created, id],
    });
    count += rows.length;
    if (rows.length < 1000) return (count * 1000) / (performance.now() - begun);
    ({ transaction_id: transaction, created_at: created, id } = rows.at(-1));
  }
}

/** Returns Markdown with a column for each number of events. */
export function eventsTable(results: readonly EventReads[]): string {
  const ms = ({ p50, p99 }: Times) => `${p50.toFixed(1)} (${p99.toFixed(1)}) ms`;
  const lines: [string, (result: EventReads) => string][] = [
    ['feed, a thousand at a time', ({ feedPerSecond }) => `${Math.round(feedPerSecond)} events/s`],
    ['of `pg` alone', ({ feedPerSecond, limitPerSecond }) => percent(feedPerSecond / limitPerSecond)],
    ['feed, a hundred from anywhere', ({ feedPageMs }) => ms(feedPageMs)],
    ...auditPages.map((page): [string, (result: EventReads) => string] => [
      `audit log, ${page}`,
      ({ auditMs }) => ms(auditMs[page]),
    ]),
  ];
  const head = ['', ...results.map(({ events }) => `${events} events`)];
  const rows = [head, head.map(() => '---'), ...lines.map(([name, show]) => [name, ...results.map(show)])];
  return rows.map((row) => `| ${row.join(' | ')} |`).join('\n');
}
