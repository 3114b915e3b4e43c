import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndexes } from './build-indexes.js';

const indexes = {
  nodes_by_slug: 'on nodes (environment_id, slug, id)',
  // Organizations have their own index (migration 0040): no node is in both.
  nodes_text: `on nodes using gin (gatehouse_node_text(name, slug) gin_trgm_ops, environment_id) with (fastupdate = off)
    where node_type <> 'organization'`,
};

/**
 * Finds a node by its name without reading the others, and lists nodes by slug with an index (docs/decisions/0066). The
 * search is a function for the reasons of `1763700000034-search-of-identities`, and is planned for each text.
 */
export class NodesByTextAndSlug1763700000096 implements MigrationInterface {
  transaction = false;

  async up(db: QueryRunner): Promise<void> {
    await buildIndexes(db, indexes);
    await db.query(`
create or replace function gatehouse_matching_nodes(account uuid, environment uuid, pattern text, most integer) returns setof uuid
  language sql stable security definer cost 10000 rows 100
  begin atomic
    select found.id from (
      select n.id, n.account_id, n.environment_id from nodes n
      where n.node_type = 'organization' and gatehouse_node_text(n.name, n.slug) ilike pattern
      union all
      select n.id, n.account_id, n.environment_id from nodes n
      where n.node_type <> 'organization' and gatehouse_node_text(n.name, n.slug) ilike pattern) found
    where found.account_id = account and found.environment_id = environment limit most;
  end;
alter function gatehouse_matching_nodes set plan_cache_mode to 'force_custom_plan';
revoke execute on function gatehouse_matching_nodes from public;
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
