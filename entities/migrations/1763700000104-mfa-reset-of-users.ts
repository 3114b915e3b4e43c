import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * When a user's second factors were reset: what was proved with them before, up to a choice of Applications, is void.
 */
export class MfaResetOfUsers1763700000104 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('alter table users add column mfa_reset_at timestamptz');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
