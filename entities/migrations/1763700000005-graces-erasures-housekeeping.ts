import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * MFA grace periods, erasures of Identities, and the indexes by which housekeeping and the reconciler find their rows.
 */
export class GracesErasuresHousekeeping1763700000005 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
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
  ended_at timestamptz,
  constraint mfa_graces_status check (status in ('running', 'enrolled', 'expired', 'reset', 'cancelled'))
);
create unique index mfa_graces_one_per_identity on mfa_graces (environment_id, identity_id);
create index mfa_graces_identity on mfa_graces (identity_id);
create index mfa_graces_account on mfa_graces (account_id);
create index mfa_graces_running on mfa_graces (id) where status = 'running';
alter table mfa_graces enable row level security;
create policy tenant on mfa_graces using ((select gatehouse_is_system()) or (account_id = (select gatehouse_account_id())
  and ((select gatehouse_environment_id()) is null or environment_id = (select gatehouse_environment_id()))));

create table erasures (
  id uuid primary key,
  account_id uuid not null constraint erasures_account_fk references accounts (id) on delete cascade,
  identity_id uuid not null,
  status text not null,
  ended_reason text,
  rest jsonb,
  actor_type text not null,
  actor_id text,
  correlation_id uuid not null,
  created_at timestamptz not null,
  ended_at timestamptz,
  constraint erasures_status check (status in ('running', 'completed', 'cancelled'))
);
create unique index erasures_one_per_identity on erasures (identity_id);
create index erasures_account on erasures (account_id);
create index erasures_running on erasures (id) where status = 'running';
alter table erasures enable row level security;
create policy tenant on erasures using ((select gatehouse_is_system()) or account_id = (select gatehouse_account_id()));
`);
    // A redeemed code is deleted with its grant, found by the session; only an unredeemed one is found by its expiry.
    await db.query(`
drop index authorization_codes_expiry;
create index authorization_codes_expiry on authorization_codes (expires_at) where grant_id is null;
create index client_assertions_expiry on client_assertions (expires_at);
create index grants_expiry on grants (expires_at);
create index refresh_tokens_expiry on refresh_tokens (expires_at);
create index sessions_expiry on sessions (expires_at, id);
create index user_sessions_expiry on user_sessions (expires_at);
create index rate_limits_expiry on rate_limits (expire);
create index pending_registrations_ended on pending_registrations (ended_at) where ended_at is not null;
create index account_intents_ended on account_intents (ended_at) where ended_at is not null;
create index emails_account on emails (account_id, created_at, id) where account_id is not null;
create index emails_ended on emails (ended_at) where ended_at is not null;
`);
    await db.query(`
create index pending_registrations_open on pending_registrations (id) where status = 'pending';
create index account_intents_open on account_intents (id) where status in ('parked', 'claimed');
create index administrator_invites_open on administrator_invites (id) where status = 'pending';
create index emails_open on emails (id) where status = 'pending';
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
