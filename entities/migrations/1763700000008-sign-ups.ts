import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Self sign-up: the count per day, and the links that are mailed to end users. */
export class SignUps1763700000008 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
create table daily_sign_ups (
  environment_id uuid not null constraint daily_sign_ups_environment_fk references environments (id) on delete cascade,
  day date not null,
  account_id uuid not null constraint daily_sign_ups_account_fk references accounts (id) on delete cascade,
  count integer not null,
  primary key (environment_id, day)
);
create index daily_sign_ups_account on daily_sign_ups (account_id);
create index daily_sign_ups_day on daily_sign_ups (day);
alter table daily_sign_ups enable row level security;
create policy tenant on daily_sign_ups using ((select gatehouse_is_system()) or (account_id = (select gatehouse_account_id())
  and ((select gatehouse_environment_id()) is null or environment_id = (select gatehouse_environment_id()))));

create table identity_links (
  id uuid primary key,
  account_id uuid not null constraint identity_links_account_fk references accounts (id) on delete cascade,
  environment_id uuid not null constraint identity_links_environment_fk references environments (id) on delete cascade,
  oauth_client_id uuid not null constraint identity_links_client_fk references oauth_clients (id) on delete cascade,
  identity_id uuid constraint identity_links_identity_fk references identities (id) on delete cascade,
  purpose text not null,
  locale text not null,
  token_hash bytea not null,
  token_key_id text not null,
  parameters jsonb not null,
  browser_hash bytea,
  password_hash text,
  first_name text,
  last_name text,
  joins boolean not null,
  attempts integer not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz,
  constraint identity_links_purpose check (purpose in ('verify_email', 'reset_password', 'known_address'))
);
create unique index identity_links_token on identity_links (token_hash);
create index identity_links_identity on identity_links (identity_id, purpose, created_at);
create index identity_links_account on identity_links (account_id);
create index identity_links_environment on identity_links (environment_id);
create index identity_links_client on identity_links (oauth_client_id);
create index identity_links_expiry on identity_links (expires_at);
alter table identity_links enable row level security;
create policy tenant on identity_links using ((select gatehouse_is_system()) or (account_id = (select gatehouse_account_id())
  and ((select gatehouse_environment_id()) is null or environment_id = (select gatehouse_environment_id()))));
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
