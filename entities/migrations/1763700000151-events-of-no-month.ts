import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Events of a month without a table, because no housekeeping ran or a clock was wrong, are in `events_default`. They
 * are deleted once they have been kept for long enough, like the months, but row by row, which blocks nobody.
 */
export class EventsOfNoMonth1763700000151 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(dropOfNoMonth);
    // The lock for months was also the one for making signing keys. Only the lock in these functions changes.
    const ofMonths: { text: string }[] = await db.query(
      `select replace(pg_get_functiondef(oid), '7263004119', '${lockOfMonths}') as text from pg_proc
       where oid in ('gatehouse_prepare_events()'::regprocedure, 'gatehouse_drop_events(integer)'::regprocedure)`,
    );
    for (const { text } of ofMonths) await db.query(text);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

const lockOfMonths = '7263004151';

const dropOfNoMonth = `
create function gatehouse_drop_events_of_no_month(keep_days integer) returns integer language plpgsql security definer set search_path = public, pg_temp as $$
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
revoke execute on function gatehouse_drop_events_of_no_month from public;
`;
