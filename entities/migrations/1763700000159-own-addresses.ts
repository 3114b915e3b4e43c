import type { MigrationInterface, QueryRunner } from 'typeorm';

/** End users change their own address (docs/decisions/0111): a setting, and what a mailed code may be for. */
export class OwnAddresses1763700000159 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('alter table environment_settings add column allow_email_change boolean not null default false');
    await db.query(`alter table emailed_codes drop constraint emailed_codes_purpose, add constraint emailed_codes_purpose
      check (purpose in ('login', 'mfa', 'mfa_enrollment', 'email_change')) not valid`);
    await db.query('alter table emailed_codes validate constraint emailed_codes_purpose'); // they are kept for an hour
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
