import { ofAccount, ofEnvironment } from './row-level-security.js';

/** How end users sign in: the settings of an Environment, second factors, and sessions. */
export const signIn = `
create table environment_settings (
  environment_id uuid primary key constraint environment_settings_environment_fk references environments (id) on delete cascade,
  account_id uuid not null constraint environment_settings_account_fk references accounts (id) on delete cascade,
  version integer not null,
  access_model text not null default 'hierarchy',
  password_login_enabled boolean not null,
  email_otp_login_enabled boolean not null,
  passkey_login_enabled boolean not null,
  login_require_captcha boolean not null,
  allow_self_signup boolean not null,
  self_signup_require_captcha boolean not null,
  daily_self_signup_cap integer not null,
  mfa_policy text not null,
  mfa_grace_period_days integer not null,
  mfa_allowed_factors text[] not null,
  mfa_trusted_device_days integer not null,
  totp_drift_steps integer not null default 1,
  password_min_length integer not null,
  branding jsonb not null,
  default_locale text not null,
  access_token_ttl_seconds integer not null,
  refresh_token_ttl_seconds integer not null,
  refresh_token_max_ttl_seconds integer not null,
  session_ttl_seconds integer not null,
  session_idle_ttl_seconds integer,
  require_pkce boolean not null default false,
  session_end_require_recent_sign_in boolean not null default false,
  sso_require_confirmation boolean not null default false,
  allowed_origins text[] not null,
  default_sso_connection_id uuid constraint environment_settings_default_sso_connection_fk references sso_connections (id) on delete set null,
  updated_at timestamptz not null,
  constraint environment_settings_access_model check (access_model in ('flat', 'organizations', 'hierarchy')),
  constraint environment_settings_locale check (default_locale in ('en', 'de')),
  constraint environment_settings_mfa_factors check (mfa_allowed_factors <@ array['totp', 'webauthn', 'recovery_code', 'email_otp']),
  constraint environment_settings_mfa_policy check (mfa_policy in ('off', 'optional', 'required')),
  constraint environment_settings_totp_drift check (totp_drift_steps in (0, 1))
);
create index environment_settings_default_sso_connection on environment_settings (default_sso_connection_id);
${ofEnvironment('environment_settings')}

create table mfa_factors (
  id uuid primary key,
  account_id uuid not null constraint mfa_factors_account_fk references accounts (id) on delete cascade,
  identity_id uuid not null constraint mfa_factors_identity_fk references identities (id) on delete cascade,
  type text not null,
  label text not null,
  secret text,
  last_used_step bigint,
  credential_id bytea,
  public_key bytea,
  sign_count bigint,
  transports text[],
  device_type text,
  is_backed_up boolean,
  is_discoverable boolean,
  enrolled_at timestamptz not null,
  last_used_at timestamptz,
  constraint mfa_factors_complete check ((type = 'totp') = (secret is not null)
    and (type = 'webauthn') = (credential_id is not null and public_key is not null)),
  constraint mfa_factors_device_type check (device_type in ('single_device', 'multi_device')),
  constraint mfa_factors_type check (type in ('totp', 'webauthn', 'email_otp'))
);
create unique index mfa_factors_credential on mfa_factors (account_id, credential_id);
create index mfa_factors_identity on mfa_factors (identity_id);
create unique index mfa_factors_one_email_otp on mfa_factors (identity_id) where type = 'email_otp';
${ofAccount('mfa_factors')}

create table recovery_codes (
  id uuid primary key,
  account_id uuid not null,
  identity_id uuid not null constraint recovery_codes_identity_fk references identities (id) on delete cascade,
  generation integer not null,
  code_hash bytea not null,
  hash_parameters text,
  created_at timestamptz not null,
  used_at timestamptz
);
create unique index recovery_codes_code on recovery_codes (identity_id, code_hash);
${ofAccount('recovery_codes')}

create table mfa_graces (
  id uuid primary key,
  account_id uuid not null constraint mfa_graces_account_fk references accounts (id) on delete cascade,
  environment_id uuid not null constraint mfa_graces_environment_fk references environments (id) on delete cascade,
  identity_id uuid not null constraint mfa_graces_identity_fk references identities (id) on delete cascade,
  status text not null,
  ended_reason text,
  round integer not null,
  started_at timestamptz not null,
  expires_at timestamptz not null,
  created_at timestamptz not null default now(),
  ended_at timestamptz,
  constraint mfa_graces_status check (status in ('running', 'enrolled', 'expired', 'reset', 'cancelled'))
);
create index mfa_graces_by_creation on mfa_graces (account_id, created_at, id);
create index mfa_graces_identity on mfa_graces (identity_id);
create unique index mfa_graces_one_per_identity on mfa_graces (environment_id, identity_id);
create index mfa_graces_running on mfa_graces (id) where status = 'running';
${ofEnvironment('mfa_graces')}

create table emailed_codes (
  id uuid primary key,
  account_id uuid not null,
  environment_id uuid not null,
  identity_id uuid constraint emailed_codes_identity_fk references identities (id) on delete cascade,
  email citext,
  purpose text not null,
  flow_hash bytea not null,
  key_id text not null,
  attempts integer not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  consumed_at timestamptz,
  constraint emailed_codes_purpose check (purpose in ('login', 'mfa', 'mfa_enrollment'))
);
create index emailed_codes_environment on emailed_codes (environment_id);
create index emailed_codes_expiry on emailed_codes (expires_at);
create index emailed_codes_flow on emailed_codes (flow_hash, purpose);
create index emailed_codes_identity on emailed_codes (identity_id);
${ofEnvironment('emailed_codes')}

create table pending_sign_ins (
  id uuid primary key,
  account_id uuid not null,
  environment_id uuid not null,
  oauth_client_id uuid not null,
  identity_id uuid not null constraint pending_sign_ins_identity_fk references identities (id) on delete cascade,
  token_hash bytea not null,
  channel text not null,
  purpose text not null,
  method text not null,
  sso_connection_id uuid constraint pending_sign_ins_sso_connection_fk references sso_connections (id) on delete cascade,
  sso_session_id uuid,
  amr text[] not null,
  authenticated_at timestamptz not null,
  auth_time timestamptz,
  acr text not null,
  second_factor_at timestamptz,
  own_factor_at timestamptz,
  has_proved_factor boolean not null,
  requires_aal2 boolean not null,
  parameters jsonb not null,
  webauthn_challenge text,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  completed_at timestamptz,
  constraint pending_sign_ins_channel check (channel in ('hosted', 'api')),
  constraint pending_sign_ins_method check (method in ('password', 'email_otp', 'passkey', 'sso', 'session')),
  constraint pending_sign_ins_purpose check (purpose in ('challenge', 'enrollment'))
);
create index pending_sign_ins_client on pending_sign_ins (oauth_client_id);
create index pending_sign_ins_expiry on pending_sign_ins (expires_at);
create index pending_sign_ins_identity on pending_sign_ins (identity_id);
create index pending_sign_ins_sso_connection on pending_sign_ins (sso_connection_id)
  where sso_connection_id is not null;
create unique index pending_sign_ins_token on pending_sign_ins (token_hash);
${ofEnvironment('pending_sign_ins')}

create table trusted_devices (
  id uuid primary key,
  account_id uuid not null,
  environment_id uuid not null,
  identity_id uuid not null constraint trusted_devices_identity_fk references identities (id) on delete cascade,
  device_hash bytea not null,
  user_agent text,
  created_at timestamptz not null,
  last_used_at timestamptz not null,
  expires_at timestamptz not null
);
create unique index trusted_devices_device on trusted_devices (device_hash, environment_id, identity_id);
create index trusted_devices_expiry on trusted_devices (expires_at);
create index trusted_devices_identity on trusted_devices (identity_id, environment_id);
${ofEnvironment('trusted_devices')}

create table sessions (
  id uuid primary key,
  account_id uuid not null,
  environment_id uuid not null,
  identity_id uuid not null constraint sessions_identity_fk references identities (id) on delete cascade,
  browser_hash bytea not null,
  authenticated_at timestamptz not null,
  auth_time timestamptz,
  amr text[] not null,
  acr text not null,
  second_factor_at timestamptz,
  own_factor_at timestamptz,
  sso_connection_id uuid constraint sessions_sso_connection_fk references sso_connections (id) on delete set null,
  sso_session_id uuid,
  former_sso_connection_ids uuid[],
  former_sso_session_ids uuid[],
  ip_address text,
  user_agent text,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  not_on_or_after timestamptz,
  used_at timestamptz,
  revoked_at timestamptz
);
create unique index sessions_browser on sessions (browser_hash, environment_id) where revoked_at is null;
create index sessions_expiry on sessions (expires_at, id);
create index sessions_former_sso_connections on sessions (environment_id) where former_sso_connection_ids is not null;
create index sessions_identity on sessions (identity_id, environment_id);
create index sessions_sso_connection on sessions (sso_connection_id) where sso_connection_id is not null;
${ofEnvironment('sessions')}
`;
