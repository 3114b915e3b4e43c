import type { MigrationInterface, QueryRunner } from 'typeorm';
import { migrations } from '../../entities/migrations/index.js';
import { type Rule, split, violationsOf } from '../support/migration-rules.js';

/** Creates the first release's schema; from the next one on the rules apply. */
const firstRelease = 1_763_700_000_155;

/** What breaks a rule all the same, and why nobody notices: `AddedLater1763700000199: { rule: 'reason' }`. */
const exceptions: Record<string, Partial<Record<Rule, string>>> = {
  FromFormer1763700000156: {
    'rows that are there are not changed at once': 'They are changed five thousand at a time.',
    'what runs outside of a transaction can be run once more': 'The update finds only rows that are left.',
  },
  PublicClientsRotate1763700000160: {
    'rows that are there are not changed at once': 'There are few clients, and hardly one of them says so.',
  },
};

const numberOf = (name: string) => Number(/\d+$/.exec(name)?.[0]);

test('the previous release keeps working on the schema of every migration since the first release', async () => {
  const found: string[] = [];
  for (const Migration of migrations.filter(({ name }) => numberOf(name) > firstRelease)) {
    for (const { rule, statement } of await violationsOf(new Migration())) {
      if (!exceptions[Migration.name]?.[rule]) found.push(`${Migration.name}: ${rule}: ${statement}`);
    }
  }
  expect(found).toEqual([]);
});

const migrationOf = (text: string, transaction?: false): MigrationInterface => ({
  ...(transaction === false && { transaction }),
  up: (db: QueryRunner) => db.query(text),
  async down() {},
});
const brokenBy = async (text: string, transaction?: false) => [
  ...new Set((await violationsOf(migrationOf(text, transaction))).map(({ rule }) => rule)),
];

test.each([
  'create table things (id uuid primary key, name text not null); create index things_name on things (name)',
  'create table things (id uuid primary key); alter table things enable row level security; create policy tenant on things using (true)',
  'alter table accounts add column note text',
  `alter table accounts add column if not exists note text not null default '', add other uuid constraint o_fk references users (id)`,
  'alter table accounts alter column note drop not null',
  'alter table accounts add constraint accounts_note check (length(note) < 9) not valid',
  'alter table accounts validate constraint accounts_note',
  `create function f() returns int language sql return 1; revoke execute on function f from public`,
  `create or replace function f() returns int language plpgsql as $$ begin drop table accounts; return 1; end $$`,
])('a migration may: %s', async (text) => {
  expect(await brokenBy(text)).toEqual([]);
});

test.each<[string, Rule]>([
  ['drop table accounts', 'nothing is dropped that the release before uses'],
  ['drop function f(int)', 'nothing is dropped that the release before uses'],
  ['alter table accounts add a text, drop column note', 'nothing is dropped that the release before uses'],
  ['alter table accounts drop if exists note', 'nothing is dropped that the release before uses'],
  ['alter table accounts rename column note to notes', 'nothing is renamed'],
  ['alter table accounts rename to customers', 'nothing is renamed'],
  ['alter table accounts alter column note type varchar(3)', 'no column changes its type'],
  [
    'alter table accounts add note text not null',
    'an added column has a default or may be null, since the release before does not write it',
  ],
  ['alter table accounts alter note set not null', 'no column becomes "not null"'],
  ['alter table accounts add note uuid default gen_random_uuid()', 'no table is written anew under a lock'],
  [
    'alter table accounts add note text generated always as (upper(name)) stored',
    'no table is written anew under a lock',
  ],
  [
    'alter table accounts add constraint accounts_note check (length(note) < 9)',
    'a constraint of what is there begins "not valid", and a key uses an index',
  ],
  [
    'alter table accounts add constraint accounts_user foreign key (a, b) references users (a, b)',
    'a constraint of what is there begins "not valid", and a key uses an index',
  ],
  [
    'alter table accounts add note text unique',
    'a constraint of what is there begins "not valid", and a key uses an index',
  ],
  ['create unique index accounts_note on accounts (note)', 'an index is made and dropped concurrently'],
  ['drop index accounts_note', 'an index is made and dropped concurrently'],
  ['lock table accounts in share mode', 'no table is locked by hand'],
  [`update accounts set note = 'a'`, 'rows that are there are not changed at once'],
  ['with old as (select 1) delete from accounts', 'rows that are there are not changed at once'],
  ['alter table accounts enable row level security', 'rights and row security of what is there stay'],
  ['revoke select on accounts from public', 'rights and row security of what is there stay'],
  ['do $$ begin drop table accounts; end $$', 'nothing is hidden in a block'],
])('a migration may not: %s', async (text, rule) => {
  expect(await brokenBy(text)).toEqual([rule]);
});

test('outside of a transaction each statement can be repeated after an interruption', async () => {
  const rule: Rule = 'what runs outside of a transaction can be run once more';
  const index = 'create index concurrently accounts_note on accounts (note)';
  expect(await brokenBy(`drop index concurrently if exists accounts_note; ${index}`, false)).toEqual([]);
  expect(await brokenBy(index, false)).toEqual([rule]);
  expect(await brokenBy('create index concurrently if not exists a on accounts (note)', false)).toEqual([rule]);
  expect(await brokenBy('alter table accounts add note text', false)).toEqual([rule]);
  expect(await brokenBy('alter table accounts add if not exists note text', false)).toEqual([]);
  expect(await brokenBy('create table a (id int)', false)).toEqual([rule]);
  expect(await brokenBy('create table if not exists a (id int)', false)).toEqual([]);
  const made = 'create table if not exists a (id int)';
  expect(await brokenBy(`${made}; create policy p on a using (true)`, false)).toEqual([rule]);
  expect(await brokenBy(`${made}; drop policy if exists p on a; create policy p on a using (true)`, false)).toEqual([]);
});

test('statements are split, also with semicolons in texts, comments and bodies', () => {
  expect(
    split(`select ';' -- a; comment
      ; create function f() returns int language plpgsql as $x$ begin; end; $x$;
      create function g() returns int begin atomic select 1; select 2; end; select 'it''s;'`),
  ).toEqual([
    `select ';'`,
    'create function f() returns int language plpgsql as $body$',
    'create function g() returns int $body$',
    `select 'it''s;'`,
  ]);
});
