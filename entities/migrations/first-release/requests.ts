import { ofEnvironment, ofTheService } from './row-level-security.js';

/** API keys, limits on requests, and answers that are kept for retries. */
export const requests = `
create table api_keys (
  id uuid primary key,
  account_id uuid not null constraint api_keys_account_fk references accounts (id) on delete cascade,
  application_id uuid not null constraint api_keys_application_fk references applications (id) on delete cascade,
  environment_id uuid not null constraint api_keys_environment_fk references environments (id) on delete cascade,
  client_id text not null,
  name text not null,
  description text,
  secret_hash bytea not null,
  previous_secret_hash bytea,
  previous_secret_expires_at timestamptz,
  key_preview text not null,
  access_mode text not null,
  scopes text[] not null,
  is_active boolean not null,
  last_used_at timestamptz,
  expires_at timestamptz,
  created_at timestamptz not null,
  constraint api_keys_access_mode check (access_mode in ('full', 'scoped')),
  constraint api_keys_previous_secret check ((previous_secret_hash is null) = (previous_secret_expires_at is null))
);
create index api_keys_by_age on api_keys (environment_id, created_at, id);
create unique index api_keys_client_id on api_keys (client_id);
${ofEnvironment('api_keys')}

create table rate_limits (
  key varchar(255) primary key,
  points integer not null default 0,
  expire bigint
);
create index rate_limits_expiry on rate_limits (expire);
${ofTheService('rate_limits')}

create table idempotent_requests (
  credential text not null,
  key text not null,
  request_hash bytea not null,
  canonical_hash bytea,
  request_key_id text,
  status_code integer,
  headers jsonb,
  body_sealed text,
  locked_until timestamptz not null,
  expires_at timestamptz not null,
  primary key (credential, key)
);
create index idempotent_requests_expiry on idempotent_requests (expires_at);
${ofTheService('idempotent_requests')}

create table used_master_keys (
  id text primary key,
  check_value bytea not null,
  used_since timestamptz not null
);
${ofTheService('used_master_keys')}
`;
