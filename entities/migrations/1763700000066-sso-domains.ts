import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Claims of domains by Accounts and by organizations; two unique indexes decide who holds one (docs/decisions/0034).
 */
export class SsoDomains1763700000066 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
create table sso_domains (
  id uuid primary key,
  account_id uuid not null constraint sso_domains_account_fk references accounts (id) on delete cascade,
  environment_id uuid constraint sso_domains_environment_fk references environments (id) on delete cascade,
  organization_id uuid constraint sso_domains_organization_fk references organizations (id) on delete cascade,
  domain text not null,
  token text not null,
  status text not null,
  failure_reason text,
  claimed_by_type text not null,
  claimed_by uuid not null,
  created_at timestamptz not null,
  started_at timestamptz not null,
  fails_at timestamptz,
  next_check_at timestamptz,
  last_checked_at timestamptz,
  last_found_at timestamptz,
  absent_since timestamptz,
  verified_at timestamptz,
  ended_at timestamptz,
  constraint sso_domains_status check (status in ('pending', 'verified', 'lapsed', 'failed')),
  constraint sso_domains_place check ((environment_id is null) = (organization_id is null))
);
create unique index sso_domains_of_account on sso_domains (account_id, domain) where organization_id is null;
create unique index sso_domains_of_organization on sso_domains (organization_id, domain);
create unique index sso_domains_held_by_account on sso_domains (domain) where status = 'verified' and organization_id is null;
create unique index sso_domains_held_by_organization on sso_domains (environment_id, domain) where status = 'verified';
create index sso_domains_account on sso_domains (account_id, created_at, id);
create index sso_domains_by_age on sso_domains (organization_id, created_at, id);
create index sso_domains_environment on sso_domains (environment_id);
create index sso_domains_open on sso_domains (id) where status <> 'failed';

alter table sso_domains enable row level security;
create policy tenant on sso_domains using ((select gatehouse_is_system())
  or (account_id = (select gatehouse_account_id())
    and ((select gatehouse_environment_id()) is null or environment_id = (select gatehouse_environment_id()))));
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
