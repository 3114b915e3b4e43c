import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Serves counts and lists of an Account's people from their memberships, without reading others (docs/decisions/0047).
 */
export class DirectoryAtSize1763700000085 implements MigrationInterface {
  transaction = false; // the index is built while the service goes on writing

  async up(db: QueryRunner): Promise<void> {
    await db.query('drop index concurrently if exists environment_memberships_directory'); // left by an interrupted attempt
    await db.query(`create index concurrently environment_memberships_directory
      on environment_memberships (account_id, identity_id) include (environment_id, is_active)`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
