import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndexes } from './build-indexes.js';

const none = `'00000000-0000-0000-0000-000000000000'::uuid`;

/** The rows of a table that are counted, and the list in which each is. */
export interface Counted {
  table: string;
  /** SQL: the list of a row, if it is not named after the table. */
  list?: string;
  /** SQL: the Environment of a row; absent if rows belong to the Account. */
  environment?: string;
  /** SQL: the owner of the list in the Environment. */
  owner?: string;
  where?: string;
}

const ofEnvironment = 'environment_id';
const ofEither = `coalesce(environment_id, ${none})`;

/** None of these columns changes later, so triggers for insert and delete suffice. */
export const counted: readonly Counted[] = [
  { table: 'identities' },
  { table: 'administrator_invites' },
  { table: 'erasures' },
  { table: 'environment_removals' },
  { table: 'identity_invites', list: `'identity_invites_' || intent`, environment: ofEnvironment },
  { table: 'mfa_graces', environment: ofEnvironment },
  { table: 'role_assignment_windows', environment: ofEnvironment },
  { table: 'api_keys', environment: ofEnvironment },
  { table: 'scim_groups', environment: ofEnvironment, owner: 'directory_id' },
  { table: 'scim_tokens', environment: ofEnvironment },
  { table: 'sso_connections', environment: ofEither },
  { table: 'sso_domains', environment: ofEither },
  { table: 'emails', environment: ofEither, where: 'account_id is not null' },
  { table: 'webhook_deliveries', environment: ofEither, owner: 'webhook_id' },
];

/** SQL: the counts of the rows in `from`, which are this table's, per list. */
const grouped = (
  { table, list = `'${table}'`, environment = none, owner = none, where = 'true' }: Counted,
  from: string,
) =>
  `select account_id, ${list} as list, ${environment} as environment_id, ${owner} as owner_id, count(*) as value
    from ${from} where ${where} group by 1, 2, 3, 4`;

/** SQL of a function that adds what is missing to the totals, and returns how many were wrong. */
export const recounting = (all: readonly Counted[]) => `
-- What rows there are and what was counted of them are seen as of one moment, whoever goes on writing: what is missing is from before.
create or replace function gatehouse_recount_rows() returns bigint language sql security definer set search_path = public, pg_temp as $$
  select count(gatehouse_count_row(account_id, list, environment_id, owner_id, coalesce(there.value, 0) - coalesce(known.value, 0)))
  from (${all.map((each) => grouped(each, each.table)).join('\n    union all ')}) there
    full join (select account_id, list, environment_id, owner_id, sum(value)::bigint as value from row_counts group by 1, 2, 3, 4) known
      using (account_id, list, environment_id, owner_id)
  where coalesce(there.value, 0) <> coalesce(known.value, 0)
$$;
revoke execute on function gatehouse_recount_rows from public;
`;

const triggerOf = (of: Counted) => `
create or replace function gatehouse_count_${of.table}() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform gatehouse_count_row(c.account_id, c.list, c.environment_id, c.owner_id, case tg_op when 'INSERT' then c.value else - c.value end)
  from (${grouped(of, 'changed')}) c;
  return null;
end $$;
revoke execute on function gatehouse_count_${of.table} from public;
create or replace trigger counted_inserts after insert on ${of.table}
  referencing new table as changed for each statement execute function gatehouse_count_${of.table}();
create or replace trigger counted_deletes after delete on ${of.table}
  referencing old table as changed for each statement execute function gatehouse_count_${of.table}();
`;

const indexes = {
  // Covers the columns of the row-level security policy, so that rows are counted without being read.
  webhook_deliveries_unsuccessful: `on webhook_deliveries (webhook_id, status, created_at, id) include (account_id, environment_id)
    where status <> 'succeeded'`,
  erasures_by_age: 'on erasures (account_id, created_at, id)',
  environment_removals_by_age: 'on environment_removals (account_id, created_at, id)',
  mfa_graces_by_age: 'on mfa_graces (account_id, started_at, id)',
  role_assignment_windows_by_age: 'on role_assignment_windows (account_id, created_at, id)',
};
const replaced = [
  'webhook_deliveries_pending',
  'erasures_account',
  'environment_removals_account',
  'mfa_graces_account',
  'role_assignment_windows_account',
];

/**
 * Totals of lists whose rows are added and deleted in many ways, updated by the database in the transaction of the
 * change (docs/decisions/0085). No change waits for another: each updates a row that no other transaction has locked.
 */
export class CountedRows1763700000103 implements MigrationInterface {
  transaction = false; // locks on so many tables at once would block everybody

  async up(db: QueryRunner): Promise<void> {
    await db.query(`
create table if not exists row_counts (
  id uuid primary key,
  account_id uuid not null,
  list text not null,
  environment_id uuid not null,
  owner_id uuid not null,
  value bigint not null
) with (fillfactor = 40);
create index if not exists row_counts_of_list on row_counts (account_id, list, environment_id, owner_id);
alter table row_counts enable row level security;
drop policy if exists tenant on row_counts;
create policy tenant on row_counts for select using ((select gatehouse_is_system())
  or (account_id = (select gatehouse_account_id())
    and ((select gatehouse_environment_id()) is null or environment_id = (select gatehouse_environment_id()))));

create or replace function gatehouse_count_row(account uuid, of_list text, environment uuid, owner uuid, change bigint) returns bigint
  language plpgsql as $$ -- with its callers' rights and path
begin
  update row_counts set value = value + change where id = (
    select id from row_counts
    where account_id = account and list = of_list and environment_id = environment and owner_id = owner
    for no key update skip locked limit 1);
  if not found then
    insert into row_counts values (gen_random_uuid(), account, of_list, environment, owner, change);
  end if;
  return change;
end $$;
revoke execute on function gatehouse_count_row from public;
`);
    for (const each of counted) await db.query(triggerOf(each));
    await db.query(`${recounting(counted)}
select gatehouse_recount_rows();

create or replace function gatehouse_merge_row_counts() returns bigint language sql security definer set search_path = public, pg_temp as $$
  with several as materialized (
    select account_id, list, environment_id, owner_id from row_counts group by 1, 2, 3, 4 having count(*) > 1 or sum(value) = 0
  ),
  free as materialized (
    select id from row_counts where (account_id, list, environment_id, owner_id) in (select * from several)
    for update skip locked
  ),
  gone as (
    delete from row_counts where id in (select id from free) returning account_id, list, environment_id, owner_id, value
  ),
  merged as (
    insert into row_counts
    select gen_random_uuid(), account_id, list, environment_id, owner_id, sum(value) from gone
    group by account_id, list, environment_id, owner_id having sum(value) <> 0
    returning 1
  )
  select (select count(*) from gone) - (select count(*) from merged)
$$;
revoke execute on function gatehouse_merge_row_counts from public;
`);
    await buildIndexes(db, indexes);
    for (const name of replaced) await db.query(`drop index concurrently if exists ${name}`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
