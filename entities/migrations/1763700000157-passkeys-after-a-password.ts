import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Records which keys of end users sign in by themselves. Those that are there do, until the next new password, and so
 * do those that the previous release adds meanwhile.
 */
export class PasskeysAfterAPassword1763700000157 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('alter table mfa_factors add column signs_in boolean not null default true');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
