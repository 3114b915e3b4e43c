import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Which organization's directory deactivated a person whom it has stopped provisioning: that one may activate them
 * again. Null for existing rows: people deleted before stay inactive until the application activates them.
 */
export class KeptOutBy1763700000119 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('alter table environment_memberships add column kept_out_by uuid');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
