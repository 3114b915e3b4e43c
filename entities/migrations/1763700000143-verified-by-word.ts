import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Distinguishes addresses that people proved to be theirs from those for which only a key or an administrator vouches.
 * For existing ones this is unknown; they still count as proved.
 */
export class VerifiedByWord1763700000143 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('alter table identities add verified_by_word boolean not null default false');
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('alter table identities drop verified_by_word');
  }
}
