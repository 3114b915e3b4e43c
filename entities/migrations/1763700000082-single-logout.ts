import type { MigrationInterface, QueryRunner } from 'typeorm';

/** People's sessions at their identity providers, and sign-outs that are ending these (docs/decisions/0046). */
export class SingleLogout1763700000082 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
create table sso_sessions (
  id uuid primary key,
  account_id uuid not null constraint sso_sessions_account_fk references accounts (id) on delete cascade,
  connection_id uuid not null constraint sso_sessions_connection_fk references sso_connections (id) on delete cascade,
  link_id uuid not null constraint sso_sessions_link_fk references sso_links (id) on delete cascade,
  index_hash bytea,
  sealed_handle text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null
);
create index sso_sessions_link on sso_sessions (link_id);
create index sso_sessions_connection on sso_sessions (connection_id, index_hash);
create index sso_sessions_account on sso_sessions (account_id);
create index sso_sessions_expiry on sso_sessions (expires_at);
alter table sso_sessions enable row level security;
create policy tenant on sso_sessions using ((select gatehouse_is_system())
  or account_id = (select gatehouse_account_id()));

create table sso_logouts (
  id uuid primary key,
  link_hash bytea not null,
  sso_session_ids uuid[] not null,
  onward jsonb not null,
  connection_id uuid constraint sso_logouts_connection_fk references sso_connections (id) on delete cascade,
  state_hash bytea,
  browser_hash bytea,
  answered_at timestamptz,
  refusal text,
  created_at timestamptz not null,
  expires_at timestamptz not null
);
create unique index sso_logouts_link on sso_logouts (link_hash);
create unique index sso_logouts_state on sso_logouts (state_hash);
create index sso_logouts_connection on sso_logouts (connection_id);
create index sso_logouts_expiry on sso_logouts (expires_at);
alter table sso_logouts enable row level security;
-- Whoever signs out of all Environments at once is of no one tenant.
create policy service on sso_logouts using ((select gatehouse_is_system()));

alter table sessions add sso_session_id uuid;
alter table user_sessions add sso_session_id uuid;
alter table pending_sign_ins add sso_session_id uuid;
alter table pending_user_sign_ins add sso_session_id uuid;

alter table sso_connections add single_logout_enabled boolean not null default true;
-- Providers of before were never told where to send people back to.
update sso_connections set single_logout_enabled = false where type = 'oidc';
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
