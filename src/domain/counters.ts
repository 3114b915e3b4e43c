import type { EntityManager } from 'typeorm';
import { Counter, type CounterName } from '../../entities/counter.js';
import { type EnvironmentScope, within } from '../platform/db.js';

/** Keeps a total in the transaction of the change, so that it is exact and nobody counts rows (contract §1). */
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

export async function readCounter(tx: EntityManager, scope: EnvironmentScope, name: CounterName): Promise<number> {
  const counter = await tx.findOneBy(Counter, { ...within(scope), name });
  return Number(counter?.value ?? 0);
}
