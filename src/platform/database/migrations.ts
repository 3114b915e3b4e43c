import { setTimeout as sleep } from 'node:timers/promises';
import { type DataSource, MigrationExecutor, type MigrationInterface, type QueryRunner } from 'typeorm';
import { migrations } from '../../../entities/migrations/index.js';
import { StartError } from '../start-error.js';
import { createDataSource } from './open-db.js';
import { hasCondition } from './postgres-errors.js';
import { assertOwnDatabase, assertUsable, changedCollation } from './usable-database.js';

// Any number would do, as long as it is always the same: it keeps two `migrate` processes from running side by side.
const migrationLock = 7_263_004_118;
const turnMs = 200;

export interface MigrateOptions {
  /** By default those of this version. */
  all?: readonly (new () => MigrationInterface)[];
  /**
   * How long a migration waits for a table, in milliseconds. Whoever wants the table behind it waits as long, so it
   * then gives way and is tried again.
   */
  lockTimeoutMs?: number;
  /** For how long it is tried again, in milliseconds. */
  patienceMs?: number;
  /** Called each time that a migration gives way. */
  onWait?: () => void;
  /** Called with what an operator has to look after, though the schema can be used. */
  onWarning?: (warning: string) => void;
}

/**
 * Brings the schema up to date, as its owner, while the service is at work (docs/decisions/0057); then grants the
 * service's role what it needs, and creates it if possible. If it fails, what was done stays, and running it again goes
 * on from there.
 * @param serviceUrl the service's connection; its user must not own the schema, or row-level security is off
 * @returns the names of the migrations that ran
 */
export async function migrate(
  ownerUrl: string,
  serviceUrl: string,
  {
    all = migrations,
    lockTimeoutMs = 2_000,
    patienceMs = 10 * 60_000,
    onWait = () => {},
    onWarning = () => {},
  }: MigrateOptions = {},
): Promise<string[]> {
  const source = createDataSource(ownerUrl, { applicationName: 'gatehouse migrate', poolSize: 2 });
  source.setOptions({ migrations: [...all], migrationsTableName: 'migrations' });
  await source.initialize();
  const lock = source.createQueryRunner();
  try {
    await assertUsable(source);
    const changed = await changedCollation(source);
    if (changed) onWarning(changed);
    await takeTurn(lock);
    const before = await namesOf(source);
    if (!all.some(({ name }) => before.includes(name))) await assertOwnDatabase(source, before);
    const until = Date.now() + patienceMs;
    for (; !(await isMigrated(source, lockTimeoutMs)); await sleep(lockTimeoutMs * (0.5 + Math.random()))) {
      if (Date.now() > until)
        throw new StartError('a transaction keeps a table that a migration needs: run it again later');
      onWait();
    }
    await grantToService(source, new URL(serviceUrl));
    return (await namesOf(source)).filter((name) => !before.includes(name));
  } finally {
    await lock.release();
    await source.destroy();
  }
}

/**
 * Tries to take the lock again and again. A statement that waited for it would keep a snapshot, and an index that the
 * other process builds concurrently waits for every snapshot: both would wait for ever, which PostgreSQL does not
 * recognise as a deadlock.
 */
async function takeTurn(lock: QueryRunner): Promise<void> {
  const isTaken = async () => {
    const rows: { taken: boolean }[] = await lock.query('select pg_try_advisory_lock($1) as taken', [migrationLock]);
    return rows[0]?.taken === true;
  };
  while (!(await isTaken())) await sleep(turnMs);
}

/** @returns false if somebody held a table for longer than a migration waits; those before it are done */
async function isMigrated(source: DataSource, lockTimeoutMs: number): Promise<boolean> {
  const runner = source.createQueryRunner();
  try {
    giveWay(runner, lockTimeoutMs);
    const executor = new MigrationExecutor(source, runner);
    executor.transaction = 'each';
    await executor.executePendingMigrations();
    // A worker does this too; here it is done before the first event.
    await runner.query('select gatehouse_prepare_events()');
    for (let i = 0; i < 2; i++) await runner.query('select gatehouse_settle_events()'); // as `countEvents` says
    return true;
  } catch (error) {
    if (hasCondition(error, 'lock_not_available')) return false;
    throw error;
  } finally {
    await runner.release();
  }
}

/**
 * An index that is built concurrently waits for everybody's transactions and keeps nobody waiting, so it has all the
 * time it takes.
 */
function giveWay(runner: QueryRunner, lockTimeoutMs: number): void {
  const send = runner.query.bind(runner);
  let current: number | undefined;
  runner.query = async (text: string, ...rest: []) => {
    const timeout = /\bconcurrently\b/i.test(text) ? 0 : lockTimeoutMs;
    if (timeout !== current) await send(`set lock_timeout = ${timeout}`);
    current = timeout;
    return send(text, ...rest);
  };
}

/**
 * Functions that the service may call and nobody else: each looks behind row-level security, and answers only ids and
 * moments.
 */
const functions = [
  'gatehouse_drop_events',
  'gatehouse_drop_events_of_no_month',
  'gatehouse_ended_invites',
  'gatehouse_found_members',
  'gatehouse_identity_id',
  'gatehouse_keep_waymarks',
  'gatehouse_matching_directory',
  'gatehouse_matching_identities',
  'gatehouse_matching_nodes',
  'gatehouse_matching_organizations',
  'gatehouse_matching_scim_users',
  'gatehouse_merge_row_counts',
  'gatehouse_prepare_events',
  'gatehouse_queue_webhooks',
  'gatehouse_settle_events',
  'gatehouse_subtree',
  'gatehouse_user_id',
  'gatehouse_waiting_registrations',
  'gatehouse_waiting_invites',
];

/** Names of migrations that this version knows and the database has not seen. */
export async function pendingMigrations(source: DataSource): Promise<string[]> {
  const names = new Set(await namesOf(source));
  return migrations.map(({ name }) => name).filter((name) => !names.has(name));
}

/** Whether that is all of them. */
export const hasNoSchema = (pending: readonly string[]): boolean => pending.length === migrations.length;

/** Of the migrations that the database has seen, in their order. */
async function namesOf(source: DataSource): Promise<string[]> {
  const seen = await source
    .query<{ name: string }[]>('select name from migrations order by id')
    .catch((error: unknown) => {
      if (hasCondition(error, 'undefined_table')) return []; // an empty database
      throw error;
    });
  return seen.map(({ name }) => name);
}

async function grantToService(source: DataSource, serviceUrl: URL) {
  const role = decodeURIComponent(serviceUrl.username);
  const [owner] = await source.query<{ current_user: string; database: string }[]>(
    'select current_user, current_database() as database',
  );
  if (role === '' || role === owner?.current_user) {
    throw new StartError(
      `DATABASE_URL must name another role than DATABASE_OWNER_URL: a role that owns the schema is not bound by row-level security`,
    );
  }
  const [{ text: createRole } = { text: '' }] = await source.query<{ text: string }[]>(
    `select format('create role %I login nosuperuser nobypassrls password %L', $1::text, $2::text) as text where not exists (select from pg_roles where rolname = $1)`,
    [role, decodeURIComponent(serviceUrl.password)],
  );
  if (createRole) {
    await source.query(createRole).catch((error: unknown) => {
      if (!hasCondition(error, 'insufficient_privilege')) throw error;
      throw new StartError(
        `there is no role ${role}, which DATABASE_URL names, and ${owner?.current_user} may not create it: have it created with that password, as one that may log in and nothing else, and run this again`,
      );
    });
  }
  const name = `"${role.replaceAll('"', '""')}"`;
  await source.query(`
    grant connect on database "${owner?.database.replaceAll('"', '""')}" to ${name};
    grant usage on schema public to ${name};
    grant select, insert, update, delete on all tables in schema public to ${name};
    grant usage on all sequences in schema public to ${name};
    grant execute on function ${functions.join()} to ${name};
    revoke update, delete, truncate on events from ${name};
    revoke insert, update, delete, truncate on event_counts, event_marks, event_state, event_partitions, row_counts, member_shifts, member_waymarks, waymarked_environments from ${name};
    revoke insert, update, delete, truncate on migrations from ${name};
  `);
  // Events are only read and written by way of the parent table.
  const [{ partitions } = { partitions: null }] = await source.query<{ partitions: string | null }[]>(
    `select string_agg(inhrelid::regclass::text, ', ') as partitions from pg_inherits where inhparent = 'events'::regclass`,
  );
  await source.query(`revoke all on ${partitions} from ${name}`);
}
