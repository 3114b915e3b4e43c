import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Ends a subscription's waiting deliveries in batches after it was switched off or deleted (docs/decisions/0028). */
export class WebhookStops1763700000127 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
alter table webhook_deliveries add column retried_at timestamptz;
create table webhook_stops (
  id uuid primary key,
  account_id uuid not null constraint webhook_stops_account_fk references accounts (id) on delete cascade,
  environment_id uuid constraint webhook_stops_environment_fk references environments (id) on delete cascade,
  webhook_id uuid not null,
  reason text not null,
  stopped_at timestamptz not null,
  constraint webhook_stops_reason check (reason in ('webhook_deleted', 'webhook_disabled', 'webhook_gone'))
);
create index webhook_stops_webhook on webhook_stops (webhook_id, stopped_at);
create index webhook_stops_account on webhook_stops (account_id);
create index webhook_stops_environment on webhook_stops (environment_id) where environment_id is not null;
alter table webhook_stops enable row level security;
create policy tenant on webhook_stops using ((select gatehouse_is_system())
  or (account_id = (select gatehouse_account_id())
    and ((select gatehouse_environment_id()) is null or environment_id = (select gatehouse_environment_id()))));
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
