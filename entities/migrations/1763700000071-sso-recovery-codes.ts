import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Codes of organizations for when their identity provider is down. */
export class SsoRecoveryCodes1763700000071 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
create table sso_recovery_codes (
  id uuid primary key,
  account_id uuid not null constraint sso_recovery_codes_account_fk references accounts (id) on delete cascade,
  environment_id uuid not null constraint sso_recovery_codes_environment_fk references environments (id) on delete cascade,
  organization_id uuid not null constraint sso_recovery_codes_organization_fk references organizations (id) on delete cascade,
  generation integer not null,
  code_hash bytea not null,
  created_at timestamptz not null,
  used_at timestamptz
);
create unique index sso_recovery_codes_code on sso_recovery_codes (organization_id, code_hash);
create index sso_recovery_codes_account on sso_recovery_codes (account_id);
create index sso_recovery_codes_environment on sso_recovery_codes (environment_id);

alter table sso_recovery_codes enable row level security;
create policy tenant on sso_recovery_codes using ((select gatehouse_is_system())
  or (account_id = (select gatehouse_account_id())
    and ((select gatehouse_environment_id()) is null or environment_id = (select gatehouse_environment_id()))));
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
