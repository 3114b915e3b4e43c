import type { MigrationInterface, QueryRunner } from 'typeorm';

/** When somebody's second factors were taken away: what was proved by them before, as far as a choice of Applications, counts no more. */
export class MfaResetOfUsers1763700000104 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('alter table users add column mfa_reset_at timestamptz');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
