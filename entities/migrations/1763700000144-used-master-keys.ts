import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Which master keys have encrypted data here, so that another key of the same id is noticed before its use
 * (docs/decisions/0096).
 */
export class UsedMasterKeys1763700000144 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
create table used_master_keys (
  id text primary key,
  check_value bytea not null,
  used_since timestamptz not null
);
alter table used_master_keys enable row level security;
create policy service on used_master_keys using ((select gatehouse_is_system()));
`);
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('drop table used_master_keys');
  }
}
