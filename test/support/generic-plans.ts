import pg from 'pg';
import type { Scope } from '../../src/platform/database/db.js';
import type { TestApi } from './api.js';

export interface Sent {
  text: string;
  values: unknown[];
}

/** Returns how many rows of a table a statement reads in a scope, with its plan for all values, as in the service. */
export async function rowsRead({ database }: TestApi, scope: Scope, table: string, sent: Sent): Promise<number> {
  const [plan] = await database.db.transaction(scope, async (tx) => {
    await tx.query('set local plan_cache_mode = force_generic_plan');
    await tx.query(`prepare explained as ${sent.text}`);
    const run = `execute explained (${sent.values.map(literal).join()})`;
    const plans = await tx.query(`explain (analyze, timing off, format json) ${run}`);
    await tx.query('deallocate explained');
    return plans;
  });
  const read = (node: Record<string, unknown>): number => {
    const own = Number(node['Actual Rows']) + Number(node['Rows Removed by Filter'] ?? 0);
    const below = (node.Plans as Record<string, unknown>[] | undefined) ?? [];
    return (
      (node['Relation Name'] === table ? own * Number(node['Actual Loops']) : 0) +
      below.reduce((sum, one) => sum + read(one), 0)
    );
  };
  return read(plan['QUERY PLAN'][0].Plan);
}

function literal(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return pg.escapeLiteral(`{${value.map((one) => one ?? 'null').join()}}`);
  return pg.escapeLiteral(value instanceof Date ? value.toISOString() : String(value));
}
