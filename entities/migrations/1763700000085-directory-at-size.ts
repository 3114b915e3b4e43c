import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What counts and lists of an Account's people ask of their memberships, without reading those of others (docs/decisions/0047). */
export class DirectoryAtSize1763700000085 implements MigrationInterface {
  transaction = false; // for the index, which is made while the service goes on writing

  async up(db: QueryRunner): Promise<void> {
    await db.query('drop index concurrently if exists environment_memberships_directory'); // of an attempt that was interrupted
    await db.query(`create index concurrently environment_memberships_directory
      on environment_memberships (account_id, identity_id) include (environment_id, is_active)`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
