import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Test sign-ins with SSO connections (docs/decisions/0037). */
export class SsoTests1763700000081 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
create table sso_tests (
  id uuid primary key,
  account_id uuid not null constraint sso_tests_account_fk references accounts (id) on delete cascade,
  environment_id uuid constraint sso_tests_environment_fk references environments (id) on delete cascade,
  connection_id uuid not null constraint sso_tests_connection_fk references sso_connections (id) on delete cascade,
  token_hash bytea not null,
  sealed_outcome text,
  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  expires_at timestamptz not null
);
create unique index sso_tests_link on sso_tests (token_hash);
create index sso_tests_connection on sso_tests (connection_id);
create index sso_tests_account on sso_tests (account_id);
create index sso_tests_environment on sso_tests (environment_id);
create index sso_tests_expiry on sso_tests (expires_at);
alter table sso_tests enable row level security;
create policy tenant on sso_tests using ((select gatehouse_is_system())
  or (account_id = (select gatehouse_account_id())
    and ((select gatehouse_environment_id()) is null or environment_id = (select gatehouse_environment_id()))));
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
