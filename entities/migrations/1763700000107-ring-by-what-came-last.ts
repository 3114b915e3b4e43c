import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Checks only the last hundred places of the queue for waiting events. Entries of processed events stay in its index
 * for as long as any snapshot, such as a nightly dump's, could see them: from the queue's beginning every event read
 * past all of them. If only older events wait, this sends one notification too many.
 */
export class RingByWhatCameLast1763700000107 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
create or replace function gatehouse_queue_webhooks(event uuid) returns timestamptz
  language plpgsql volatile security definer set search_path = public, pg_temp as $$
declare
  moment timestamptz := clock_timestamp();
begin
  -- Whoever takes what waits looks again by itself. Announcing each event would have all commits queue for one lock.
  if (select id from webhook_queue where id > (select last_value from webhook_queue_id_seq) - 100 order by id limit 1) is null then
    perform pg_notify('gatehouse_webhooks', '');
  end if;
  insert into webhook_queue (event_id, event_created_at) values (event, moment);
  return moment;
end $$;
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
