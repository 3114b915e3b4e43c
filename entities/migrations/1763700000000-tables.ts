import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Tables1763700000000 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('create extension if not exists citext');
    await db.query(`
create table users (
  id uuid primary key,
  email citext not null,
  first_name text not null,
  last_name text not null,
  password_hash text,
  password_changed_at timestamptz,
  email_verified_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index users_email on users (email);

create table accounts (
  id uuid primary key,
  name text not null,
  slug text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index accounts_slug on accounts (slug);

create table account_intents (
  id uuid primary key,
  user_id uuid not null constraint account_intents_user_fk references users (id) on delete cascade,
  account_name text not null,
  application_name text not null,
  status text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  constraint account_intents_status check (status in ('parked', 'claimed', 'consumed', 'discarded', 'expired', 'cancelled', 'failed'))
);
create index account_intents_user on account_intents (user_id);

create table administrator_roles (
  id uuid primary key,
  account_id uuid not null constraint administrator_roles_account_fk references accounts (id) on delete cascade,
  name text not null,
  system_key text,
  capabilities text array not null,
  created_at timestamptz not null
);
create unique index administrator_roles_system_key on administrator_roles (account_id, system_key);
create unique index administrator_roles_name on administrator_roles (account_id, name);

create table applications (
  id uuid primary key,
  account_id uuid not null constraint applications_account_fk references accounts (id) on delete cascade,
  name text not null,
  slug text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index applications_slug on applications (account_id, slug);

create table environments (
  id uuid primary key,
  account_id uuid not null constraint environments_account_fk references accounts (id) on delete cascade,
  application_id uuid not null constraint environments_application_fk references applications (id) on delete cascade,
  name text not null,
  slug text not null,
  type text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint environments_type check (type in ('development', 'production'))
);
create index environments_account on environments (account_id);
create unique index environments_slug on environments (application_id, slug);

create table api_keys (
  id uuid primary key,
  account_id uuid not null constraint api_keys_account_fk references accounts (id) on delete cascade,
  application_id uuid not null constraint api_keys_application_fk references applications (id) on delete cascade,
  environment_id uuid not null constraint api_keys_environment_fk references environments (id) on delete cascade,
  client_id text not null,
  name text not null,
  description text,
  secret_hash bytea not null,
  key_preview text not null,
  access_mode text not null,
  scopes text array not null,
  is_active boolean not null,
  last_used_at timestamptz,
  expires_at timestamptz,
  created_at timestamptz not null,
  constraint api_keys_access_mode check (access_mode in ('full', 'scoped'))
);
create index api_keys_by_age on api_keys (environment_id, created_at, id);
create unique index api_keys_client_id on api_keys (client_id);

create table oauth_clients (
  id uuid primary key,
  account_id uuid not null constraint oauth_clients_account_fk references accounts (id) on delete cascade,
  application_id uuid not null constraint oauth_clients_application_fk references applications (id) on delete cascade,
  environment_id uuid not null constraint oauth_clients_environment_fk references environments (id) on delete cascade,
  client_id text not null,
  name text not null,
  client_type text not null,
  redirect_uris text array not null,
  post_logout_redirect_uris text array not null,
  token_endpoint_auth_method text not null,
  secret_hash bytea,
  require_pkce boolean not null,
  rotate_refresh_tokens boolean not null,
  jwks jsonb,
  jwks_uri text,
  logo_url text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint oauth_clients_type check ((client_type = 'public') = (token_endpoint_auth_method = 'none'))
);
create index oauth_clients_by_age on oauth_clients (environment_id, created_at, id);
create unique index oauth_clients_client_id on oauth_clients (client_id);

create table identities (
  id uuid primary key,
  account_id uuid not null constraint identities_account_fk references accounts (id) on delete cascade,
  email citext not null,
  email_verified_at timestamptz,
  first_name text,
  last_name text,
  avatar_url text,
  external_id text,
  metadata jsonb not null,
  password_hash text,
  password_changed_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index identities_external_id on identities (account_id, external_id);
create unique index identities_email on identities (account_id, email);

create table sessions (
  id uuid primary key,
  account_id uuid not null constraint sessions_account_fk references accounts (id) on delete cascade,
  environment_id uuid not null constraint sessions_environment_fk references environments (id) on delete cascade,
  identity_id uuid not null constraint sessions_identity_fk references identities (id) on delete cascade,
  browser_hash bytea not null,
  authenticated_at timestamptz not null,
  amr text array not null,
  acr text not null,
  ip_address text,
  user_agent text,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  revoked_at timestamptz
);
create index sessions_identity on sessions (identity_id, environment_id);
create unique index sessions_browser on sessions (browser_hash, environment_id) where revoked_at is null;

create table authorization_codes (
  code_hash bytea primary key,
  account_id uuid not null constraint authorization_codes_account_fk references accounts (id) on delete cascade,
  environment_id uuid not null constraint authorization_codes_environment_fk references environments (id) on delete cascade,
  oauth_client_id uuid not null constraint authorization_codes_client_fk references oauth_clients (id) on delete cascade,
  session_id uuid not null constraint authorization_codes_session_fk references sessions (id) on delete cascade,
  redirect_uri text not null,
  scope text array not null,
  nonce text,
  code_challenge text,
  authenticated_at timestamptz not null,
  amr text array not null,
  acr text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  grant_id uuid
);
create index authorization_codes_expiry on authorization_codes (expires_at);
create index authorization_codes_session on authorization_codes (session_id);
create index authorization_codes_client on authorization_codes (oauth_client_id);

create table client_assertions (
  client_id text not null,
  jti_hash bytea not null,
  expires_at timestamptz not null,
  primary key (client_id, jti_hash)
);

create table counters (
  environment_id uuid not null constraint counters_environment_fk references environments (id) on delete cascade,
  name text not null,
  account_id uuid not null constraint counters_account_fk references accounts (id) on delete cascade,
  value bigint not null,
  primary key (environment_id, name)
);

create table emails (
  id uuid primary key,
  account_id uuid,
  environment_id uuid,
  template text not null,
  locale text not null,
  subject_id uuid not null,
  cause text not null,
  status text not null,
  failure text,
  created_at timestamptz not null,
  ended_at timestamptz,
  constraint emails_status check (status in ('pending', 'sent', 'failed', 'cancelled'))
);
create unique index emails_cause on emails (cause);

create table environment_memberships (
  id uuid primary key,
  account_id uuid not null constraint environment_memberships_account_fk references accounts (id) on delete cascade,
  environment_id uuid not null constraint environment_memberships_environment_fk references environments (id) on delete cascade,
  identity_id uuid not null constraint environment_memberships_identity_fk references identities (id) on delete cascade,
  is_active boolean not null,
  created_at timestamptz not null
);
create index environment_memberships_identity on environment_memberships (identity_id);
create index environment_memberships_by_age on environment_memberships (environment_id, created_at, identity_id);
create unique index environment_memberships_one_per_identity on environment_memberships (environment_id, identity_id);

create table environment_settings (
  environment_id uuid primary key constraint environment_settings_environment_fk references environments (id) on delete cascade,
  account_id uuid not null constraint environment_settings_account_fk references accounts (id) on delete cascade,
  version integer not null,
  password_login_enabled boolean not null,
  password_min_length integer not null,
  branding jsonb not null,
  default_locale text not null,
  access_token_ttl_seconds integer not null,
  refresh_token_ttl_seconds integer not null,
  refresh_token_max_ttl_seconds integer not null,
  session_ttl_seconds integer not null,
  allowed_origins text array not null,
  updated_at timestamptz not null,
  constraint environment_settings_locale check (default_locale in ('en', 'de'))
);

create table events (
  id uuid primary key,
  transaction_id bigint not null,
  account_id uuid,
  application_id uuid,
  environment_id uuid,
  actor_type text not null,
  actor_id text,
  action text not null,
  resource_type text not null,
  resource_id text,
  metadata jsonb not null,
  outcome text not null,
  category text not null,
  severity text not null,
  correlation_id uuid not null,
  is_domain_event boolean not null,
  customer_visible boolean not null,
  identity_visible boolean not null,
  created_at timestamptz not null,
  constraint events_severity check (severity in ('info', 'notice', 'warning', 'critical')),
  constraint events_category check (category in ('auth', 'identity', 'access', 'structure', 'configuration', 'integration', 'security')),
  constraint events_outcome check (outcome in ('success', 'failure', 'denied'))
);
create index events_correlation on events (correlation_id);
create index events_account on events (account_id, created_at, id);
create index events_feed on events (environment_id, transaction_id, id);

create table grants (
  id uuid primary key,
  account_id uuid not null constraint grants_account_fk references accounts (id) on delete cascade,
  environment_id uuid not null constraint grants_environment_fk references environments (id) on delete cascade,
  oauth_client_id uuid not null constraint grants_client_fk references oauth_clients (id) on delete cascade,
  identity_id uuid not null constraint grants_identity_fk references identities (id) on delete cascade,
  session_id uuid not null constraint grants_session_fk references sessions (id) on delete cascade,
  scope text array not null,
  authenticated_at timestamptz not null,
  amr text array not null,
  acr text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  revoked_at timestamptz,
  revoked_reason text
);
create index grants_identity on grants (identity_id, environment_id);
create index grants_client on grants (oauth_client_id);
create index grants_session on grants (session_id);

create table idempotent_requests (
  credential text not null,
  key text not null,
  request_hash bytea not null,
  status_code integer,
  headers jsonb,
  body_sealed text,
  locked_until timestamptz not null,
  expires_at timestamptz not null,
  primary key (credential, key)
);
create index idempotent_requests_expiry on idempotent_requests (expires_at);

create table memberships (
  id uuid primary key,
  account_id uuid not null constraint memberships_account_fk references accounts (id) on delete cascade,
  user_id uuid not null constraint memberships_user_fk references users (id) on delete cascade,
  created_at timestamptz not null
);
create index memberships_user on memberships (user_id);
create unique index memberships_one_per_user on memberships (account_id, user_id);

create table membership_roles (
  membership_id uuid not null constraint membership_roles_membership_fk references memberships (id) on delete cascade,
  role_id uuid not null constraint membership_roles_role_fk references administrator_roles (id) on delete cascade,
  account_id uuid not null constraint membership_roles_account_fk references accounts (id) on delete cascade,
  primary key (membership_id, role_id)
);
create index membership_roles_role on membership_roles (role_id);

create table outbox (
  id uuid primary key,
  process text not null,
  input jsonb not null,
  created_at timestamptz not null,
  due_at timestamptz not null,
  attempts integer not null,
  last_error text
);
create index outbox_due on outbox (due_at, id);

create table pending_registrations (
  id uuid primary key,
  email citext,
  password_hash text,
  first_name text,
  last_name text,
  account_name text,
  application_name text,
  locale text not null,
  token_hash bytea not null,
  token_key_id text not null,
  status text not null,
  ended_reason text,
  user_id uuid,
  account_id uuid,
  correlation_id uuid not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  ended_at timestamptz,
  constraint pending_registrations_status check (status in ('pending', 'confirmed', 'expired', 'discarded', 'cancelled'))
);
create index pending_registrations_email on pending_registrations (email) where status = 'pending';
create unique index pending_registrations_token on pending_registrations (token_hash);

create table rate_limits (
  key varchar(255) primary key,
  points integer not null default 0,
  expire bigint
);

create table refresh_tokens (
  token_hash bytea primary key,
  kind text not null,
  family_id uuid not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  spent_at timestamptz,
  successor_hash bytea,
  successor_key_id text
);
create index refresh_tokens_family on refresh_tokens (family_id);

create table revoked_access_tokens (
  jti uuid primary key,
  expires_at timestamptz not null
);
create index revoked_access_tokens_expiry on revoked_access_tokens (expires_at);

create table signing_keys (
  kid text primary key,
  public_jwk jsonb not null,
  private_key_sealed text not null,
  created_at timestamptz not null,
  signs_from timestamptz not null,
  signs_until timestamptz not null,
  published_until timestamptz not null
);

create table subscriptions (
  id uuid primary key,
  account_id uuid not null constraint subscriptions_account_fk references accounts (id) on delete cascade,
  plan text not null,
  status text not null,
  created_at timestamptz not null
);
create unique index subscriptions_one_per_account on subscriptions (account_id);

create table user_application_states (
  user_id uuid not null constraint user_application_states_user_fk references users (id) on delete cascade,
  application_id uuid not null constraint user_application_states_application_fk references applications (id) on delete cascade,
  account_id uuid not null constraint user_application_states_account_fk references accounts (id) on delete cascade,
  environment_id uuid not null constraint user_application_states_environment_fk references environments (id) on delete cascade,
  updated_at timestamptz not null,
  primary key (user_id, application_id)
);
create index user_application_states_application on user_application_states (application_id);
create index user_application_states_environment on user_application_states (environment_id);

create table user_sessions (
  id uuid primary key,
  user_id uuid not null constraint user_sessions_user_fk references users (id) on delete cascade,
  account_id uuid constraint user_sessions_account_fk references accounts (id) on delete set null,
  application_id uuid constraint user_sessions_application_fk references applications (id) on delete set null,
  authenticated_at timestamptz not null,
  amr text array not null,
  ip_address text,
  user_agent text,
  created_at timestamptz not null,
  last_used_at timestamptz not null,
  expires_at timestamptz not null,
  revoked_at timestamptz
);
create index user_sessions_user on user_sessions (user_id);
create index user_sessions_account on user_sessions (account_id);
create index user_sessions_application on user_sessions (application_id);
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
