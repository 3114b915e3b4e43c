import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The search index has the text first: with the Account first, PostgreSQL looked up the Account's entry for each row
 * with the rarest trigram of a text, before it knew whether the row has the other trigrams (docs/decisions/0058).
 */
export class SearchByTextFirst1763700000090 implements MigrationInterface {
  transaction = false; // the index is built while the service goes on searching with the old one

  async up(db: QueryRunner): Promise<void> {
    await db.query('drop index concurrently if exists identities_text_of_account'); // left by an interrupted attempt
    await db.query(`create index concurrently identities_text_of_account on identities
      using gin (gatehouse_identity_text(first_name, last_name, email) gin_trgm_ops, account_id) with (fastupdate = off)`);
    await db.query('drop index concurrently if exists identities_search');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
