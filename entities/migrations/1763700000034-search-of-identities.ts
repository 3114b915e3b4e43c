import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `ilike` is not leakproof, so PostgreSQL never uses the trigram index for a role under row-level security. The
 * function runs as the owner of the tables and returns only ids, of the given Account and Environment; the rows behind
 * them stay protected. "first last" is found too, since one text is searched.
 */
export class SearchOfIdentities1763700000034 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
create function gatehouse_identity_text(first_name text, last_name text, email citext) returns text
  language sql immutable parallel safe
  return coalesce(first_name, '') || ' ' || coalesce(last_name, '') || ' ' || email::text;
create index identities_text_trigrams on identities
  using gin (gatehouse_identity_text(first_name, last_name, email) gin_trgm_ops) with (fastupdate = off);
create function gatehouse_matching_identities(account uuid, environment uuid, pattern text) returns setof uuid
  language sql stable security definer cost 10000 rows 100
  begin atomic
    with found as materialized ( -- before anything else, whatever the planner believes of the tables' sizes
      select i.id from identities i
      where gatehouse_identity_text(i.first_name, i.last_name, i.email) ilike pattern and i.account_id = account
    )
    select id from found
    where exists (select from environment_memberships m where m.environment_id = environment and m.identity_id = found.id);
  end;
revoke execute on function gatehouse_matching_identities from public;
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
