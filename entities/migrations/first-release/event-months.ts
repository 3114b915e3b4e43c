/** Advisory lock of whoever creates or drops a month. */
const lockOfMonths = '7263004151';

/**
 * Counts settled events, and creates and drops the tables of months (docs/decisions/0027). These functions run as the
 * owner: the service itself can neither change nor delete an event.
 */
export const eventMonths = `
-- An event's place in the feed is after everything that its transaction has seen. PL/pgSQL sees what is committed by now, even in a
-- statement that has waited for a lock since it began.
create function gatehouse_event_place() returns bigint language plpgsql volatile as $$
begin
  return greatest(pg_current_xact_id()::text::bigint, pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1);
end $$;

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

create function gatehouse_prepare_events() returns integer language plpgsql security definer set search_path = public, pg_temp as $$
declare
  starts timestamptz := date_trunc('month', now(), 'UTC');
  ends timestamptz;
  partition text;
  made integer := 0;
begin
  perform pg_advisory_xact_lock(${lockOfMonths});
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

-- Drops one month, the oldest that was kept for long enough: everybody waits from the detaching of a table until the end.
create function gatehouse_drop_events(keep_days integer) returns integer language plpgsql security definer set search_path = public, pg_temp as $$
declare
  old record;
  latest bigint;
begin
  if keep_days is null or keep_days < 90 then
    raise exception 'events are kept for 90 days at least';
  end if;
  perform pg_advisory_xact_lock(${lockOfMonths});
  perform set_config('lock_timeout', '2s', true);
  select * into old from event_partitions where ends_at <= now() - make_interval(days => keep_days) order by ends_at limit 1;
  if not found then
    return 0;
  end if;
  perform gatehouse_settle_events();
  execute format('select max(transaction_id) from %I', old.name) into latest;
  update event_state set dropped_through = greatest(dropped_through, coalesce(latest, 0));
  delete from event_counts where day >= (old.starts_at at time zone 'UTC')::date and day < (old.ends_at at time zone 'UTC')::date;
  delete from event_marks where at < old.ends_at - interval '1 day';
  delete from event_partitions where name = old.name;
  -- Last, since everybody waits from here on.
  execute format('alter table events detach partition %I', old.name);
  execute format('drop table %I', old.name);
  return 1;
end $$;

-- Events of a month without a table, because no housekeeping ran or a clock was wrong, are deleted row by row, which blocks nobody.
create function gatehouse_drop_events_of_no_month(keep_days integer) returns integer
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  latest bigint;
  kept_from timestamptz := date_trunc('month', now() - make_interval(days => keep_days), 'UTC');
begin
  if keep_days is null or keep_days < 90 then
    raise exception 'events are kept for 90 days at least';
  end if;
  perform pg_advisory_xact_lock(${lockOfMonths});
  if not exists (select from events_default where created_at < kept_from) then
    return 0;
  end if;
  perform gatehouse_settle_events();
  with gone as (
    delete from events_default where ctid = any (array(select ctid from events_default where created_at < kept_from limit 10000))
    returning transaction_id)
  select max(transaction_id) into latest from gone;
  update event_state set dropped_through = greatest(dropped_through, coalesce(latest, 0));
  -- Of the rows that are left, too: they go next.
  delete from event_counts c where day < (kept_from at time zone 'UTC')::date and not exists (select from event_partitions p
    where c.day >= (p.starts_at at time zone 'UTC')::date and c.day < (p.ends_at at time zone 'UTC')::date);
  return 1;
end $$;
revoke execute on function gatehouse_settle_events, gatehouse_prepare_events, gatehouse_drop_events,
  gatehouse_drop_events_of_no_month from public;

insert into event_state values (true, 0, 0);
select gatehouse_prepare_events();
`;
