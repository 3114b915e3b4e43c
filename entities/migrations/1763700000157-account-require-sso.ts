import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Whether an Account admits its administrators only through its own identity provider (docs/decisions/0108). */
export class AccountRequireSso1763700000157 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('alter table accounts add column require_sso boolean not null default false');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
