import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A search was planned anew each time, for longer than it ran: PostgreSQL took the plan for the pattern at hand for a little
 * cheaper. A decision asks of each node above its own whether it is inactive; hardly any is, so an index of those alone
 * answers without a look at the others (docs/decisions/0025).
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
