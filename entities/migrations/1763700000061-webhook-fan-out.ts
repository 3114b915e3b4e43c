import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Queues an event that a subscription may want, and notifies if the queue was empty (docs/decisions/0028). The outbox's
 * messages about deliveries get an index of their own, so that a message that starts a sign-up overtakes a thousand.
 */
export class WebhookFanOut1763700000061 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
create function gatehouse_queue_webhooks(event uuid) returns timestamptz
  language plpgsql volatile security definer set search_path = public, pg_temp as $$
declare
  moment timestamptz := clock_timestamp();
begin
  -- Whoever takes what waits looks again by itself. Announcing each event would have all commits queue for one lock.
  if (select id from webhook_queue order by id limit 1) is null then
    perform pg_notify('gatehouse_webhooks', '');
  end if;
  insert into webhook_queue (event_id, event_created_at) values (event, moment);
  return moment;
end $$;
revoke execute on function gatehouse_queue_webhooks from public;

drop index outbox_due;
create index outbox_due on outbox (due_at, id) where process <> 'webhookDelivery';
create index outbox_due_webhooks on outbox (due_at, id) where process = 'webhookDelivery';
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
