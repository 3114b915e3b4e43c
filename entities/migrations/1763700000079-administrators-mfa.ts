import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Platform admins' second factors, sign-ins that wait for one, and Accounts that require them (docs/decisions/0043).
 */
export class AdministratorsMfa1763700000079 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
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
  enrolled_at timestamptz not null,
  last_used_at timestamptz,
  constraint user_mfa_factors_type check (type in ('totp', 'webauthn')),
  constraint user_mfa_factors_complete check ((type = 'totp') = (secret is not null) and (type = 'webauthn') = (credential_id is not null and public_key is not null)),
  constraint user_mfa_factors_device_type check (device_type in ('single_device', 'multi_device'))
);
create index user_mfa_factors_user on user_mfa_factors (user_id);
create unique index user_mfa_factors_credential on user_mfa_factors (credential_id);

create table user_recovery_codes (
  id uuid primary key,
  user_id uuid not null constraint user_recovery_codes_user_fk references users (id) on delete cascade,
  generation integer not null,
  code_hash bytea not null,
  created_at timestamptz not null,
  used_at timestamptz
);
create unique index user_recovery_codes_code on user_recovery_codes (user_id, code_hash);

create table pending_user_sign_ins (
  id uuid primary key,
  user_id uuid not null constraint pending_user_sign_ins_user_fk references users (id) on delete cascade,
  token_hash bytea not null,
  method text not null,
  sso_connection_id uuid constraint pending_user_sign_ins_sso_connection_fk references sso_connections (id) on delete cascade,
  amr text[] not null,
  authenticated_at timestamptz not null,
  password_changed_at timestamptz,
  application_id uuid,
  webauthn_challenge text,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  completed_at timestamptz,
  constraint pending_user_sign_ins_method check (method in ('password', 'sso'))
);
create unique index pending_user_sign_ins_token on pending_user_sign_ins (token_hash);
create index pending_user_sign_ins_user on pending_user_sign_ins (user_id);
create index pending_user_sign_ins_expiry on pending_user_sign_ins (expires_at);
create index pending_user_sign_ins_sso_connection on pending_user_sign_ins (sso_connection_id) where sso_connection_id is not null;

alter table user_sessions add acr text not null default 'urn:gatehouse:aal1';
alter table accounts add require_mfa boolean not null default false;

alter table user_mfa_factors enable row level security;
create policy service on user_mfa_factors using ((select gatehouse_is_system()));
-- An Account sees which of its administrators have one, and changes none by itself.
create policy member on user_mfa_factors for select using (exists (
  select from memberships m where m.user_id = user_mfa_factors.user_id and m.account_id = (select gatehouse_account_id())));
alter table user_recovery_codes enable row level security;
create policy service on user_recovery_codes using ((select gatehouse_is_system()));
alter table pending_user_sign_ins enable row level security;
create policy service on pending_user_sign_ins using ((select gatehouse_is_system()));
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
