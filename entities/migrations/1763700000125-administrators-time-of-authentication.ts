import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * When administrators authenticated at an identity provider, as for end users. Null: when they arrived. A release
 * without this column uses the arrival.
 */
export class AdministratorsTimeOfAuthentication1763700000125 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    for (const table of ['user_sessions', 'pending_user_sign_ins']) {
      await db.query(`alter table ${table} add column auth_time timestamptz`);
    }
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
