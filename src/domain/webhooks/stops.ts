import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { Webhook } from '../../../entities/webhook.js';
import type { WebhookDelivery } from '../../../entities/webhook-delivery.js';
import type { WebhookStopReason } from '../../../entities/webhook-stop.js';
import type { Db, Statement } from '../../platform/database/db.js';
import type { AccountScope } from '../../platform/scope.js';
import { nilUuid } from '../../platform/uuid.js';
import type { SweptStep } from '../sweeping.js';

/**
 * Ends all pending deliveries to a subscription with the commit, however many they are: every reader treats them as
 * cancelled, none is sent, and housekeeping updates their rows. The caller has locked the subscription, which gets no
 * new deliveries.
 */
export async function stopWaiting(
  tx: EntityManager,
  { id, accountId, environmentId }: Pick<Webhook, 'id' | 'accountId' | 'environmentId'>,
  reason: WebhookStopReason,
): Promise<void> {
  await tx.query(
    `insert into webhook_stops (id, account_id, environment_id, webhook_id, reason, stopped_at)
     values ($1, $2, $3, $4, $5, clock_timestamp())`,
    [uuidv7(), accountId, environmentId, id, reason],
  );
}

/** SQL: since when a delivery has been pending. */
const waitsSince = (delivery: string) => `coalesce(${delivery}.retried_at, ${delivery}.created_at)`;

/** SQL: the first stop since a delivery became pending. */
const firstStopOf = (columns: string, delivery: string, and = '') =>
  `(select ${columns} from webhook_stops s where s.webhook_id = ${delivery}.webhook_id and s.account_id = ${delivery}.account_id
    and s.stopped_at >= ${waitsSince(delivery)}${and} order by s.stopped_at limit 1)`;

/** SQL: a column of the first stop since a delivery became pending, or null. Valid only for a pending delivery. */
export const stopOf = (column: 'reason' | 'stopped_at', delivery: string): string =>
  firstStopOf(`s.${column}`, delivery);

/**
 * SQL: the first stop since a delivery became pending, as a row to join; no row if there is none, or it is not pending.
 */
export const firstStop = (delivery: string): string =>
  firstStopOf('s.reason, s.stopped_at', delivery, ` and ${delivery}.status = 'pending'`);

/** SQL: whether the delivery with this alias is pending and not stopped. @param webhookId the parameter with the id */
export const waitsStill = (delivery: string, webhookId: string): string =>
  `(${delivery}.status = 'pending'
    and ${waitsSince(delivery)} > coalesce((select max(stopped_at) from webhook_stops where webhook_id = ${webhookId}), '-infinity'))`;

/** Whether a subscription has stops; nearly always it has none. */
export async function hasStops(tx: EntityManager, { accountId }: AccountScope, webhookId: string): Promise<boolean> {
  const text = 'select from webhook_stops where account_id = $1 and webhook_id = $2 limit 1';
  return (await tx.query<unknown[]>(text, [accountId, webhookId])).length > 0;
}

/** Returns a delivery with its current state, including a stop that its row does not have yet. */
export async function withStop(
  tx: EntityManager,
  { accountId }: AccountScope,
  delivery: WebhookDelivery,
): Promise<WebhookDelivery> {
  if (delivery.status !== 'pending') return delivery;
  const [stop] = await tx.query<{ reason: WebhookStopReason; stoppedAt: Date }[]>(
    `select stop.reason, stop.stopped_at as "stoppedAt" from webhook_deliveries d cross join lateral ${firstStop('d')} stop
     where d.account_id = $1 and d.id = $2`,
    [accountId, delivery.id],
  );
  if (!stop) return delivery;
  const { reason: endedReason, stoppedAt: settledAt } = stop;
  return { ...delivery, status: 'cancelled', endedReason, settledAt, nextAttemptAt: null };
}

const ending = (which: string) => `
update webhook_deliveries d set status = 'cancelled', ended_reason = ${stopOf('reason', 'd')}, next_attempt_at = null,
  settled_at = ${stopOf('stopped_at', 'd')}
where ${which} and d.status = 'pending'`;

/** Cancels a delivery in its row if it was stopped. @returns whether it was */
export async function endStopped(tx: EntityManager, id: string): Promise<boolean> {
  const text = ending(`d.id = $1 and ${stopOf('reason', 'd')} is not null`);
  const [, ended] = await tx.query<[unknown[], number]>(text, [id]);
  return ended > 0;
}

// From the oldest delivery on, starting where the previous batch ended, whose rows need not be read again.
const batch: Statement = {
  name: 'end_stopped_deliveries',
  text: `
with stop as materialized (select * from webhook_stops where id > $1 order by id limit 1),
ended as (${ending(`d.ctid = any (array(
  select ctid from webhook_deliveries
  where webhook_id = (select webhook_id from stop) and status = 'pending' and status <> 'succeeded'
    and created_at >= $3 and created_at <= (select stopped_at from stop)
    and (retried_at is null or retried_at <= (select stopped_at from stop))
  order by created_at limit $2 for update skip locked
))`)} returning d.created_at)
select (select id from stop) as id, count(*)::int as ended, max(created_at)::text as last from ended`,
};

// If another transaction has locked a delivery, that delivery and the stop are left to the next run.
const over: Statement = {
  name: 'end_webhook_stop',
  text: `
delete from webhook_stops stop where id = $1 and not exists (
  select from webhook_deliveries d
  where d.webhook_id = stop.webhook_id and d.status = 'pending' and d.status <> 'succeeded' and d.created_at <= stop.stopped_at
    and (d.retried_at is null or d.retried_at <= stop.stopped_at))`,
};

/**
 * Cancels a batch of the deliveries that one stop has ended in their rows.
 * @param place where the previous batch ended; null to begin
 * @returns how many deliveries were cancelled, and where to continue; null after the last stop
 */
export async function endSomeStopped(
  db: Pick<Db, 'statement'>,
  place: string | null,
  batchSize: number,
): Promise<SweptStep> {
  const [after = nilUuid, from = '-infinity'] = place?.split('|') ?? [];
  const [row] = await db.statement<{ id: string | null; ended: number; last: string | null }>(batch, [
    after,
    batchSize,
    from, // PostgreSQL's own text, as a Date has no microseconds
  ]);
  const { id, ended, last } = row!;
  if (id === null) return { swept: ended, next: null };
  if (ended === batchSize) return { swept: ended, next: `${after}|${last}` };
  await db.statement(over, [id]);
  return { swept: ended, next: id };
}
