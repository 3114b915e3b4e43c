import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Customers' identity providers, the redirects to them, the links of their people, and the provider of a session. */
export class SsoConnections1763700000070 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
create table sso_connections (
  id uuid primary key,
  account_id uuid not null constraint sso_connections_account_fk references accounts (id) on delete cascade,
  environment_id uuid constraint sso_connections_environment_fk references environments (id) on delete cascade,
  organization_id uuid constraint sso_connections_organization_fk references organizations (id) on delete cascade,
  scope text not null,
  type text not null,
  name text not null,
  status text not null,
  owned_by_organization boolean not null,
  saml_entity_id text,
  saml_sso_url text,
  saml_slo_url text,
  saml_signing_cert text,
  saml_signature_algorithm text,
  saml_want_assertions_signed boolean not null default true,
  saml_name_id_format text,
  saml_allow_idp_initiated boolean not null default false,
  force_authn boolean not null default false,
  oidc_discovery_url text,
  oidc_client_id text,
  oidc_client_secret_sealed text,
  oidc_scopes text[] not null,
  jit_provisioning_enabled boolean not null default false,
  attribute_mapping jsonb not null default '{}',
  default_role_id uuid constraint sso_connections_default_role_fk references roles (id) on delete set null,
  last_login_at timestamptz,
  last_login_failure_at timestamptz,
  consecutive_failures integer not null default 0,
  auto_disabled_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint sso_connections_type check (type in ('saml', 'oidc')),
  constraint sso_connections_status check (status in ('configuring', 'active', 'disabled', 'auto_disabled')),
  constraint sso_connections_scope check (scope = case when organization_id is not null then 'organization' when environment_id is not null then 'identity' else 'admin' end),
  constraint sso_connections_place check (organization_id is null or environment_id is not null)
);
create unique index sso_connections_of_organization on sso_connections (organization_id);
create index sso_connections_by_age on sso_connections (account_id, environment_id, created_at, id);
create index sso_connections_environment on sso_connections (environment_id);
create index sso_connections_default_role on sso_connections (default_role_id);

create table sso_requests (
  id uuid primary key,
  account_id uuid not null constraint sso_requests_account_fk references accounts (id) on delete cascade,
  environment_id uuid constraint sso_requests_environment_fk references environments (id) on delete cascade,
  connection_id uuid not null constraint sso_requests_connection_fk references sso_connections (id) on delete cascade,
  purpose text not null,
  state_hash bytea not null,
  browser_hash bytea not null,
  sealed_secrets text,
  parameters jsonb not null default '{}',
  sealed_answer text,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  answered_at timestamptz,
  completed_at timestamptz,
  constraint sso_requests_purpose check (purpose in ('identity', 'admin', 'test'))
);
create unique index sso_requests_state on sso_requests (state_hash);
create index sso_requests_connection on sso_requests (connection_id);
create index sso_requests_account on sso_requests (account_id);
create index sso_requests_environment on sso_requests (environment_id);
create index sso_requests_expiry on sso_requests (expires_at);

create table sso_links (
  id uuid primary key,
  account_id uuid not null constraint sso_links_account_fk references accounts (id) on delete cascade,
  connection_id uuid not null constraint sso_links_connection_fk references sso_connections (id) on delete cascade,
  subject text not null,
  identity_id uuid constraint sso_links_identity_fk references identities (id) on delete cascade,
  user_id uuid constraint sso_links_user_fk references users (id) on delete cascade,
  created_at timestamptz not null,
  last_login_at timestamptz not null,
  constraint sso_links_whom check ((identity_id is null) <> (user_id is null))
);
create unique index sso_links_subject on sso_links (connection_id, subject);
create index sso_links_identity on sso_links (identity_id);
create index sso_links_user on sso_links (user_id);
create index sso_links_account on sso_links (account_id);

alter table sso_connections enable row level security;
create policy tenant on sso_connections using ((select gatehouse_is_system())
  or (account_id = (select gatehouse_account_id())
    and ((select gatehouse_environment_id()) is null or environment_id = (select gatehouse_environment_id()))));
alter table sso_requests enable row level security;
create policy tenant on sso_requests using ((select gatehouse_is_system())
  or (account_id = (select gatehouse_account_id())
    and ((select gatehouse_environment_id()) is null or environment_id = (select gatehouse_environment_id()))));
alter table sso_links enable row level security;
create policy tenant on sso_links using ((select gatehouse_is_system())
  or account_id = (select gatehouse_account_id()));

alter table environment_settings add default_sso_connection_id uuid
  constraint environment_settings_default_sso_connection_fk references sso_connections (id) on delete set null;
create index environment_settings_default_sso_connection on environment_settings (default_sso_connection_id);

alter table sessions add sso_connection_id uuid
  constraint sessions_sso_connection_fk references sso_connections (id) on delete set null;
create index sessions_sso_connection on sessions (sso_connection_id) where sso_connection_id is not null;
alter table user_sessions add sso_connection_id uuid
  constraint user_sessions_sso_connection_fk references sso_connections (id) on delete set null;
create index user_sessions_sso_connection on user_sessions (sso_connection_id) where sso_connection_id is not null;

alter table pending_sign_ins add sso_connection_id uuid
  constraint pending_sign_ins_sso_connection_fk references sso_connections (id) on delete cascade,
  drop constraint pending_sign_ins_method,
  add constraint pending_sign_ins_method check (method in ('password', 'email_otp', 'passkey', 'sso', 'session'));
create index pending_sign_ins_sso_connection on pending_sign_ins (sso_connection_id) where sso_connection_id is not null;
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
