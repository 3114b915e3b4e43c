import type { MigrationInterface, QueryRunner } from 'typeorm';

const tables = [
  'role_assignments',
  'organization_members',
  'identity_links',
  'consents',
  'recovery_codes',
  'scim_users',
  'scim_group_members',
  'scim_assignments',
  'sso_sessions',
];

/**
 * Rows that belong to an Environment, a person or a connection name their Account without a foreign key: when the
 * Account is deleted, they are gone. The keys and their indexes cost every write (docs/decisions/0112).
 */
export class KeysToAccounts1763700000162 implements MigrationInterface {
  transaction = false; // locks on so many tables at once would block everybody

  async up(db: QueryRunner): Promise<void> {
    for (const table of tables) await db.query(`alter table ${table} drop constraint if exists ${table}_account_fk`);
    await db.query('alter table nodes drop constraint if exists nodes_application_fk');
    for (const table of tables) await db.query(`drop index concurrently if exists ${table}_account`);
    await db.query('drop index concurrently if exists nodes_application');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
