import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * An Environment that is being removed belongs to no Account and no Application, so that no query finds it there, and
 * its slug is free at once; likewise an Application (docs/decisions/0042).
 */
export class EnvironmentRemovals1763700000077 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
alter table applications alter column account_id drop not null;
alter table environments alter column account_id drop not null, alter column application_id drop not null;

create table environment_removals (
  id uuid primary key,
  account_id uuid not null constraint environment_removals_account_fk references accounts (id) on delete cascade,
  application_id uuid not null,
  environment_id uuid not null,
  name text not null,
  status text not null,
  ended_reason text,
  rest jsonb,
  identities_deleted integer not null,
  actor_type text not null,
  actor_id text,
  correlation_id uuid not null,
  created_at timestamptz not null,
  ended_at timestamptz,
  constraint environment_removals_status check (status in ('running', 'completed', 'cancelled'))
);
create unique index environment_removals_one_per_environment on environment_removals (environment_id);
create index environment_removals_account on environment_removals (account_id);
create index environment_removals_application on environment_removals (application_id);
create index environment_removals_running on environment_removals (id) where status = 'running';
alter table environment_removals enable row level security;
create policy tenant on environment_removals
  using ((select gatehouse_is_system()) or account_id = (select gatehouse_account_id()));
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
