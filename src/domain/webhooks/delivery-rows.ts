import type { WebhookAttempt } from '../../../entities/webhook-attempt.js';
import type { WebhookDelivery, WebhookDeliveryStatus } from '../../../entities/webhook-delivery.js';
import type { Db } from '../../platform/database/db.js';
import { inSnakeCase } from '../../platform/database/naming.js';
import { atAnyTime } from '../lists/one-plan.js';
import { containing, type Page, type PageRequest } from '../lists/paging.js';
import { rowCount } from '../lists/row-counts.js';
import { columnsOf, type RowList, readCountedPage, readPageByTotal } from '../lists/row-pages.js';
import type { Bind } from '../lists/sql-parameters.js';
import type { WebhookScope } from './find.js';
import { firstStop, hasStops, waitsStill } from './stops.js';

/** Columns that no stop changes. Lists leave out the body, which may be large. */
const shownAsStored = ['id', 'webhookId', 'eventId', 'eventType', 'attemptCount', 'createdAt'] as const;
/** Columns that a stop changes for a pending delivery. */
const shownWithStop = ['status', 'endedReason', 'nextAttemptAt', 'settledAt'] as const;
const shownOfAttempt = ['number', 'startedAt', 'durationMs', 'statusCode', 'error', 'responseExcerpt'] as const;

export type ShownAttempt = Pick<WebhookAttempt, (typeof shownOfAttempt)[number]>;
export interface ShownDelivery
  extends Pick<WebhookDelivery, (typeof shownAsStored)[number] | (typeof shownWithStop)[number]> {
  /** In the order in which they were made. */
  attempts: ShownAttempt[];
}

export interface DeliveryFilters {
  status?: WebhookDeliveryStatus | undefined;
  eventType?: string | undefined;
}
export type DeliveryPage = PageRequest<'created_at'> & DeliveryFilters;

const columns = ['delivery.created_at', 'delivery.id'];

/** Few deliveries match. They have a partial index, which PostgreSQL uses only if a query states this condition. */
const unsuccessful = `status <> 'succeeded'`;

const columnsWithStop = `
  case when stop.reason is null then delivery.status else 'cancelled' end as status,
  coalesce(stop.reason, delivery.ended_reason) as "endedReason",
  case when stop.reason is null then delivery.next_attempt_at end as "nextAttemptAt",
  coalesce(stop.stopped_at, delivery.settled_at) as "settledAt"`;

const attempts = `
  (select coalesce(json_agg(made), '[]') from (select ${columnsOf('attempt', shownOfAttempt)} from webhook_attempts attempt
    where attempt.delivery_id = delivery.id and attempt.account_id = $1 order by attempt.number) made) as attempts`;

/** @param conditions on a row `delivery` of a subscription of the scope */
const deliveriesOf = (webhookId: string, conditions: (put: Bind) => string[]): RowList => ({
  from: 'webhook_deliveries delivery',
  where: (put) =>
    [
      `delivery.webhook_id = ${put(webhookId)}`,
      // Written so that no index matches: PostgreSQL would otherwise read all of the Account's deliveries by age,
      // although those to other subscriptions are among them.
      '(delivery.account_id = $1) is true',
      isThere(put(webhookId)),
      ...conditions(put),
    ].join(' and '),
  key: 'delivery.id',
  // Nearly always the rows come from an index in this order, so they are neither sorted nor read again by their key.
  carried: [...shownAsStored.slice(1), ...shownWithStop, 'retriedAt' as const]
    .map((property) => `delivery.${inSnakeCase(property)}`)
    .join(', '),
  shownBy: `lateral (select found.key as id, $1::uuid as account_id, found.*) delivery on true
    left join lateral ${firstStop('delivery')} stop on true`,
  select: () => `${columnsOf('delivery', shownAsStored)}, ${columnsWithStop}, ${attempts}`,
});

/** SQL: whether the subscription is the scope's own, as `ownOf`. */
const isThere = (webhookId: string) => `exists (select from webhooks webhook where webhook.id = ${webhookId}
  and webhook.account_id = $1 and webhook.environment_id is not distinct from $2)`;

/**
 * Returns a page of the deliveries to a subscription, which is empty if there is no such subscription. The total of
 * all, and that of succeeded ones, comes from a counter; for other filters the rows are counted.
 */
export async function listDeliveries(
  db: Pick<Db, 'statementIn' | 'transaction'>,
  scope: WebhookScope,
  webhookId: string,
  { status, eventType, ...page }: DeliveryPage,
): Promise<Page<ShownDelivery>> {
  const isSearched = eventType !== undefined || Boolean(page.q);
  if (!isSearched && (!status || status === 'succeeded')) {
    const all = deliveriesOf(webhookId, (put) => [
      atAnyTime('delivery.created_at', put),
      ...(status ? [`delivery.status = '${status}'`] : []),
    ]);
    const total = totalOf(scope, webhookId, status);
    return withMoments(await readPageByTotal<ShownDelivery>(db, scope, { ...all, total }, page, columns));
  }
  return db.transaction(scope, async (tx) => {
    const isEither = status === 'pending' || status === 'cancelled';
    const isStopped = isEither && (await hasStops(tx, scope, webhookId));
    const found = deliveriesOf(webhookId, (put) => [
      ...(isSearched ? searched({ q: page.q, eventType }, put) : []),
      ...(status ? havingStatus(status, isStopped ? put(webhookId) : null) : []),
    ]);
    return withMoments(await readCountedPage<ShownDelivery>(tx, scope, found, page, columns));
  });
}

function searched({ q, eventType }: { q: string | undefined; eventType: string | undefined }, put: Bind): string[] {
  const conditions = ['delivery.account_id = $1 and delivery.environment_id is not distinct from $2'];
  if (eventType !== undefined) conditions.push(`delivery.event_type = ${put(eventType)}`);
  if (q) conditions.push(`delivery.event_type ilike ${put(containing(q))}`);
  return conditions;
}

/** @param stopped the parameter with the subscription's id, if it has stops */
function havingStatus(status: WebhookDeliveryStatus, stopped: string | null): string[] {
  if (status === 'succeeded') return [`delivery.status = 'succeeded'`];
  const kept = stopped ? `in ('pending', 'cancelled')` : `= '${status}'`;
  const conditions = [`delivery.status ${kept}`, `delivery.${unsuccessful}`];
  if (stopped) conditions.push(`${waitsStill('delivery', stopped)} is ${status === 'pending'}`);
  return conditions;
}

/** SQL: the counter of all deliveries; for succeeded ones, less the number of the others as of the same moment. */
const totalOf =
  ({ accountId, environmentId }: WebhookScope, webhookId: string, status: 'succeeded' | undefined) =>
  (put: Bind): string => {
    const counted = { accountId, environmentId: environmentId ?? null, ownerId: webhookId };
    const others = () => `(select count(*) from webhook_deliveries
      where account_id = $1 and webhook_id = ${put(webhookId)} and ${unsuccessful})`;
    return `(case when ${isThere(put(webhookId))}
      then ${rowCount(put, counted, 'webhook_deliveries')}${status ? ` - ${others()}` : ''} else 0 end)`;
  };

/** Converts the times of attempts to dates: they come as JSON, which has none. */
function withMoments(page: Page<ShownDelivery>): Page<ShownDelivery> {
  for (const { attempts } of page.rows) for (const attempt of attempts) attempt.startedAt = new Date(attempt.startedAt);
  return page;
}
