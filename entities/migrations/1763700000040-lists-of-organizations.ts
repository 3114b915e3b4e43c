import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Lists and searches organizations without reading the other nodes of a tree. The search is a function for the reasons
 * of `1763700000034-search-of-identities`. No name has a line break, so no match spans name and slug.
 */
export class ListsOfOrganizations1763700000040 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
create index nodes_organizations_by_age on nodes (environment_id, created_at, id) where node_type = 'organization';
create index nodes_organizations_by_name on nodes (environment_id, name, id) where node_type = 'organization';
create function gatehouse_node_text(name text, slug text) returns text
  language sql immutable parallel safe
  return name || chr(10) || slug;
create index nodes_organizations_trigrams on nodes
  using gin (gatehouse_node_text(name, slug) gin_trgm_ops) with (fastupdate = off) where node_type = 'organization';
create function gatehouse_matching_organizations(account uuid, environment uuid, pattern text) returns setof uuid
  language sql stable security definer cost 10000 rows 100
  begin atomic
    with found as materialized ( -- before anything else, whatever the planner believes of the table's size
      select n.id, n.environment_id from nodes n
      where n.node_type = 'organization' and gatehouse_node_text(n.name, n.slug) ilike pattern and n.account_id = account
    )
    select id from found where environment_id = environment;
  end;
revoke execute on function gatehouse_matching_organizations from public;
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
