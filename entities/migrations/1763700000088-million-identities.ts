import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndexes } from './build-indexes.js';

const indexes = {
  // Covers all columns of skipped entries, so that no row is read on the way to a page in the middle.
  environment_memberships_in_order:
    'on environment_memberships (environment_id, created_at, identity_id) include (account_id, is_active)',
  environment_memberships_inactive:
    'on environment_memberships (environment_id, created_at, identity_id) include (account_id) where not is_active',
  identities_by_first_name: 'on identities (account_id, first_name, id)',
  identities_by_last_name: 'on identities (account_id, last_name, id)',
  // With the Account in the index, the cost of a search depends only on the matches in that Account.
  identities_search: `on identities
    using gin (account_id, gatehouse_identity_text(first_name, last_name, email) gin_trgm_ops) with (fastupdate = off)`,
};

/** Lets lists and searches of a million identities read only the rows that they show (docs/decisions/0058). */
export class MillionIdentities1763700000088 implements MigrationInterface {
  transaction = false;

  async up(db: QueryRunner): Promise<void> {
    await db.query('create extension if not exists btree_gin');
    await buildIndexes(db, indexes);
    for (const replaced of ['environment_memberships_by_age', 'identities_text_trigrams'])
      await db.query(`drop index concurrently if exists ${replaced}`);
    await db.query(`
create or replace function gatehouse_found_members(account uuid, environment uuid, pattern text, most integer)
  returns table (identity_id uuid, is_active boolean, created_at timestamptz)
  language sql stable security definer cost 10000 rows 100
  begin atomic
    with found as materialized ( -- before anything else, whatever the planner believes of the tables' sizes
      select i.id from identities i
      where i.account_id = account and gatehouse_identity_text(i.first_name, i.last_name, i.email) ilike pattern
    )
    select m.identity_id, m.is_active, m.created_at
    from found cross join lateral (
      select m.identity_id, m.is_active, m.created_at from environment_memberships m
      where m.environment_id = environment and m.identity_id = found.id and m.account_id = account offset 0) m
    limit most;
  end;
alter function gatehouse_found_members set plan_cache_mode to 'force_generic_plan';
revoke execute on function gatehouse_found_members from public;
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
