import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The recipient of a mail whose subject belongs to several people; for other mails the subject determines it. */
export class RecipientsOfEmails1763700000062 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('alter table emails add column recipient_id uuid');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
