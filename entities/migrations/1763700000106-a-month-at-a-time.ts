import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Drops only one month of events per call, the oldest that was kept for long enough: detaching a month locks the whole
 * log until the transaction ends, so that the preparation of every further month happened while nobody could write.
 */
export class AMonthAtATime1763700000106 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
create or replace function gatehouse_drop_events(keep_days integer) returns integer language plpgsql security definer set search_path = public, pg_temp as $$
declare
  old record;
  latest bigint;
begin
  if keep_days is null or keep_days < 90 then
    raise exception 'events are kept for 90 days at least';
  end if;
  perform pg_advisory_xact_lock(7263004119);
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
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
