import { ofAccount, ofEnvironment, ofTheService } from './row-level-security.js';

/** Claims of domains, connections to identity providers, and the sign-ins and sign-outs there. */
export const sso = `
create table sso_domains (
  id uuid primary key,
  account_id uuid not null constraint sso_domains_account_fk references accounts (id) on delete cascade,
  environment_id uuid constraint sso_domains_environment_fk references environments (id) on delete cascade,
  organization_id uuid constraint sso_domains_organization_fk references organizations (id) on delete cascade,
  domain text not null,
  token text not null,
  status text not null,
  failure_reason text,
  claimed_by_type text not null,
  claimed_by uuid not null,
  created_at timestamptz not null,
  started_at timestamptz not null,
  fails_at timestamptz,
  next_check_at timestamptz,
  last_checked_at timestamptz,
  last_found_at timestamptz,
  absent_since timestamptz,
  verified_at timestamptz,
  ended_at timestamptz,
  constraint sso_domains_place check ((environment_id is null) = (organization_id is null)),
  constraint sso_domains_status check (status in ('pending', 'verified', 'lapsed', 'failed'))
);
create index sso_domains_account on sso_domains (account_id, created_at, id);
create index sso_domains_by_age on sso_domains (organization_id, created_at, id);
create index sso_domains_environment on sso_domains (environment_id);
-- These two decide who holds a domain (docs/decisions/0034).
create unique index sso_domains_held_by_account on sso_domains (domain)
  where status = 'verified' and organization_id is null;
create unique index sso_domains_held_by_organization on sso_domains (environment_id, domain) where status = 'verified';
create unique index sso_domains_of_account on sso_domains (account_id, domain) where organization_id is null;
create unique index sso_domains_of_organization on sso_domains (organization_id, domain);
create index sso_domains_open on sso_domains (id) where status <> 'failed';
${ofEnvironment('sso_domains')}

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
  saml_certificate_warned_at timestamptz,
  saml_signature_algorithm text,
  saml_want_assertions_signed boolean not null default true,
  saml_name_id_format text,
  saml_allow_idp_initiated boolean not null default false,
  force_authn boolean not null default false,
  single_logout_enabled boolean not null default true,
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
  constraint sso_connections_place check (organization_id is null or environment_id is not null),
  constraint sso_connections_scope check (scope = case
    when organization_id is not null then 'organization'
    when environment_id is not null then 'identity'
    else 'admin' end),
  constraint sso_connections_status check (status in ('configuring', 'active', 'disabled', 'auto_disabled')),
  constraint sso_connections_type check (type in ('saml', 'oidc'))
);
create index sso_connections_by_age on sso_connections (account_id, environment_id, created_at, id);
create index sso_connections_default_role on sso_connections (default_role_id);
create index sso_connections_environment on sso_connections (environment_id);
create unique index sso_connections_of_organization on sso_connections (organization_id);
${ofEnvironment('sso_connections')}

create table sso_signing_keys (
  connection_id uuid primary key constraint sso_signing_keys_connection_fk references sso_connections (id) on delete cascade,
  account_id uuid not null constraint sso_signing_keys_account_fk references accounts (id) on delete cascade,
  certificate text not null,
  private_key_sealed text not null,
  created_at timestamptz not null
);
create index sso_signing_keys_account on sso_signing_keys (account_id);
${ofAccount('sso_signing_keys')}

create table sso_recovery_codes (
  id uuid primary key,
  account_id uuid not null constraint sso_recovery_codes_account_fk references accounts (id) on delete cascade,
  environment_id uuid not null constraint sso_recovery_codes_environment_fk references environments (id) on delete cascade,
  organization_id uuid not null constraint sso_recovery_codes_organization_fk references organizations (id) on delete cascade,
  generation integer not null,
  code_hash bytea not null,
  hash_parameters text,
  created_at timestamptz not null,
  used_at timestamptz
);
create index sso_recovery_codes_account on sso_recovery_codes (account_id);
create unique index sso_recovery_codes_code on sso_recovery_codes (organization_id, code_hash);
create index sso_recovery_codes_environment on sso_recovery_codes (environment_id);
${ofEnvironment('sso_recovery_codes')}

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
create index sso_links_account on sso_links (account_id);
create index sso_links_identity on sso_links (identity_id);
create unique index sso_links_subject on sso_links (connection_id, subject);
create index sso_links_user on sso_links (user_id);
${ofAccount('sso_links')}

create table sso_requests (
  id uuid primary key,
  account_id uuid not null,
  environment_id uuid,
  connection_id uuid not null constraint sso_requests_connection_fk references sso_connections (id) on delete cascade,
  purpose text not null,
  state_hash bytea not null,
  browser_hash bytea not null,
  deliverer_hash bytea,
  sealed_secrets text,
  parameters jsonb not null default '{}',
  sealed_answer text,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  answered_at timestamptz,
  completed_at timestamptz,
  constraint sso_requests_purpose check (purpose in ('identity', 'admin', 'test'))
);
create index sso_requests_connection on sso_requests (connection_id);
create index sso_requests_environment on sso_requests (environment_id);
create index sso_requests_expiry on sso_requests (expires_at);
create unique index sso_requests_state on sso_requests (state_hash);
${ofEnvironment('sso_requests')}

create table sso_sessions (
  id uuid primary key,
  account_id uuid not null,
  connection_id uuid not null constraint sso_sessions_connection_fk references sso_connections (id) on delete cascade,
  link_id uuid not null constraint sso_sessions_link_fk references sso_links (id) on delete cascade,
  index_hash bytea,
  sealed_handle text not null,
  created_at timestamptz not null,
  ended_at timestamptz,
  not_on_or_after timestamptz,
  expires_at timestamptz not null
);
create index sso_sessions_connection on sso_sessions (connection_id, index_hash);
create index sso_sessions_expiry on sso_sessions (expires_at);
create index sso_sessions_link on sso_sessions (link_id);
${ofAccount('sso_sessions')}

-- Whoever signs out of all Environments at once is of no one tenant.
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
create index sso_logouts_connection on sso_logouts (connection_id);
create index sso_logouts_expiry on sso_logouts (expires_at);
create unique index sso_logouts_link on sso_logouts (link_hash);
create unique index sso_logouts_state on sso_logouts (state_hash);
${ofTheService('sso_logouts')}

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
create index sso_tests_account on sso_tests (account_id);
create index sso_tests_connection on sso_tests (connection_id);
create index sso_tests_environment on sso_tests (environment_id);
create index sso_tests_expiry on sso_tests (expires_at);
create unique index sso_tests_link on sso_tests (token_hash);
${ofEnvironment('sso_tests')}
`;
