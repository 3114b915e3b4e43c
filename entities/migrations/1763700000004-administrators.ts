import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Custom administrator roles, roles that apply only in parts of an Account, and invites to an Account. */
export class Administrators1763700000004 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    // The default lets the previous release go on inserting while both run.
    await db.query(`
alter table administrator_roles
  add column description text,
  add column updated_at timestamptz not null default now();
update administrator_roles set updated_at = created_at;

alter table membership_roles add column limits jsonb;

create table administrator_invites (
  id uuid primary key,
  account_id uuid not null constraint administrator_invites_account_fk references accounts (id) on delete cascade,
  email citext not null,
  first_name text not null,
  last_name text not null,
  role_id uuid constraint administrator_invites_role_fk references administrator_roles (id) on delete set null,
  limits jsonb,
  locale text not null,
  token_hash bytea not null,
  token_key_id text not null,
  link_number integer not null,
  status text not null,
  ended_reason text,
  invited_by uuid constraint administrator_invites_invited_by_fk references users (id) on delete set null,
  membership_id uuid,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  ended_at timestamptz,
  constraint administrator_invites_status check (status in ('pending', 'accepted', 'expired', 'revoked'))
);
create unique index administrator_invites_token on administrator_invites (token_hash);
create unique index administrator_invites_one_pending_per_address on administrator_invites (account_id, email) where status = 'pending';
create index administrator_invites_by_age on administrator_invites (account_id, created_at, id);
create index administrator_invites_role on administrator_invites (role_id);

alter table administrator_invites enable row level security;
create policy tenant on administrator_invites
  using ((select gatehouse_is_system()) or account_id = (select gatehouse_account_id()));
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
