import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The order of an Account's directory, and its search, which under row-level security would not use the trigrams
 * (0034).
 */
export class Directory1763700000078 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
create index identities_by_age on identities (account_id, created_at, id);
create function gatehouse_matching_directory(account uuid, pattern text) returns setof uuid
  language sql stable security definer cost 10000 rows 100
  begin atomic
    select i.id from identities i
    where gatehouse_identity_text(i.first_name, i.last_name, i.email) ilike pattern and i.account_id = account;
  end;
revoke execute on function gatehouse_matching_directory from public;
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
