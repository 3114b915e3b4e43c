import { ofEnvironment, ofTheService } from './row-level-security.js';

/**
 * Clients, and what they were given. Rows that a client has caused name it without a foreign key: its deletion need not
 * wait for millions of rows, which are deleted in batches (docs/decisions/0042).
 */
export const oauth = `
create table oauth_clients (
  id uuid primary key,
  account_id uuid not null constraint oauth_clients_account_fk references accounts (id) on delete cascade,
  application_id uuid not null constraint oauth_clients_application_fk references applications (id) on delete cascade,
  environment_id uuid not null constraint oauth_clients_environment_fk references environments (id) on delete cascade,
  client_id text not null,
  name text not null,
  client_type text not null,
  redirect_uris text[] not null,
  post_logout_redirect_uris text[] not null,
  token_endpoint_auth_method text not null,
  secret_hash bytea,
  require_pkce boolean not null,
  rotate_refresh_tokens boolean not null,
  scopes text[] not null default '{openid,profile,email,org,permissions}',
  consent_required boolean not null default false,
  jwks jsonb,
  jwks_uri text,
  logo_url text,
  initiate_login_uri text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint oauth_clients_type check ((client_type = 'public') = (token_endpoint_auth_method = 'none'))
);
create index oauth_clients_by_age on oauth_clients (environment_id, created_at, id);
create unique index oauth_clients_client_id on oauth_clients (client_id);
${ofEnvironment('oauth_clients')}

create table removed_clients (
  id uuid primary key,
  account_id uuid not null constraint removed_clients_account_fk references accounts (id) on delete cascade,
  environment_id uuid not null constraint removed_clients_environment_fk references environments (id) on delete cascade,
  removed_at timestamptz not null
);
create index removed_clients_account on removed_clients (account_id);
create index removed_clients_environment on removed_clients (environment_id);
${ofEnvironment('removed_clients')}

create table consents (
  identity_id uuid not null constraint consents_identity_fk references identities (id) on delete cascade,
  oauth_client_id uuid not null,
  account_id uuid not null,
  environment_id uuid not null constraint consents_environment_fk references environments (id) on delete cascade,
  scope text[] not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (identity_id, oauth_client_id)
);
create index consents_client on consents (oauth_client_id);
create index consents_environment on consents (environment_id);
${ofEnvironment('consents')}

create table authorization_codes (
  code_hash bytea primary key,
  account_id uuid not null,
  environment_id uuid not null,
  oauth_client_id uuid not null,
  session_id uuid not null constraint authorization_codes_session_fk references sessions (id) on delete cascade,
  organization_id uuid,
  redirect_uri text not null,
  scope text[] not null,
  nonce text,
  code_challenge text,
  authenticated_at timestamptz not null,
  auth_time timestamptz,
  amr text[] not null,
  acr text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  grant_id uuid
);
create index authorization_codes_client on authorization_codes (oauth_client_id);
-- A redeemed code is deleted with its grant, which is found by the session; only an unredeemed one is found by its expiry.
create index authorization_codes_expiry on authorization_codes (expires_at) where grant_id is null;
create index authorization_codes_session on authorization_codes (session_id);
${ofEnvironment('authorization_codes')}

create table grants (
  id uuid primary key,
  account_id uuid not null,
  environment_id uuid not null,
  oauth_client_id uuid not null,
  identity_id uuid not null constraint grants_identity_fk references identities (id) on delete cascade,
  session_id uuid not null constraint grants_session_fk references sessions (id) on delete cascade,
  organization_id uuid,
  scope text[] not null,
  authenticated_at timestamptz not null,
  auth_time timestamptz,
  amr text[] not null,
  acr text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  revoked_at timestamptz,
  revoked_reason text
);
create index grants_client on grants (oauth_client_id);
create index grants_expiry on grants (expires_at);
create index grants_identity on grants (identity_id, environment_id);
create index grants_session on grants (session_id);
${ofEnvironment('grants')}

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
create index refresh_tokens_expiry on refresh_tokens (expires_at);
create index refresh_tokens_family on refresh_tokens (family_id);
${ofTheService('refresh_tokens')}

create table spent_tokens (
  token_hash bytea primary key,
  expires_at timestamptz not null
);
create index spent_tokens_expiry on spent_tokens (expires_at);
${ofTheService('spent_tokens')}

create table client_assertions (
  client_id text not null,
  jti_hash bytea not null,
  expires_at timestamptz not null,
  primary key (client_id, jti_hash)
);
create index client_assertions_expiry on client_assertions (expires_at);
${ofTheService('client_assertions')}

create table revoked_access_tokens (
  jti uuid primary key,
  expires_at timestamptz not null
);
create index revoked_access_tokens_expiry on revoked_access_tokens (expires_at);
${ofTheService('revoked_access_tokens')}

create table signing_keys (
  kid text primary key,
  public_jwk jsonb not null,
  private_key_sealed text not null,
  created_at timestamptz not null,
  signs_from timestamptz not null,
  signs_until timestamptz not null,
  published_until timestamptz not null
);
${ofTheService('signing_keys')}
`;
