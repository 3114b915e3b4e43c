import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Invites of end users to an Environment, an Account's directory, or an organization. */
export class IdentityInvites1763700000042 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
create table identity_invites (
  id uuid primary key,
  account_id uuid not null constraint identity_invites_account_fk references accounts (id) on delete cascade,
  environment_id uuid not null constraint identity_invites_environment_fk references environments (id) on delete cascade,
  intent text not null,
  email citext not null,
  first_name text,
  last_name text,
  role_ids uuid[] not null,
  node_id uuid,
  organization_id uuid constraint identity_invites_organization_fk references organizations (id) on delete set null,
  locale text not null,
  token_hash bytea not null,
  token_key_id text not null,
  link_number integer not null,
  status text not null,
  ended_reason text,
  invited_by_type text not null,
  invited_by uuid not null,
  identity_id uuid constraint identity_invites_identity_fk references identities (id) on delete cascade,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  ended_at timestamptz,
  constraint identity_invites_status check (status in ('pending', 'accepted', 'expired', 'revoked')),
  constraint identity_invites_intent check (intent in ('activate', 'directory', 'organization'))
);
create unique index identity_invites_token on identity_invites (token_hash);
create unique index identity_invites_one_pending_per_address on identity_invites (environment_id, email)
  where status = 'pending' and intent <> 'organization';
create unique index identity_invites_one_pending_per_organization on identity_invites (organization_id, email)
  where status = 'pending';
create index identity_invites_by_age on identity_invites (environment_id, created_at, id);
create index identity_invites_account on identity_invites (account_id, created_at, id);
create index identity_invites_organization on identity_invites (organization_id, created_at, id);
create index identity_invites_identity on identity_invites (identity_id);
create index identity_invites_open on identity_invites (id) where status = 'pending';
create index identity_invites_ended on identity_invites (ended_at) where ended_at is not null;

alter table identity_invites enable row level security;
create policy tenant on identity_invites using ((select gatehouse_is_system())
  or (account_id = (select gatehouse_account_id())
    and ((select gatehouse_environment_id()) is null or environment_id = (select gatehouse_environment_id()))));
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
