import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Which browser registered, so that it confirms by one click and every other one with the password that was chosen there, and how often
 * that was tried. A release without it writes neither, and confirms by a click: what it takes in asks for the password here.
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
