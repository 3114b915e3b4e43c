import { ofTheService } from './row-level-security.js';

/** How administrators sign in. */
export const administratorSignIn = `
create table user_mfa_factors (
  id uuid primary key,
  user_id uuid not null constraint user_mfa_factors_user_fk references users (id) on delete cascade,
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
  signs_in boolean not null default false,
  enrolled_at timestamptz not null,
  last_used_at timestamptz,
  constraint user_mfa_factors_complete check ((type = 'totp') = (secret is not null)
    and (type = 'webauthn') = (credential_id is not null and public_key is not null)),
  constraint user_mfa_factors_device_type check (device_type in ('single_device', 'multi_device')),
  constraint user_mfa_factors_type check (type in ('totp', 'webauthn'))
);
create unique index user_mfa_factors_credential on user_mfa_factors (credential_id);
create index user_mfa_factors_user on user_mfa_factors (user_id);
${ofTheService('user_mfa_factors')}
-- An Account sees which of its administrators have one, and changes none by itself.
create policy member on user_mfa_factors for select using (exists (
  select from memberships m where m.user_id = user_mfa_factors.user_id and m.account_id = (select gatehouse_account_id())));

create table user_recovery_codes (
  id uuid primary key,
  user_id uuid not null constraint user_recovery_codes_user_fk references users (id) on delete cascade,
  generation integer not null,
  code_hash bytea not null,
  hash_parameters text,
  created_at timestamptz not null,
  used_at timestamptz
);
create unique index user_recovery_codes_code on user_recovery_codes (user_id, code_hash);
${ofTheService('user_recovery_codes')}

create table pending_user_sign_ins (
  id uuid primary key,
  user_id uuid not null constraint pending_user_sign_ins_user_fk references users (id) on delete cascade,
  token_hash bytea not null,
  method text not null,
  sso_connection_id uuid constraint pending_user_sign_ins_sso_connection_fk references sso_connections (id) on delete cascade,
  sso_session_id uuid,
  amr text[] not null,
  authenticated_at timestamptz not null,
  auth_time timestamptz,
  password_changed_at timestamptz,
  application_id uuid,
  webauthn_challenge text,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  completed_at timestamptz,
  constraint pending_user_sign_ins_method check (method in ('password', 'sso'))
);
create index pending_user_sign_ins_expiry on pending_user_sign_ins (expires_at);
create index pending_user_sign_ins_sso_connection on pending_user_sign_ins (sso_connection_id)
  where sso_connection_id is not null;
create unique index pending_user_sign_ins_token on pending_user_sign_ins (token_hash);
create index pending_user_sign_ins_user on pending_user_sign_ins (user_id);
${ofTheService('pending_user_sign_ins')}

create table user_sessions (
  id uuid primary key,
  user_id uuid not null constraint user_sessions_user_fk references users (id) on delete cascade,
  account_id uuid constraint user_sessions_account_fk references accounts (id) on delete set null,
  application_id uuid constraint user_sessions_application_fk references applications (id) on delete set null,
  authenticated_at timestamptz not null,
  auth_time timestamptz,
  amr text[] not null,
  acr text not null default 'urn:gatehouse:aal1',
  sso_connection_id uuid constraint user_sessions_sso_connection_fk references sso_connections (id) on delete set null,
  sso_session_id uuid,
  ip_address text,
  user_agent text,
  created_at timestamptz not null,
  last_used_at timestamptz not null,
  expires_at timestamptz not null,
  revoked_at timestamptz
);
create index user_sessions_account on user_sessions (account_id);
create index user_sessions_application on user_sessions (application_id);
create index user_sessions_expiry on user_sessions (expires_at);
create index user_sessions_sso_connection on user_sessions (sso_connection_id) where sso_connection_id is not null;
create index user_sessions_user on user_sessions (user_id);
${ofTheService('user_sessions')}
`;
