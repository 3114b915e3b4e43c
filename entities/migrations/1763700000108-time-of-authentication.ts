import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * When people authenticated at an identity provider, which can be hours before they arrived from there. Null: when they
 * arrived. A release without this column works as before, and renews a session without it: at worst the person is asked
 * once more.
 */
export class TimeOfAuthentication1763700000108 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    for (const table of ['sessions', 'pending_sign_ins', 'authorization_codes', 'grants']) {
      await db.query(`alter table ${table} add column auth_time timestamptz`);
    }
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
