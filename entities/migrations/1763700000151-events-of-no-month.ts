import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Events of months that nobody made a table for, since there was no housekeeping then or a clock was wrong, stand in `events_default`. They go as
 * the others do, but row by row: nobody waits for that. The lock is of these two functions alone; it was that of making signing keys, too.
 */
export class EventsOfNoMonth1763700000151 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(drop);
    await db.query(prepare);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

const drop = `
create or replace function gatehouse_drop_events(keep_days integer) returns integer language plpgsql security definer set search_path = public, pg_temp as $$
declare
  old record;
  latest bigint;
  kept_from timestamptz;
begin
  if keep_days is null or keep_days < 90 then
    raise exception 'events are kept for 90 days at least';
  end if;
  perform pg_advisory_xact_lock(7263004151);
  perform set_config('lock_timeout', '2s', true);
  select * into old from event_partitions where ends_at <= now() - make_interval(days => keep_days) order by ends_at limit 1;
  if not found then
    kept_from := date_trunc('month', now() - make_interval(days => keep_days), 'UTC');
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
`;

const prepare = `
create or replace function gatehouse_prepare_events() returns integer language plpgsql security definer set search_path = public, pg_temp as $$
declare
  starts timestamptz := date_trunc('month', now(), 'UTC');
  ends timestamptz;
  partition text;
  made integer := 0;
begin
  perform pg_advisory_xact_lock(7263004151);
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
`;
