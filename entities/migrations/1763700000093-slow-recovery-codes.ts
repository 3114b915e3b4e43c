import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Recovery codes are hashed with argon2id (docs/decisions/0064); existing ones stay as they are. */
export class SlowRecoveryCodes1763700000093 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    for (const table of ['recovery_codes', 'user_recovery_codes', 'sso_recovery_codes']) {
      await db.query(`alter table ${table} add column hash_parameters text`);
    }
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
