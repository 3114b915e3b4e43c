import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Second factors, emailed codes, pending sign-ins, trusted devices, and the settings for them. */
export class HostedLogin1763700000006 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
alter table environment_settings
  add email_otp_login_enabled boolean not null default false,
  add passkey_login_enabled boolean not null default true,
  add login_require_captcha boolean not null default false,
  add allow_self_signup boolean not null default false,
  add self_signup_require_captcha boolean not null default false,
  add daily_self_signup_cap integer not null default 500,
  add mfa_policy text not null default 'optional',
  add mfa_grace_period_days integer not null default 7,
  add mfa_allowed_factors text[] not null default '{totp,webauthn,recovery_code,email_otp}',
  add mfa_trusted_device_days integer not null default 30,
  add constraint environment_settings_mfa_policy check (mfa_policy in ('off', 'optional', 'required')),
  add constraint environment_settings_mfa_factors
    check (mfa_allowed_factors <@ array['totp', 'webauthn', 'recovery_code', 'email_otp']);
-- What the service writes it states; the defaults were for the rows that were there.
alter table environment_settings
  alter email_otp_login_enabled drop default, alter passkey_login_enabled drop default,
  alter login_require_captcha drop default, alter allow_self_signup drop default,
  alter self_signup_require_captcha drop default, alter daily_self_signup_cap drop default, alter mfa_policy drop default,
  alter mfa_grace_period_days drop default, alter mfa_allowed_factors drop default,
  alter mfa_trusted_device_days drop default;

alter table identities add recovery_codes_generation integer not null default 0, add mfa_admin_reset_at timestamptz;
alter table environment_memberships add locked_until timestamptz;
alter table sessions add second_factor_at timestamptz;
`);
    await db.query(`
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
  constraint mfa_factors_type check (type in ('totp', 'webauthn', 'email_otp')),
  constraint mfa_factors_complete check (
    (type = 'totp') = (secret is not null) and (type = 'webauthn') = (credential_id is not null and public_key is not null)),
  constraint mfa_factors_device_type check (device_type in ('single_device', 'multi_device'))
);
create index mfa_factors_identity on mfa_factors (identity_id);
create unique index mfa_factors_credential on mfa_factors (account_id, credential_id);
create unique index mfa_factors_one_email_otp on mfa_factors (identity_id) where type = 'email_otp';
alter table mfa_factors enable row level security;
create policy tenant on mfa_factors using ((select gatehouse_is_system()) or account_id = (select gatehouse_account_id()));

create table recovery_codes (
  id uuid primary key,
  account_id uuid not null constraint recovery_codes_account_fk references accounts (id) on delete cascade,
  identity_id uuid not null constraint recovery_codes_identity_fk references identities (id) on delete cascade,
  generation integer not null,
  code_hash bytea not null,
  created_at timestamptz not null,
  used_at timestamptz
);
create unique index recovery_codes_code on recovery_codes (identity_id, code_hash);
create index recovery_codes_account on recovery_codes (account_id);
alter table recovery_codes enable row level security;
create policy tenant on recovery_codes using ((select gatehouse_is_system()) or account_id = (select gatehouse_account_id()));

create table trusted_devices (
  id uuid primary key,
  account_id uuid not null constraint trusted_devices_account_fk references accounts (id) on delete cascade,
  environment_id uuid not null constraint trusted_devices_environment_fk references environments (id) on delete cascade,
  identity_id uuid not null constraint trusted_devices_identity_fk references identities (id) on delete cascade,
  device_hash bytea not null,
  user_agent text,
  created_at timestamptz not null,
  last_used_at timestamptz not null,
  expires_at timestamptz not null
);
create unique index trusted_devices_device on trusted_devices (device_hash, environment_id, identity_id);
create index trusted_devices_identity on trusted_devices (identity_id, environment_id);
create index trusted_devices_account on trusted_devices (account_id);
create index trusted_devices_expiry on trusted_devices (expires_at);
alter table trusted_devices enable row level security;
create policy tenant on trusted_devices using ((select gatehouse_is_system()) or (account_id = (select gatehouse_account_id())
  and ((select gatehouse_environment_id()) is null or environment_id = (select gatehouse_environment_id()))));
`);
    await db.query(`
create table pending_sign_ins (
  id uuid primary key,
  account_id uuid not null constraint pending_sign_ins_account_fk references accounts (id) on delete cascade,
  environment_id uuid not null constraint pending_sign_ins_environment_fk references environments (id) on delete cascade,
  oauth_client_id uuid not null constraint pending_sign_ins_client_fk references oauth_clients (id) on delete cascade,
  identity_id uuid not null constraint pending_sign_ins_identity_fk references identities (id) on delete cascade,
  token_hash bytea not null,
  channel text not null,
  purpose text not null,
  method text not null,
  amr text[] not null,
  authenticated_at timestamptz not null,
  requires_aal2 boolean not null,
  parameters jsonb not null,
  webauthn_challenge text,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  completed_at timestamptz,
  constraint pending_sign_ins_channel check (channel in ('hosted', 'api')),
  constraint pending_sign_ins_purpose check (purpose in ('challenge', 'enrollment')),
  constraint pending_sign_ins_method check (method in ('password', 'email_otp', 'passkey', 'session'))
);
create unique index pending_sign_ins_token on pending_sign_ins (token_hash);
create index pending_sign_ins_identity on pending_sign_ins (identity_id);
create index pending_sign_ins_account on pending_sign_ins (account_id);
create index pending_sign_ins_environment on pending_sign_ins (environment_id);
create index pending_sign_ins_client on pending_sign_ins (oauth_client_id);
create index pending_sign_ins_expiry on pending_sign_ins (expires_at);
alter table pending_sign_ins enable row level security;
create policy tenant on pending_sign_ins using ((select gatehouse_is_system()) or (account_id = (select gatehouse_account_id())
  and ((select gatehouse_environment_id()) is null or environment_id = (select gatehouse_environment_id()))));

create table emailed_codes (
  id uuid primary key,
  account_id uuid not null constraint emailed_codes_account_fk references accounts (id) on delete cascade,
  environment_id uuid not null constraint emailed_codes_environment_fk references environments (id) on delete cascade,
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
create index emailed_codes_identity on emailed_codes (identity_id);
create index emailed_codes_flow on emailed_codes (flow_hash, purpose);
create index emailed_codes_account on emailed_codes (account_id);
create index emailed_codes_environment on emailed_codes (environment_id);
create index emailed_codes_expiry on emailed_codes (expires_at);
alter table emailed_codes enable row level security;
create policy tenant on emailed_codes using ((select gatehouse_is_system()) or (account_id = (select gatehouse_account_id())
  and ((select gatehouse_environment_id()) is null or environment_id = (select gatehouse_environment_id()))));

create table spent_tokens (
  token_hash bytea primary key,
  expires_at timestamptz not null
);
create index spent_tokens_expiry on spent_tokens (expires_at);
alter table spent_tokens enable row level security;
create policy service on spent_tokens using ((select gatehouse_is_system()));
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
