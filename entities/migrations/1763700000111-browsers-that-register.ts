import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Which browser registered, so that it confirms by one click, and any other with the password chosen there; and how
 * often that was tried. A release without these columns writes neither and confirms by a click; for its registrations,
 * this release asks for the password.
 */
export class BrowsersThatRegister1763700000111 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(
      'alter table pending_registrations add column browser_hash bytea, add column attempts integer not null default 0',
    );
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
