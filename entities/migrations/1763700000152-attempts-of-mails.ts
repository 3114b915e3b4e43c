import type { MigrationInterface, QueryRunner } from 'typeorm';

/** An attempt is written down before it is made: a database that is read, and takes no writes, would have each mail sent at every try. */
export class AttemptsOfMails1763700000152 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('alter table emails add column attempted_at timestamptz');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
