import { setTimeout as sleep } from 'node:timers/promises';
import { type DataSource, MigrationExecutor, type MigrationInterface, type QueryRunner } from 'typeorm';
import { lastOfFormer } from '../../../entities/migrations/former.js';
import { migrations } from '../../../entities/migrations/index.js';
import { StartError } from '../start-error.js';
import { type Db, probeWithinMs } from './db.js';
import { createDataSource } from './open-db.js';
import { hasCondition } from './postgres-errors.js';
import { refusedPassword } from './refused-password.js';
import { assertOwnDatabase, assertUsable, changedCollation } from './usable-database.js';

// An arbitrary number that must never change: it keeps two `migrate` processes from running at the same time.
const migrationLock = 7_263_004_118;
const retryLockMs = 200;

export interface MigrateOptions {
  /** The migrations to run, by default those of this version. */
  all?: readonly (new () => MigrationInterface)[];
  /**
   * How long a migration waits for the lock of a table, in milliseconds. Statements that queue behind it wait as long,
   * so it then gives way and is tried again.
   */
  lockTimeoutMs?: number;
  /** For how long a migration is tried again, in milliseconds. */
  patienceMs?: number;
  /** Called each time a migration gives way. */
  onWait?: () => void;
  /** Called with what an operator must take care of, although the schema is usable. */
  onWarning?: (warning: string) => void;
}

/**
 * Brings the schema up to date, as its owner, while the service is running (docs/decisions/0057); then grants the
 * service's role what it needs, and creates that role if possible. If it fails, finished migrations stay, and the next
 * run continues from there.
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
    await lockMigrations(lock);
    const before = await namesOf(source);
    if (![lastOfFormer, ...all.map(({ name }) => name)].some((name) => before.includes(name)))
      await assertOwnDatabase(source, before);
    const until = Date.now() + patienceMs;
    for (; !(await isMigrated(source, lockTimeoutMs)); await sleep(lockTimeoutMs * (0.5 + Math.random()))) {
      if (Date.now() > until)
        throw new StartError('a transaction keeps a table that a migration needs: run it again later');
      onWait();
    }
    await grantToService(source, new URL(serviceUrl));
    const refused = await refusedPassword(serviceUrl);
    if (refused) onWarning(refused);
    return (await namesOf(source)).filter((name) => !before.includes(name));
  } finally {
    await lock.release();
    await source.destroy();
  }
}

/**
 * Tries to take the lock again and again. A statement that waited for it would hold a snapshot, and an index that the
 * other process builds concurrently waits for every snapshot: both would wait forever, and PostgreSQL does not
 * recognize that as a deadlock.
 */
async function lockMigrations(lock: QueryRunner): Promise<void> {
  const isTaken = async () => {
    const rows: { taken: boolean }[] = await lock.query('select pg_try_advisory_lock($1) as taken', [migrationLock]);
    return rows[0]?.taken === true;
  };
  while (!(await isTaken())) await sleep(retryLockMs);
}

/** The errors of a migration that waited for a lock for too long, or in a deadlock: it is tried again. */
const lockConflicts = ['lock_not_available', 'deadlock_detected'] as const;

/** Runs the pending migrations. @returns false if one gave way to somebody with a table; those before it are done */
async function isMigrated(source: DataSource, lockTimeoutMs: number): Promise<boolean> {
  const runner = source.createQueryRunner();
  try {
    limitLockWaits(runner, lockTimeoutMs);
    const executor = new MigrationExecutor(source, runner);
    executor.transaction = 'each';
    await executor.executePendingMigrations();
    // A worker does this too; here it happens before the first event.
    await runner.query('select gatehouse_prepare_events()');
    for (let i = 0; i < 2; i++) await runner.query('select gatehouse_settle_events()'); // twice: see `countEvents`
    return true;
  } catch (error) {
    if (lockConflicts.some((condition) => hasCondition(error, condition))) return false;
    throw error;
  } finally {
    await runner.release();
  }
}

/**
 * Limits how long the statements of a migration wait for a lock. An index that is built concurrently waits for all
 * transactions but makes none wait, so it has no limit.
 */
function limitLockWaits(runner: QueryRunner, lockTimeoutMs: number): void {
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
 * Functions that only the service may call: each bypasses row-level security, and returns only ids and times.
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

/** Returns the names of this version's migrations that have not run in the database. */
export const pendingMigrations = async (source: DataSource): Promise<string[]> => missingFrom(await namesOf(source));

/** Whether none is missing, for a probe. */
export async function isUpToDate(db: Pick<Db, 'statement'>): Promise<boolean> {
  const statement = { name: 'read_migrations', text: readNames, withinMs: probeWithinMs };
  const rows = await db.statement<{ name: string }>(statement, []);
  return missingFrom(rows.map(({ name }) => name)).length === 0;
}

function missingFrom(names: readonly string[]): string[] {
  const ran = new Set(names);
  return migrations.map(({ name }) => name).filter((name) => !ran.has(name));
}

/** Whether any migration has run in the database, of this version or another one. */
export const hasSchema = async (source: DataSource): Promise<boolean> => (await namesOf(source)).length > 0;

const readNames = 'select name from migrations order by id';

/** Returns the names of the migrations that have run in the database, in order. */
async function namesOf(source: DataSource): Promise<string[]> {
  const seen = await source.query<{ name: string }[]>(readNames).catch((error: unknown) => {
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
  // The service reads and writes events only through the parent table.
  const [{ partitions } = { partitions: null }] = await source.query<{ partitions: string | null }[]>(
    `select string_agg(inhrelid::regclass::text, ', ') as partitions from pg_inherits where inhparent = 'events'::regclass`,
  );
  await source.query(`revoke all on ${partitions} from ${name}`);
}
