import type { MigrationInterface, QueryRunner } from 'typeorm';

const children = ['grants', 'authorization_codes', 'consents', 'pending_sign_ins', 'identity_links'];

/**
 * Rows that a client has caused name it without a foreign key: its deletion need not wait for millions of rows, which
 * are deleted in batches (docs/decisions/0042).
 */
export class RemovedClients1763700000128 implements MigrationInterface {
  transaction = false; // locks on so many tables at once would block everybody

  async up(db: QueryRunner): Promise<void> {
    await db.query(`
create table if not exists removed_clients (
  id uuid primary key,
  account_id uuid not null constraint removed_clients_account_fk references accounts (id) on delete cascade,
  environment_id uuid not null constraint removed_clients_environment_fk references environments (id) on delete cascade,
  removed_at timestamptz not null
);
create index if not exists removed_clients_account on removed_clients (account_id);
create index if not exists removed_clients_environment on removed_clients (environment_id);
alter table removed_clients enable row level security;
drop policy if exists tenant on removed_clients;
create policy tenant on removed_clients using ((select gatehouse_is_system())
  or (account_id = (select gatehouse_account_id())
    and ((select gatehouse_environment_id()) is null or environment_id = (select gatehouse_environment_id()))));
`);
    for (const table of children) {
      await db.query(`alter table ${table} drop constraint if exists ${table}_client_fk`);
    }
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
