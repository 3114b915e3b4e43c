import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * When somebody proved who they are to an identity provider, which can be hours before they came from there. Null: when they came. A
 * release without it goes on as before, and renews a session without it: its person is asked once more at worst.
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
