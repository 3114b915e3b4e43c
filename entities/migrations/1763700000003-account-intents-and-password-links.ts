import type { MigrationInterface, QueryRunner } from 'typeorm';

export class AccountIntentsAndPasswordLinks1763700000003 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    // The defaults are for existing rows, and are dropped again at once.
    await db.query(`
alter table account_intents
  add column account_slug text,
  add column locale text not null default 'en',
  add column ended_reason text,
  add column claim_id uuid,
  add column claimed_at timestamptz,
  add column account_id uuid,
  add column correlation_id uuid not null default gen_random_uuid(),
  add column ended_at timestamptz;
alter table account_intents alter column locale drop default, alter column correlation_id drop default;

create table password_links (
  id uuid primary key,
  user_id uuid constraint password_links_user_fk references users (id) on delete cascade,
  purpose text not null,
  locale text not null,
  token_hash bytea not null,
  token_key_id text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz,
  constraint password_links_purpose check (purpose in ('reset', 'set'))
);
create unique index password_links_token on password_links (token_hash);
create index password_links_user on password_links (user_id);
create index password_links_expiry on password_links (expires_at);
alter table password_links enable row level security;
create policy service on password_links using ((select gatehouse_is_system()));
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
