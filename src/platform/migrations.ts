import type { DataSource } from 'typeorm';
import { migrations } from '../../entities/migrations/index.js';
import { createDataSource } from './db.js';

// Any number would do; the same one keeps two `migrate` processes from running side by side.
const migrationLock = 7_263_004_118;

/**
 * Brings the schema up to date as its owner, then grants the service's role what it needs, creating it where it may.
 * @param serviceUrl what the service connects with; its user must not own the schema, or row-level security is off.
 * @returns the names of the migrations that ran.
 */
export async function migrate(ownerUrl: string, serviceUrl: string): Promise<string[]> {
  const source = createDataSource(ownerUrl, { applicationName: 'gatehouse migrate', poolSize: 2 });
  source.setOptions({ migrations, migrationsTableName: 'migrations', migrationsTransactionMode: 'each' });
  await source.initialize();
  const lock = source.createQueryRunner();
  try {
    await lock.query('select pg_advisory_lock($1)', [migrationLock]);
    const ran = await source.runMigrations();
    // A worker does so too; here it comes before the first event.
    await source.query('select gatehouse_prepare_events()');
    for (let i = 0; i < 2; i++) await source.query('select gatehouse_settle_events()'); // as `keepEvents` says
    await grantToService(source, new URL(serviceUrl));
    return ran.map(({ name }) => name);
  } finally {
    await lock.release();
    await source.destroy();
  }
}

/** What the service may call though nobody else may: each looks behind row-level security, and tells ids and moments only. */
const functions = [
  'gatehouse_drop_events',
  'gatehouse_identity_id',
  'gatehouse_matching_directory',
  'gatehouse_matching_identities',
  'gatehouse_matching_organizations',
  'gatehouse_matching_scim_users',
  'gatehouse_prepare_events',
  'gatehouse_queue_webhooks',
  'gatehouse_settle_events',
  'gatehouse_subtree',
  'gatehouse_user_id',
];

/** Names of migrations that this version knows and the database has not seen. */
export async function pendingMigrations(source: DataSource): Promise<string[]> {
  const seen = await source
    .query<{ name: string }[]>('select name from migrations')
    .catch((error: { driverError?: { code?: string } }) => {
      if (error.driverError?.code === '42P01') return []; // undefined_table: an empty database
      throw error;
    });
  const names = new Set(seen.map(({ name }) => name));
  return migrations.map(({ name }) => name).filter((name) => !names.has(name));
}

async function grantToService(source: DataSource, serviceUrl: URL) {
  const role = decodeURIComponent(serviceUrl.username);
  const [owner] = await source.query<{ current_user: string; database: string }[]>(
    'select current_user, current_database() as database',
  );
  if (role === '' || role === owner?.current_user) {
    throw new Error(
      `DATABASE_URL must name another role than DATABASE_OWNER_URL: a role that owns the schema is not bound by row-level security`,
    );
  }
  const [{ text: createRole } = { text: '' }] = await source.query<{ text: string }[]>(
    `select format('create role %I login nosuperuser nobypassrls password %L', $1::text, $2::text) as text where not exists (select from pg_roles where rolname = $1)`,
    [role, decodeURIComponent(serviceUrl.password)],
  );
  if (createRole) await source.query(createRole);
  const name = `"${role.replaceAll('"', '""')}"`;
  await source.query(`
    grant connect on database "${owner?.database.replaceAll('"', '""')}" to ${name};
    grant usage on schema public to ${name};
    grant select, insert, update, delete on all tables in schema public to ${name};
    grant usage on all sequences in schema public to ${name};
    grant execute on function ${functions.join()} to ${name};
    revoke update, delete, truncate on events from ${name};
    revoke insert, update, delete, truncate on event_counts, event_marks, event_state, event_partitions from ${name};
    revoke insert, update, delete, truncate on migrations from ${name};
  `);
  // What happened is read and written by way of its table alone.
  const [{ partitions } = { partitions: null }] = await source.query<{ partitions: string | null }[]>(
    `select string_agg(inhrelid::regclass::text, ', ') as partitions from pg_inherits where inhparent = 'events'::regclass`,
  );
  await source.query(`revoke all on ${partitions} from ${name}`);
}
