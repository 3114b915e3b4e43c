import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What people have allowed clients that must ask for consent (docs/decisions/0063). */
export class Consents1763700000092 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('alter table oauth_clients add column consent_required boolean not null default false');
    await db.query(`
create table consents (
  identity_id uuid not null constraint consents_identity_fk references identities (id) on delete cascade,
  oauth_client_id uuid not null constraint consents_client_fk references oauth_clients (id) on delete cascade,
  account_id uuid not null constraint consents_account_fk references accounts (id) on delete cascade,
  environment_id uuid not null constraint consents_environment_fk references environments (id) on delete cascade,
  scope text[] not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint consents_pkey primary key (identity_id, oauth_client_id)
);
create index consents_client on consents (oauth_client_id);
create index consents_account on consents (account_id);
create index consents_environment on consents (environment_id);

alter table consents enable row level security;
create policy tenant on consents using ((select gatehouse_is_system())
  or (account_id = (select gatehouse_account_id())
    and ((select gatehouse_environment_id()) is null or environment_id = (select gatehouse_environment_id()))));
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
