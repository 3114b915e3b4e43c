import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Counts of settled events, marks that map transactions to times, and the functions that create and drop months
 * (docs/decisions/0027). The functions run as the owner: the service itself can neither change nor delete an event.
 */
export class KeepingOfEvents1763700000051 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(tables);
    await db.query(settle);
    await db.query(months);
    await db.query('select gatehouse_prepare_events()');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

const tables = `
create table event_counts (
  day date not null,
  account_id uuid not null,
  application_id uuid not null,
  environment_id uuid not null,
  action text not null,
  resource_type text not null,
  category text not null,
  severity text not null,
  outcome text not null,
  identity_visible boolean not null,
  value bigint not null,
  constraint event_counts_pkey primary key (account_id, environment_id, application_id, day, action, resource_type, category, severity,
    outcome, identity_visible)
);
alter table event_counts enable row level security;
create policy tenant on event_counts for select using ((select gatehouse_is_system())
  or (account_id = (select gatehouse_account_id())
    and ((select gatehouse_environment_id()) is null or environment_id = (select gatehouse_environment_id()))));

create table event_marks (transaction_id bigint primary key, at timestamptz not null);
alter table event_marks enable row level security;
create policy everybody on event_marks for select using (true);

create table event_state (
  id boolean primary key constraint event_state_one check (id),
  counted_below bigint not null,
  dropped_through bigint not null
);
insert into event_state values (true, 0, 0);
alter table event_state enable row level security;
create policy everybody on event_state for select using (true);

create table feed_readers (environment_id uuid primary key, until timestamptz not null);
alter table feed_readers enable row level security;
create policy everybody on feed_readers for select using (true);
create policy service on feed_readers using ((select gatehouse_is_system()));
`;

const settle = `
-- Every event of a later transaction than a mark's was written after its moment: created_at tells where they can be.
create function gatehouse_events_since(transaction bigint) returns timestamptz language sql stable parallel safe
  return coalesce((select m.at from event_marks m where m.transaction_id < transaction order by m.transaction_id desc limit 1), '-infinity');

create function gatehouse_settle_events() returns bigint language plpgsql security definer set search_path = public, pg_temp as $$
declare
  counted bigint;
  settled bigint;
begin
  select counted_below into counted from event_state for update;
  -- Of transactions before this one nothing can become visible any more.
  settled := pg_snapshot_xmin(pg_current_snapshot())::text::bigint;
  if settled > counted then
    insert into event_counts as c (day, account_id, application_id, environment_id, action, resource_type, category, severity, outcome,
      identity_visible, value)
    select (created_at at time zone 'UTC')::date, account_id, coalesce(application_id, '00000000-0000-0000-0000-000000000000'),
      coalesce(environment_id, '00000000-0000-0000-0000-000000000000'), action, resource_type, category, severity, outcome,
      identity_visible, count(*)
    from events
    where transaction_id >= counted and transaction_id < settled and created_at >= gatehouse_events_since(counted)
      and customer_visible and account_id is not null
    group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
    on conflict on constraint event_counts_pkey do update set value = c.value + excluded.value;
    update event_state set counted_below = settled;
  end if;
  -- This transaction has its number since it locked the row, after it began; the rest allows for clocks that are put back.
  insert into event_marks values (pg_current_xact_id()::text::bigint, now() - interval '5 minutes') on conflict do nothing;
  return settled;
end $$;
`;

const months = `
create function gatehouse_prepare_events() returns integer language plpgsql security definer set search_path = public, pg_temp as $$
declare
  starts timestamptz := date_trunc('month', now(), 'UTC');
  ends timestamptz;
  partition text;
  made integer := 0;
begin
  perform pg_advisory_xact_lock(7263004119);
  perform set_config('lock_timeout', '2s', true); -- a slow transaction holds up neither this nor, behind it, everybody
  for i in 0..3 loop
    ends := starts + interval '1 month';
    partition := 'events_' || to_char(starts at time zone 'UTC', 'YYYY_MM');
    if not exists (select from event_partitions p where p.starts_at <= starts and p.ends_at >= ends) then
      lock table events_default in access exclusive mode;
      execute format('create table %I (like events including defaults including constraints)', partition);
      execute format('alter table %I enable row level security', partition);
      execute format('revoke all on %I from public', partition);
      -- What was written while nobody had made its month.
      execute format('with moved as (delete from events_default where created_at >= %2$L and created_at < %3$L returning *)
        insert into %1$I select * from moved', partition, starts, ends);
      execute format('alter table events attach partition %I for values from (%L) to (%L)', partition, starts, ends);
      insert into event_partitions values (partition, starts, ends);
      made := made + 1;
    end if;
    starts := ends;
  end loop;
  return made;
end $$;

create function gatehouse_drop_events(keep_days integer) returns integer language plpgsql security definer set search_path = public, pg_temp as $$
declare
  old record;
  latest bigint;
  dropped integer := 0;
begin
  if keep_days is null or keep_days < 90 then
    raise exception 'events are kept for 90 days at least';
  end if;
  perform pg_advisory_xact_lock(7263004119);
  perform set_config('lock_timeout', '2s', true);
  for old in select * from event_partitions where ends_at <= now() - make_interval(days => keep_days) order by ends_at loop
    perform gatehouse_settle_events();
    execute format('select max(transaction_id) from %I', old.name) into latest;
    update event_state set dropped_through = greatest(dropped_through, coalesce(latest, 0));
    delete from event_counts where day >= (old.starts_at at time zone 'UTC')::date and day < (old.ends_at at time zone 'UTC')::date;
    delete from event_marks where at < old.ends_at - interval '1 day';
    execute format('alter table events detach partition %I', old.name);
    execute format('drop table %I', old.name);
    delete from event_partitions where name = old.name;
    dropped := dropped + 1;
  end loop;
  return dropped;
end $$;
revoke execute on function gatehouse_settle_events, gatehouse_prepare_events, gatehouse_drop_events from public;
`;
