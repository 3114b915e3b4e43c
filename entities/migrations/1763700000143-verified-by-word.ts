import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Tells addresses that somebody has shown to be theirs from those of which a key or an administrator says so. Of those of before nothing is known; they
 * count as shown, as they did.
 */
export class VerifiedByWord1763700000143 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('alter table identities add verified_by_word boolean not null default false');
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('alter table identities drop verified_by_word');
  }
}
