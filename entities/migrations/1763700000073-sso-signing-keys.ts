import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The keys that sign our SAML messages, one for each connection that has redirected somebody to its provider. */
export class SsoSigningKeys1763700000073 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
create table sso_signing_keys (
  connection_id uuid primary key constraint sso_signing_keys_connection_fk references sso_connections (id) on delete cascade,
  account_id uuid not null constraint sso_signing_keys_account_fk references accounts (id) on delete cascade,
  certificate text not null,
  private_key_sealed text not null,
  created_at timestamptz not null
);
create index sso_signing_keys_account on sso_signing_keys (account_id);
alter table sso_signing_keys enable row level security;
create policy tenant on sso_signing_keys using ((select gatehouse_is_system())
  or account_id = (select gatehouse_account_id()));
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
