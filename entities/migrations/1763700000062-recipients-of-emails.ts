import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Who gets a mail that goes to several people; the subject of the others tells by itself. */
export class RecipientsOfEmails1763700000062 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('alter table emails add column recipient_id uuid');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
