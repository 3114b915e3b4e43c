import { createEnvironmentRemovals } from '../../src/domain/environment-removals/removals.js';
import type { TestApi } from './api.js';
import { rowsOf } from './rows.js';

/** Does the work of the removal processes, which an api without a worker lacks; in batches of `batchSize` rows. */
export async function finishRemovals(api: TestApi, accountId: string, batchSize?: number): Promise<void> {
  const { db } = api.database;
  const removals = createEnvironmentRemovals({ db, now: () => new Date(), ...(batchSize && { batchSize }) });
  const running = `select id from environment_removals where account_id = $1 and status = 'running'`;
  for (const { id } of await rowsOf<{ id: string }>(api, running, [accountId])) {
    let outcome = await removals.advance(id);
    while (outcome !== 'ended') {
      if (outcome === 'done' && (await removals.complete(id)) === 'done') break;
      outcome = await removals.advance(id);
    }
  }
}
