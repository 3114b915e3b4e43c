import type { EntityManager } from 'typeorm';
import type { CounterName } from '../../../entities/counter.js';
import type { EnvironmentScope } from '../../platform/scope.js';

/**
 * The number of parts of a total: enough that the connections of a process seldom use the same one; reading a total
 * reads at most this many rows.
 */
const stripes = 16;

/** Updates a total in the transaction of the change, so that it is exact and no rows are counted (contract §1). */
export async function addToCounter(
  tx: EntityManager,
  scope: EnvironmentScope,
  name: CounterName,
  change: number,
): Promise<void> {
  await tx.query(
    `insert into counters as counter (environment_id, name, account_id, value) values ($1, $2, $3, $4)
     on conflict (environment_id, name) do update set value = counter.value + excluded.value`,
    [scope.environmentId, name, scope.accountId, change],
  );
}

/**
 * SQL that adds one for each row of `from`, for hot paths with a single statement. Each connection has its own part of
 * the total: a transaction that waits for a row waits until that row is on disk, and cannot share the wait with others.
 * @param from names what is counted, with `environment_id` and `account_id`
 */
export const countStriped = (name: CounterName, from: string): string => `
insert into counter_stripes as counter (environment_id, name, stripe, account_id, value)
select environment_id, '${name}', pg_backend_pid() % ${stripes}, account_id, count(*) from ${from} group by environment_id, account_id
on conflict (environment_id, name, stripe) do update set value = counter.value + excluded.value`;

/** SQL: the total, for statements with account and Environment as `$1` and `$2`. */
export const counterTotal = (name: CounterName): string => `
(select coalesce(sum(value), 0) from (
  select value from counters where account_id = $1 and environment_id = $2 and name = '${name}'
  union all select value from counter_stripes where account_id = $1 and environment_id = $2 and name = '${name}') as parts)`;

/**
 * SQL: the number of an Environment's inactive Identities, for such statements; counted by the database
 * (docs/decisions/0085).
 */
export const inactiveTotal = `
(select coalesce(sum(value), 0) from row_counts
  where account_id = $1 and environment_id = $2 and list = 'inactive_identities')`;

export async function readCounter(
  tx: EntityManager,
  { accountId, environmentId }: EnvironmentScope,
  name: CounterName,
): Promise<number> {
  const [row] = await tx.query<{ total: string }[]>(`select ${counterTotal(name)} as total`, [
    accountId,
    environmentId,
  ]);
  return Number(row!.total);
}
