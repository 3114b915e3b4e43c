import { readByTenant } from './row-level-security.js';

/**
 * SQL: whether a change of members is recorded: the Environment has waymarks, or will have, and is not being removed.
 */
const isNoted = (row: string) => `exists (
    select from waymarked_environments w join environments e on e.id = w.environment_id and e.account_id = w.account_id
    where w.environment_id = ${row}.environment_id)`;

/**
 * Waymarks in the lists of members, so that a page in the middle skips few rows (docs/decisions/0090): how many members
 * come before a place, and who was added or left before it since that count.
 */
export const waymarks = `
create table waymarked_environments (
  environment_id uuid primary key constraint waymarked_environments_environment_fk references environments (id) on delete cascade,
  account_id uuid not null,
  marked_at timestamptz not null,
  members bigint
);
${readByTenant('waymarked_environments')}

create table member_waymarks (
  id uuid primary key,
  account_id uuid not null,
  environment_id uuid not null,
  rank bigint not null,
  created_at timestamptz not null,
  identity_id uuid not null
);
create index member_waymarks_in_order on member_waymarks (environment_id, rank);
${readByTenant('member_waymarks')}

create table member_shifts (
  id uuid primary key,
  account_id uuid not null,
  environment_id uuid not null,
  created_at timestamptz not null,
  identity_id uuid not null,
  change smallint not null
);
create index member_shifts_in_order on member_shifts (environment_id, created_at, identity_id);
${readByTenant('member_shifts')}

create function gatehouse_note_leavers() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into member_shifts (id, account_id, environment_id, created_at, identity_id, change)
  select gen_random_uuid(), account_id, environment_id, created_at, identity_id, -1 from gone where ${isNoted('gone')};
  return null;
end $$;
create trigger noted_leavers after delete on environment_memberships
  referencing old table as gone for each statement execute function gatehouse_note_leavers();

create function gatehouse_note_belated() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if ${isNoted('new')} then
    insert into member_shifts (id, account_id, environment_id, created_at, identity_id, change)
    values (gen_random_uuid(), new.account_id, new.environment_id, new.created_at, new.identity_id, 1);
  end if;
  return null;
end $$;
create trigger noted_belated after insert on environment_memberships
  for each row when (new.created_at < clock_timestamp() - interval '1 minute') execute function gatehouse_note_belated();

create function gatehouse_forget_shifts() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  delete from member_waymarks where environment_id = old.environment_id;
  delete from member_shifts where environment_id = old.environment_id;
  return null;
end $$;
create trigger forgotten_shifts after delete on waymarked_environments
  for each row execute function gatehouse_forget_shifts();

-- The next Environment behind one that has so many members, or has had: it is marked, or gets waymarks anew where those that it has are
-- far from what there is. Each statement sees what is committed when it begins, so none but the lock's holder reads and replaces them.
create function gatehouse_keep_waymarks(behind uuid, fewest bigint, every bigint, settled interval)
  returns table (environment uuid, placed bigint)
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  large record;
  known record;
  shifted bigint;
begin
  select c.environment_id as id, c.account_id, sum(c.value) as members into large
  from (
    select environment_id, account_id, value from counters where name = 'identities' and environment_id > behind
    union all
    select environment_id, account_id, value from counter_stripes where name = 'identities' and environment_id > behind
  ) c
  where (select account_id from environments where id = c.environment_id) = c.account_id
  group by c.environment_id, c.account_id
  having sum(c.value) >= fewest or exists (select from waymarked_environments w where w.environment_id = c.environment_id)
  order by c.environment_id limit 1;
  if not found then return; end if;
  environment := large.id;
  placed := 0;

  insert into waymarked_environments (environment_id, account_id, marked_at) values (large.id, large.account_id, clock_timestamp())
  on conflict do nothing;
  select marked_at, members into known from waymarked_environments w where w.environment_id = large.id
  for no key update skip locked;
  if not found or known.marked_at > clock_timestamp() - settled then return next; return; end if;

  select count(*) into shifted from (select from member_shifts s where s.environment_id = large.id limit every) noted;
  if abs(large.members - coalesce(known.members, 0)) < 5 * every and shifted < every then return next; return; end if;

  with seen as materialized (
    select id from member_shifts s where s.environment_id = large.id
  ),
  counted as (
    delete from member_shifts where id in (select id from seen)
  ),
  before as (
    delete from member_waymarks w where w.environment_id = large.id
  )
  insert into member_waymarks (id, account_id, environment_id, rank, created_at, identity_id)
  select gen_random_uuid(), large.account_id, large.id, ranked.rank, ranked.created_at, ranked.identity_id
  from (
    select m.created_at, m.identity_id, row_number() over (order by m.created_at, m.identity_id) - 1 as rank
    from environment_memberships m
    where m.environment_id = large.id and m.created_at < clock_timestamp() - settled
  ) ranked
  where ranked.rank > 0 and ranked.rank % every = 0 and large.members >= fewest;
  get diagnostics placed = row_count;
  update waymarked_environments w set members = large.members where w.environment_id = large.id;
  return next;
end $$;
revoke execute on function gatehouse_note_leavers, gatehouse_note_belated, gatehouse_forget_shifts, gatehouse_keep_waymarks from public;
`;
