import type { MigrationInterface, QueryRunner } from 'typeorm';

const tables = [
  'sessions',
  'grants',
  'authorization_codes',
  'trusted_devices',
  'pending_sign_ins',
  'emailed_codes',
  'sso_requests',
];
const indexes = [
  'trusted_devices_account',
  'pending_sign_ins_account',
  'pending_sign_ins_environment',
  'emailed_codes_account',
  'sso_requests_account',
];

/**
 * What a sign-in writes names its Environment and its Account without foreign keys. They made all sign-ins lock the same
 * two rows, and the deletion of any Environment read the sessions, grants and codes of all (docs/decisions/0112).
 */
export class KeysOfSignIns1763700000160 implements MigrationInterface {
  transaction = false; // locks on so many tables at once would block everybody

  async up(db: QueryRunner): Promise<void> {
    for (const table of tables) {
      await db.query(
        `alter table ${table} drop constraint if exists ${table}_account_fk, drop constraint if exists ${table}_environment_fk`,
      );
    }
    for (const index of indexes) await db.query(`drop index concurrently if exists ${index}`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
