import { randomBytes, randomUUID } from 'node:crypto';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { firstOfFormer, lastOfFormer } from '../../entities/migrations/former.js';
import { migrations } from '../../entities/migrations/index.js';
import { checkDatabase, warnOfCollation } from '../../src/check-database.js';
import { migrate } from '../../src/platform/database/migrations.js';
import { asOwner, newDatabase, openTestDb, rowsAsOwner, type TestDatabase } from '../support/database.js';
import { untilWaiting } from '../support/lock-waits.js';
import { until } from '../support/until.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await newDatabase();
});
afterAll(() => database.close());

/** Returns a further migration, which counts how often it is tried. */
function later(name: string, text: string, transaction?: false) {
  const tries = { count: 0 };
  class Later implements MigrationInterface {
    name = name;
    transaction = transaction;
    async up(db: QueryRunner) {
      tries.count += 1;
      await db.query(text);
    }
    async down() {}
  }
  return { all: [...migrations, Later], tries };
}
const columnsOf = async (column: string) =>
  rowsAsOwner(database.ownerUrl, 'select table_name from information_schema.columns where column_name = $1', [column]);

test('a migration that waits for a table lets later statements pass, and is done once the table is free', async () => {
  const { all, tries } = later('Later1999999999001', 'alter table accounts add column added_later text');
  let gaveWay = 0;
  const onWait = () => {
    gaveWay += 1;
  };
  let migrated: Promise<string[]> | undefined;
  await asOwner(async (slow) => {
    await slow.query('begin');
    await slow.query('select count(*) from accounts'); // as a report or a backup does, for an hour
    migrated = migrate(database.ownerUrl, database.url, { all, lockTimeoutMs: 100, onWait });
    await until('it gives way', () => gaveWay > 1);
    // If the migration kept waiting, all statements behind it would wait until the slow one has ended.
    await database.db.transaction('system', (tx) => tx.query('select count(*) from accounts'));
    expect(await columnsOf('added_later')).toEqual([]);
    await slow.query('commit');
  }, database.ownerUrl);
  expect(await migrated).toEqual(['Later1999999999001']);
  expect(await columnsOf('added_later')).toEqual([{ table_name: 'accounts' }]);
  expect(tries.count).toBeGreaterThan(2);
});

test('a migration that waits for a transaction that waits for it is rolled back, and done afterwards', async () => {
  const text = 'alter table users add column waited text; alter table accounts add column waited text';
  const { all, tries } = later('Later1999999999007', text);
  let migrated: Promise<string[]> | undefined;
  await asOwner(async (slow) => {
    await slow.query(`set deadlock_timeout = '1min'`); // PostgreSQL ends whoever finds the deadlock
    await slow.query('begin');
    await slow.query('select count(*) from accounts');
    migrated = migrate(database.ownerUrl, database.url, { all, lockTimeoutMs: 3_000 });
    migrated.catch(() => undefined);
    await untilWaiting(database.ownerUrl, 1, 'alter table users%');
    await slow.query('select count(*) from users');
    await slow.query('commit');
  }, database.ownerUrl);
  expect(await migrated).toEqual(['Later1999999999007']);
  expect(tries.count).toBeGreaterThan(1);
  expect(await columnsOf('waited')).toHaveLength(2);
});

describe('a database of a version before the first release', () => {
  const [firstRelease, fromFormer] = ['FirstRelease1763700000155', 'FromFormer1763700000156'];
  const all = migrations.slice(0, 2); // what came later has run here already, and need not be repeatable
  const query = (text: string, values: unknown[] = []) => rowsAsOwner(database.ownerUrl, text, values);
  /** Leaves the names of former migrations instead of the first release's. */
  const rename = (name: string) =>
    query('update migrations set name = $1 where name in ($2, $3, $4) returning name', [
      name,
      firstRelease,
      firstOfFormer,
      lastOfFormer,
    ]);

  test('gets what the first release has changed since, and keeps its rows', async () => {
    await query(
      `insert into accounts (id, name, slug, created_at, updated_at) values (gen_random_uuid(), 'x', 'kept', now(), now())`,
    );
    expect(await rename(lastOfFormer)).toHaveLength(1);
    await query('delete from migrations where name = $1', [fromFormer]);
    await query('drop table email_changes');
    await query('alter table accounts drop column require_sso');
    await query('alter table sessions add constraint sessions_account_fk foreign key (account_id) references accounts');
    expect(await migrate(database.ownerUrl, database.url, { all })).toEqual([firstRelease, fromFormer]);
    expect(await query(`select require_sso from accounts where slug = 'kept'`)).toEqual([{ require_sso: false }]);
    expect(await query(`select relrowsecurity from pg_class where relname = 'email_changes'`)).toEqual([
      { relrowsecurity: true },
    ]);
    expect(await query(`select from pg_constraint where conname = 'sessions_account_fk'`)).toEqual([]);
    expect(await migrate(database.ownerUrl, database.url, { all })).toEqual([]);
    await query('delete from migrations where name = $1', [lastOfFormer]);
  });

  test('is refused if it lacks some of the former migrations, and left as it is', async () => {
    await rename(firstOfFormer);
    await query('delete from migrations where name = $1', [fromFormer]);
    await expect(migrate(database.ownerUrl, database.url, { all })).rejects.toThrow(
      /^the schema is older than CanonicalRequests1763700000154, and .* npm run migrate of commit/,
    );
    expect(await rename(firstRelease)).toHaveLength(1);
    expect(await migrate(database.ownerUrl, database.url, { all })).toEqual([fromFormer]);
  });
});

test('grace periods of a version before have the age of their beginning', async () => {
  await rowsAsOwner(database.ownerUrl, `delete from migrations where name = 'FromFormer1763700000156'`);
  await rowsAsOwner(database.ownerUrl, 'alter table mfa_graces drop column created_at');
  await asOwner(async (client) => {
    await client.query('set session_replication_role = replica'); // they are nobody's, and not counted
    await client.query(
      `insert into mfa_graces (id, account_id, environment_id, identity_id, status, round, started_at, expires_at)
       select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'running', 1, now() - n * interval '1 minute', now()
       from generate_series(1, 5001) n`,
    );
  }, database.ownerUrl);
  expect(await migrate(database.ownerUrl, database.url)).toEqual(['FromFormer1763700000156']);
  const left = 'select from mfa_graces where created_at is distinct from started_at';
  expect(await rowsAsOwner(database.ownerUrl, left)).toEqual([]);
  await rowsAsOwner(database.ownerUrl, 'truncate mfa_graces');
});

test('a concurrently built index waits for all present transactions, and is begun once', async () => {
  const text = 'create index concurrently accounts_later on accounts (created_at)';
  const { all, tries } = later('Later1999999999002', text, false);
  let migrated: Promise<string[]> | undefined;
  await asOwner(async (slow) => {
    await slow.query('begin');
    await slow.query('lock table accounts in row exclusive mode');
    migrated = migrate(database.ownerUrl, database.url, { all, lockTimeoutMs: 1 });
    await untilWaiting(database.ownerUrl, 1, `${text}%`);
    await slow.query('commit');
  }, database.ownerUrl);
  expect(await migrated).toEqual(['Later1999999999002']);
  expect(tries.count).toBe(1);
});

test('a table that is never free is reported after a while, and what was done before stays', async () => {
  const first = later('Later1999999999003', 'create table made_later (id uuid)');
  const second = later('Later1999999999004', 'alter table accounts add column never text');
  const all = [...first.all, second.all.at(-1) as (typeof second.all)[number]];
  await asOwner(async (slow) => {
    await slow.query('begin');
    await slow.query('lock table accounts in access share mode');
    const given = { all, lockTimeoutMs: 20, patienceMs: 50 };
    await expect(migrate(database.ownerUrl, database.url, given)).rejects.toThrow('keeps a table');
    await slow.query('rollback');
  }, database.ownerUrl);
  expect(await columnsOf('never')).toEqual([]);
  expect(await migrate(database.ownerUrl, database.url, { all })).toEqual(['Later1999999999004']);
  expect(first.tries.count).toBe(1);
});

test('one of two parallel migrations waits, also while the other builds an index concurrently', async () => {
  const text = 'create index concurrently accounts_twice on accounts (created_at)';
  const { all, tries } = later('Later1999999999005', text, false);
  const asksFor = (query: string) =>
    rowsAsOwner(database.ownerUrl, `select from pg_stat_activity where pid <> pg_backend_pid() and query ilike $1`, [
      `${query}%`,
    ]);
  const both: Promise<string[]>[] = [];
  await asOwner(async (slow) => {
    await slow.query('begin');
    await slow.query('lock table accounts in row exclusive mode');
    both.push(migrate(database.ownerUrl, database.url, { all }));
    await until('the first one builds', async () => (await asksFor(text)).length > 0);
    both.push(migrate(database.ownerUrl, database.url, { all }));
    await until('the second one waits', async () => (await asksFor('select pg_%advisory_lock')).length > 1);
    await slow.query('commit');
  }, database.ownerUrl);
  expect(await Promise.all(both)).toEqual([['Later1999999999005'], []]);
  expect(tries.count).toBe(1);
});

test('an owner who may not create the service’s role is told which one is missing, and continues once it exists', async () => {
  const owner = new URL(database.ownerUrl);
  const [name, role] = ['plain', 'absent'].map((kind) => `${kind}_${randomBytes(4).toString('hex')}`) as [
    string,
    string,
  ];
  const service = new URL(database.url);
  service.username = role;
  const as = (work: string) => asOwner((client) => client.query(work), owner.href);
  await as(`create role ${name} login password 'x'`);
  await as(`create database ${name} owner ${name}`);
  try {
    const plain = new URL(owner);
    plain.username = name;
    plain.password = 'x';
    plain.pathname = `/${name}`;
    const missing = `there is no role ${role}, which DATABASE_URL names, and ${name} may not create it`;
    await expect(migrate(plain.href, service.href)).rejects.toThrow(missing);
    await as(`create role ${role} login`);
    expect(await migrate(plain.href, service.href)).toEqual([]); // what the first run did stays
  } finally {
    await as(`drop database ${name} with (force)`);
    await as(`drop role ${name}; drop role if exists ${role}`);
  }
});

test('a database with foreign tables is left as it is, with an error; extensions may have some', async () => {
  const name = `foreign_${randomBytes(4).toString('hex')}`;
  const [owner, service] = [new URL(database.ownerUrl), new URL(database.url)];
  await asOwner((client) => client.query(`create database ${name}`), owner.href);
  for (const url of [owner, service]) url.pathname = `/${name}`;
  const as = (work: string) => asOwner((client) => client.query(work), owner.href);
  const tables = () =>
    asOwner(
      async (client) => (await client.query(`select tablename from pg_tables where schemaname = 'public'`)).rows,
      owner.href,
    );
  try {
    await as('create table orders (id int)');
    await expect(migrate(owner.href, service.href)).rejects.toThrow(
      `the database ${name} has tables that are not Gatehouse's (orders): give it one of its own`,
    );
    expect(await tables()).toEqual([{ tablename: 'orders' }]);
    // TypeORM's name for the table in another application, too.
    await as('drop table orders; create table migrations (id serial, timestamp bigint, name varchar)');
    await as(`insert into migrations (timestamp, name) values (1, 'Orders1')`);
    await expect(migrate(owner.href, service.href)).rejects.toThrow('(migrations)');
    await as('delete from migrations'); // as a run that was killed before the first migration leaves it
    expect((await migrate(owner.href, service.href, { all: migrations })).length).toBe(migrations.length);
  } finally {
    await asOwner((client) => client.query(`drop database ${name} with (force)`));
  }
});

describe('a database that cannot be used is refused before anything is created in it', () => {
  /** @param definition of the database, after its name */
  async function made(definition: string, prepare: (url: string) => Promise<unknown> = async () => {}) {
    const name = `unfit_${randomUUID().replaceAll('-', '')}`;
    await asOwner((client) => client.query(`create database ${name} ${definition}`));
    const url = Object.assign(new URL(database.ownerUrl), { pathname: `/${name}` }).href;
    await prepare(url);
    const tables = () => rowsAsOwner(url, `select relname from pg_class where relkind = 'r' and relnamespace > 16383`);
    return { url, tables, drop: () => asOwner((client) => client.query(`drop database ${name}`)) };
  }

  test('because of a locale in which two spellings of an address are different', async () => {
    const turkish = await made(`template template0 locale_provider icu icu_locale 'tr-TR' locale 'C'`);
    try {
      await expect(migrate(turkish.url, database.url)).rejects.toThrow(/another small letter for I than i/);
      expect(await turkish.tables()).toEqual([]);
    } finally {
      await turkish.drop();
    }
  });

  test('because of the owner’s own schema, where functions look for nothing', async () => {
    const own = await made('', async (url) => rowsAsOwner(url, 'create schema authorization current_user'));
    try {
      await expect(migrate(own.url, database.url)).rejects.toThrow(
        /tables would be made in \w+, and have to be in public/,
      );
      expect(await own.tables()).toEqual([]);
    } finally {
      await own.drop();
    }
  });
});

test('a process whose role finds no schema reports where it looked, and not that the schema is old', async () => {
  const { pathname, username } = new URL(database.url);
  const alter = (how: string) =>
    rowsAsOwner(database.ownerUrl, `alter role ${username} in database ${pathname.slice(1)} ${how}`);
  await alter(`set search_path = '$user'`);
  const db = await openTestDb(database.url, 1);
  try {
    await expect(checkDatabase(db, {} as never)).rejects.toThrow(
      /^there is no schema in the database test_\w+ that gatehouse_service finds \(search_path "\$user"\): run npm run migrate, unless/,
    );
  } finally {
    await alter('reset search_path');
    await db.close();
  }
});

test('a password that PostgreSQL refuses the service is reported, and changes neither role nor schema', async () => {
  const url = new URL(database.url);
  url.password = 'another-one';
  const said: string[] = [];
  const onWarning = (warning: string) => void said.push(warning);
  expect(await migrate(database.ownerUrl, url.href, { onWarning })).toEqual([]);
  expect(said).toEqual([
    expect.stringMatching(new RegExp(`^PostgreSQL refuses the role ${url.username} the password in DATABASE_URL`)),
  ]);
  expect(said.join()).not.toContain('another-one');
  expect(await migrate(database.ownerUrl, database.url, { onWarning })).toEqual([]);
  expect(said).toHaveLength(1);
});

test('a collation that has changed is reported by a migration and by a starting process, and stops neither', async () => {
  const said: string[] = [];
  const onWarning = (warning: string) => said.push(warning);
  const warn = ({ reason }: { reason: string }, message: string) => said.push(`${message}: ${reason}`);
  const look = async () => {
    await migrate(database.ownerUrl, database.url, { onWarning });
    await warnOfCollation(database.db, { warn } as never);
  };
  await look();
  expect(said).toEqual([]);
  await asOwner(
    (owner) => owner.query(`update pg_database set datcollversion = '2.36' where datname = current_database()`),
    database.ownerUrl,
  );
  await look();
  expect(said).toHaveLength(2);
  expect(said[0]).toMatch(/^the database test_\w+ was made with version 2\.36 of its collation/);
  expect(said[1]).toBe(`indexes of texts may be out of order: ${said[0]}`);
});
