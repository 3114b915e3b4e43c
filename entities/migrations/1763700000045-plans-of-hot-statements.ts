import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Forces a generic plan for searches: PostgreSQL considered the plan for each pattern a little cheaper, and planned
 * each time for longer than the search ran. A decision checks whether any node above its own is inactive; hardly any
 * is, so an index of only the inactive ones answers without reading the others (docs/decisions/0025).
 */
export class PlansOfHotStatements1763700000045 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
alter function gatehouse_matching_identities(uuid, uuid, text) set plan_cache_mode to 'force_generic_plan';
create index nodes_inactive on nodes (id) where status = 'inactive';
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
