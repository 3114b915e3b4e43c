import { ofEnvironment, readByTenant } from './row-level-security.js';

/** Totals that the service itself keeps, in the transaction of each change. */
export const counters = `
create table counters (
  environment_id uuid not null constraint counters_environment_fk references environments (id) on delete cascade,
  name text not null,
  account_id uuid not null constraint counters_account_fk references accounts (id) on delete cascade,
  value bigint not null,
  primary key (environment_id, name)
);
${ofEnvironment('counters')}

-- A counter's row is locked from its change until the commit, so all new Identities of an Environment were written to disk one
-- after the other (docs/decisions/0025). Frequent changes update one of a few additional rows; the total is the sum. The pages
-- have free space, so that updates of these rows can stay on their page.
create table counter_stripes (
  environment_id uuid not null constraint counter_stripes_environment_fk references environments (id) on delete cascade,
  name text not null,
  stripe smallint not null,
  account_id uuid not null constraint counter_stripes_account_fk references accounts (id) on delete cascade,
  value bigint not null,
  primary key (environment_id, name, stripe)
) with (fillfactor = 40);
${ofEnvironment('counter_stripes')}
`;

const none = `'00000000-0000-0000-0000-000000000000'::uuid`;

/** The rows of a table that are counted, and the list in which each is. */
interface Counted {
  table: string;
  /** SQL: the list of a row, if it is not named after the table. */
  list?: string;
  /** SQL: the Environment of a row; absent if rows belong to the Account. */
  environment?: string;
  /** SQL: the owner of the list in the Environment. */
  owner?: string;
  where?: string;
}

const ofEither = `coalesce(environment_id, ${none})`;

/** None of these columns changes later, so triggers for insert and delete suffice. */
const counted: readonly Counted[] = [
  { table: 'identities' },
  { table: 'administrator_invites' },
  { table: 'erasures' },
  { table: 'environment_removals' },
  { table: 'identity_invites', list: `'identity_invites_' || intent`, environment: 'environment_id' },
  { table: 'mfa_graces', environment: 'environment_id' },
  { table: 'role_assignment_windows', environment: 'environment_id' },
  { table: 'api_keys', environment: 'environment_id' },
  { table: 'scim_groups', environment: 'environment_id', owner: 'directory_id' },
  { table: 'scim_tokens', environment: 'environment_id' },
  { table: 'sso_connections', environment: ofEither },
  { table: 'sso_domains', environment: ofEither },
  { table: 'emails', environment: ofEither, where: 'account_id is not null' },
  { table: 'webhook_deliveries', environment: ofEither, owner: 'webhook_id' },
];

/** Inactive members; all others are the active ones. */
const inactive: Counted = {
  table: 'environment_memberships',
  list: `'inactive_identities'`,
  environment: 'environment_id',
  where: 'not is_active',
};

/** SQL: the counts of the rows in `from`, which are this table's, per list. */
const grouped = (
  { table, list = `'${table}'`, environment = none, owner = none, where = 'true' }: Counted,
  from: string,
) =>
  `select account_id, ${list} as list, ${environment} as environment_id, ${owner} as owner_id, count(*) as value
    from ${from} where ${where} group by 1, 2, 3, 4`;

const triggerOf = (of: Counted) => `
create function gatehouse_count_${of.table}() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform gatehouse_count_row(c.account_id, c.list, c.environment_id, c.owner_id, case tg_op when 'INSERT' then c.value else - c.value end)
  from (${grouped(of, 'changed')}) c;
  return null;
end $$;
revoke execute on function gatehouse_count_${of.table} from public;
create trigger counted_inserts after insert on ${of.table}
  referencing new table as changed for each statement execute function gatehouse_count_${of.table}();
create trigger counted_deletes after delete on ${of.table}
  referencing old table as changed for each statement execute function gatehouse_count_${of.table}();
`;

/**
 * Totals of lists whose rows are added and deleted in many ways, updated by the database in the transaction of the
 * change (docs/decisions/0085). No change waits for another: each updates a row that no other transaction has locked.
 */
export const rowCounts = `
create table row_counts (
  id uuid primary key,
  account_id uuid not null,
  list text not null,
  environment_id uuid not null,
  owner_id uuid not null,
  value bigint not null
) with (fillfactor = 40);
create index row_counts_of_list on row_counts (account_id, list, environment_id, owner_id);
${readByTenant('row_counts')}

create function gatehouse_count_row(account uuid, of_list text, environment uuid, owner uuid, change bigint) returns bigint
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
${counted.map(triggerOf).join('')}
-- Inserts and updates have row triggers with conditions: nearly everybody is added as active and stays so, which costs nothing.
create function gatehouse_count_inactive() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform gatehouse_count_row(new.account_id, ${inactive.list}, new.environment_id, '00000000-0000-0000-0000-000000000000', case when new.is_active then -1 else 1 end);
  return null;
end $$;
create trigger counted_inactive_inserts after insert on environment_memberships
  for each row when (not new.is_active) execute function gatehouse_count_inactive();
create trigger counted_inactive_changes after update of is_active on environment_memberships
  for each row when (old.is_active <> new.is_active) execute function gatehouse_count_inactive();

create function gatehouse_count_inactive_leavers() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform gatehouse_count_row(c.account_id, ${inactive.list}, c.environment_id, '00000000-0000-0000-0000-000000000000', - c.value)
  from (select account_id, environment_id, count(*) as value from gone where not is_active group by 1, 2) c;
  return null;
end $$;
create trigger counted_inactive_deletes after delete on environment_memberships
  referencing old table as gone for each statement execute function gatehouse_count_inactive_leavers();
revoke execute on function gatehouse_count_inactive, gatehouse_count_inactive_leavers from public;

-- Adds what is missing to the totals, and returns how many were wrong. What rows there are and what was counted of them are seen as of one
-- moment, whoever goes on writing.
create function gatehouse_recount_rows() returns bigint language sql security definer set search_path = public, pg_temp as $$
  select count(gatehouse_count_row(account_id, list, environment_id, owner_id, coalesce(there.value, 0) - coalesce(known.value, 0)))
  from (${[...counted, inactive].map((each) => grouped(each, each.table)).join('\n    union all ')}) there
    full join (select account_id, list, environment_id, owner_id, sum(value)::bigint as value from row_counts group by 1, 2, 3, 4) known
      using (account_id, list, environment_id, owner_id)
  where coalesce(there.value, 0) <> coalesce(known.value, 0)
$$;
revoke execute on function gatehouse_recount_rows from public;

create function gatehouse_merge_row_counts() returns bigint language sql security definer set search_path = public, pg_temp as $$
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
`;
