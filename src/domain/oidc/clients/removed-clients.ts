import { hours, seconds } from '../../../platform/clock.js';
import type { Db, Statement } from '../../../platform/database/db.js';
import { nilUuid } from '../../../platform/uuid.js';
import type { SweptStep } from '../../sweeping.js';

/**
 * Tables that name a client without a foreign key; each has an index on it. Codes come before the grants for which they
 * were redeemed.
 */
const given = ['authorization_codes', 'grants', 'consents', 'pending_sign_ins', 'identity_links'] as const;

/** A request that began before, or has the client in its cache, may still write something. */
const lateSeconds = hours(1) / seconds(1);

/**
 * Ordered, so that the index is used: if most rows belong to one client, the planner would otherwise read the table for
 * rows that do not exist.
 */
const ofClient = 'oauth_client_id between $1 and $1';

const next: Statement = {
  name: 'next_removed_client',
  text: 'select id from removed_clients where id > $1 order by id limit 1',
};

const batches: readonly Statement[] = given.map((table) => ({
  name: `sweep_${table}_of_client`,
  text: `
with gone as (
  delete from ${table} where ctid = any (array(
    select ctid from ${table} where ${ofClient} order by oauth_client_id limit $2 for update skip locked
  )) returning 1
)
select count(*)::int as deleted from gone`,
}));

const through: Statement = {
  name: 'end_removed_client',
  text: `
delete from removed_clients where id = $1 and removed_at <= $2::timestamptz - interval '${lateSeconds} seconds'
${given.map((table) => `  and (select true from ${table} where ${ofClient} order by oauth_client_id limit 1) is null`).join('\n')}`,
};

/**
 * Deletes a batch of what was issued to deleted clients, of one table at a time.
 * @param place where the batch before ended; null begins
 * @returns where this one ended; null when all clients are done
 */
export async function sweepRemovedClients(
  db: Pick<Db, 'statement'>,
  place: string | null,
  batchSize: number,
  now: Date,
): Promise<SweptStep> {
  const [after = nilUuid, at = '0'] = place?.split('|') ?? [];
  const [client] = await db.statement<{ id: string }>(next, [after]);
  if (!client) return { swept: 0, next: null };
  const [row] = await db.statement<{ deleted: number }>(batches[Number(at)]!, [client.id, batchSize]);
  const { deleted } = row!;
  const table = deleted === batchSize ? Number(at) : Number(at) + 1;
  if (table < batches.length) return { swept: deleted, next: `${after}|${table}` };
  await db.statement(through, [client.id, now]);
  return { swept: deleted, next: client.id };
}
