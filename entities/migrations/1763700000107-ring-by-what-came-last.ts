import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Whether something waits is asked of the last hundred places of the queue. What was taken stays in its index for as long as somebody's
 * snapshot could still want it, a nightly dump's for one: from the queue's beginning every event walked past all of that. Where only
 * something older waits, it rings once too often.
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
