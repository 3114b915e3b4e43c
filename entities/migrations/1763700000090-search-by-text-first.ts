import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The index of searches asks for the text first: by the Account first, PostgreSQL looked up the Account's entry for each row
 * that has the rarest three letters of a text, before it knew whether the row has the others (docs/decisions/0058).
 */
export class SearchByTextFirst1763700000090 implements MigrationInterface {
  transaction = false; // made while the service goes on searching by the other one

  async up(db: QueryRunner): Promise<void> {
    await db.query('drop index concurrently if exists identities_text_of_account'); // of an attempt that was interrupted
    await db.query(`create index concurrently identities_text_of_account on identities
      using gin (gatehouse_identity_text(first_name, last_name, email) gin_trgm_ops, account_id) with (fastupdate = off)`);
    await db.query('drop index concurrently if exists identities_search');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
