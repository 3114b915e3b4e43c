import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * An attempt is recorded before it is made: with a readable database that accepts no writes, every retry would send the
 * mail again.
 */
export class AttemptsOfMails1763700000152 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('alter table emails add column attempted_at timestamptz');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
