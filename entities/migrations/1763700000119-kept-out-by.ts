import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Which organization's directory has kept somebody out whom it no longer provisions: that one may let them in again. Null of all that is
 * there: who was deleted before stays out until the application lets them in.
 */
export class KeptOutBy1763700000119 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('alter table environment_memberships add column kept_out_by uuid');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
