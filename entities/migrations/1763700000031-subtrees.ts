import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Finds the nodes below some nodes by the index on their paths. Its operators are not leakproof, so PostgreSQL never
 * uses it for a role under row-level security. The function runs as the owner of the tables and returns only ids, of
 * the given Account and Environment; the rows behind them stay protected.
 */
export class Subtrees1763700000031 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
create function gatehouse_subtree(account uuid, environment uuid, tops uuid[]) returns setof uuid
  language sql stable security definer cost 10000 rows 1000
  begin atomic
    select id from nodes where path && tops and account_id = account and environment_id = environment;
  end;
revoke execute on function gatehouse_subtree from public;
-- Every reading searches the list of what is not yet in the index proper, so it is kept short.
alter index nodes_path_gin set (gin_pending_list_limit = 256);
insert into counters (environment_id, name, account_id, value)
  select environment_id, 'nodes', account_id, count(*) from nodes group by environment_id, account_id;
insert into counters (environment_id, name, account_id, value)
  select e.id, 'organizations', e.account_id, count(o.id)
  from environments e left join organizations o on o.environment_id = e.id group by e.id, e.account_id;
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
