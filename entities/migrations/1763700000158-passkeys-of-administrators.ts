import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What was enrolled before stays a second factor until it is used after a password (docs/decisions/0109). */
export class PasskeysOfAdministrators1763700000158 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('alter table user_mfa_factors add column signs_in boolean not null default false');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
