import { type EntityManager, In } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { Webhook } from '../../../entities/webhook.js';
import { WebhookAttempt } from '../../../entities/webhook-attempt.js';
import { WebhookDelivery, type WebhookDeliveryStatus } from '../../../entities/webhook-delivery.js';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/db.js';
import { createLimiter } from '../../platform/limiter.js';
import { workflowIdOf } from '../../platform/process-kinds.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events.js';
import { letStop } from '../let-stop.js';
import { countUse } from '../limits.js';
import { startLater } from '../outbox.js';
import { containing, type Page, type PageRequest, readPage } from '../paging.js';
import { putInto } from '../put.js';
import { rowCount } from '../row-counts.js';
import type { RunningProcesses } from '../running-processes.js';
import { findWebhook, ownOf, type WebhookScope } from './find.js';
import { processInput } from './process.js';
import { attemptNow } from './standing.js';
import { asTheyStand, hasStops, waitsStill } from './stops.js';

export interface DeliveryFilters {
  status?: WebhookDeliveryStatus | undefined;
  eventType?: string | undefined;
}
export interface ShownDelivery {
  delivery: WebhookDelivery;
  /** In the order in which they were made. */
  attempts: WebhookAttempt[];
}

export type WebhookDeliveryLog = ReturnType<typeof createWebhookDeliveryLog>;

const columns = ['delivery.createdAt', 'delivery.id'];

/** Few are, and have an index, which PostgreSQL takes only where the text says so. */
const unsuccessful = `status <> 'succeeded'`;

/** Of one subscription. Each is a process of its own and a call of somebody's server. */
const manualRetries = { name: 'webhook-retries', points: 600, windowSeconds: 60 };
const tests = { name: 'webhook-tests', points: 30, windowSeconds: 60 };

export interface DeliveryLogDeps {
  db: Db;
  rateLimits: boolean;
  now: Clock;
  processes: Pick<RunningProcesses, 'describe'>;
}

/** What became of each event on its way to a subscription; and to have it sent again, or a first time to try. */
export function createWebhookDeliveryLog({ db, rateLimits, now, processes }: DeliveryLogDeps) {
  const limiters = { retry: createLimiter(db, manualRetries), test: createLimiter(db, tests) };
  /** @throws DomainError rate_limit.exceeded */
  async function count(what: keyof typeof limiters, { accountId }: WebhookScope, webhookId: string): Promise<void> {
    if (rateLimits) await countUse(limiters[what], `${accountId} ${webhookId}`);
  }

  return {
    /** @throws DomainError webhook.not_found */
    list: (
      scope: WebhookScope,
      webhookId: string,
      page: PageRequest<'created_at'>,
      { status, eventType }: DeliveryFilters,
    ): Promise<Page<ShownDelivery>> =>
      db.transaction(scope, async (tx) => {
        await findWebhook(tx, scope, webhookId);
        const isSearched = Boolean(eventType || page.q);
        const isEither = status === 'pending' || status === 'cancelled';
        const isStopped = isEither && (await hasStops(tx, scope, webhookId));
        const query = tx
          .createQueryBuilder(WebhookDelivery, 'delivery')
          .where({
            webhookId,
            ...(isSearched && ownOf(scope)),
            ...(status && { status: isStopped ? In(['pending', 'cancelled']) : status }),
            ...(eventType && { eventType }),
          })
          // In a way that no index has: by age the Account's would be as good, if others' were not among its deliveries.
          .andWhere('(delivery.account_id = :accountId) is true', { accountId: scope.accountId });
        if (status && status !== 'succeeded') query.andWhere(`delivery.${unsuccessful}`);
        if (isStopped)
          query.andWhere(`${waitsStill('delivery', ':webhookId')} is ${status === 'pending'}`, { webhookId });
        if (page.q) query.andWhere('delivery.event_type ilike :pattern', { pattern: containing(page.q) });
        const isCounted = !isSearched && (!status || status === 'succeeded');
        const total = isCounted ? await totalOf(tx, scope, webhookId, status) : undefined;
        const found = await readPage(query, page, columns, total);
        const rows = await asTheyStand(tx, scope, found.rows);
        return { ...found, rows: await withAttempts(tx, scope, rows) };
      }),

    /** @throws DomainError webhook.not_found, webhook.delivery_not_found */
    get: (scope: WebhookScope, webhookId: string, id: string): Promise<ShownDelivery> =>
      db.transaction(scope, async (tx) => {
        await findWebhook(tx, scope, webhookId);
        return withAttemptsOf(tx, scope, await findDelivery(tx, scope, webhookId, id));
      }),

    /**
     * Has it attempted now: one that waits need not wait any more, and one that has ended is sent again, as the same message.
     * @throws DomainError webhook.not_found, webhook.delivery_not_found, webhook.inactive, webhook.too_many_attempts,
     *   rate_limit.exceeded; service.unavailable while the run of one that was cancelled stops
     */
    async retry(scope: WebhookScope, webhookId: string, id: string): Promise<ShownDelivery> {
      const before = await db.transaction(scope, async (tx) => {
        await findWebhook(tx, scope, webhookId);
        return findDelivery(tx, scope, webhookId, id);
      });
      await count('retry', scope, webhookId);
      if (before.status === 'cancelled')
        await letStop(processes, workflowIdOf('webhookDelivery', processInput(before)));
      return db.transaction(scope, async (tx) => {
        await activeWebhook(tx, scope, webhookId);
        const current = await findDelivery(tx, scope, webhookId, id, { lock: true });
        const again = await attemptNow(tx, current, now());
        await recordEvent(tx, 'webhook.delivery_retried', {
          ...placeOf(scope),
          resourceId: id,
          metadata: {
            webhook_id: webhookId,
            event_id: current.eventId,
            event_type: current.eventType,
            status: current.status,
          },
        });
        return withAttemptsOf(tx, scope, { ...current, ...again });
      });
    },

    /** Sends `webhook.test` to this one alone. @throws DomainError webhook.not_found, webhook.inactive, rate_limit.exceeded */
    async test(scope: WebhookScope, webhookId: string): Promise<ShownDelivery> {
      await db.transaction(scope, (tx) => findWebhook(tx, scope, webhookId));
      await count('test', scope, webhookId);
      return db.transaction(scope, async (tx) => {
        const webhook = await activeWebhook(tx, scope, webhookId);
        const eventId = await recordEvent(tx, 'webhook.tested', { ...placeOf(scope), resourceId: webhookId });
        const delivery = testOf(webhook, eventId, now());
        await tx.insert(WebhookDelivery, delivery);
        await startLater(tx, 'webhookDelivery', processInput(delivery));
        return { delivery, attempts: [] };
      });
    },
  };
}

/** Of all, as they are counted; those that succeeded are what is left without the others, as of the same moment. */
async function totalOf(
  tx: EntityManager,
  { accountId, environmentId }: WebhookScope,
  webhookId: string,
  status: 'succeeded' | undefined,
): Promise<number> {
  const values: unknown[] = [];
  const put = putInto(values);
  const all = rowCount(
    put,
    { accountId, environmentId: environmentId ?? null, ownerId: webhookId },
    'webhook_deliveries',
  );
  const others = status
    ? `(select count(*) from webhook_deliveries where account_id = ${put(accountId)} and webhook_id = ${put(webhookId)} and ${unsuccessful})`
    : '0';
  const [row] = await tx.query<{ total: string }[]>(`select ${all} - ${others} as total`, values);
  return Number(row!.total);
}

/** Nobody switches it off, which ends what is pending, before this transaction has ended. */
async function activeWebhook(tx: EntityManager, scope: WebhookScope, id: string): Promise<Webhook> {
  const webhook = await findWebhook(tx, scope, id, { lock: true });
  if (!webhook.isActive) throw new DomainError('webhook.inactive');
  return webhook;
}

async function findDelivery(
  tx: EntityManager,
  scope: WebhookScope,
  webhookId: string,
  id: string,
  { lock = false } = {},
): Promise<WebhookDelivery> {
  const where = { ...ownOf(scope), webhookId, id };
  const delivery = await tx.findOne(WebhookDelivery, lock ? { where, lock: { mode: 'pessimistic_write' } } : { where });
  if (!delivery) throw new DomainError('webhook.delivery_not_found');
  const [standing] = await asTheyStand(tx, scope, [delivery]);
  return standing as WebhookDelivery;
}

/** Each with its attempts, which one query finds for all of them. */
async function withAttempts(
  tx: EntityManager,
  { accountId }: WebhookScope,
  deliveries: WebhookDelivery[],
): Promise<ShownDelivery[]> {
  const where = { accountId, deliveryId: In(deliveries.map(({ id }) => id)) };
  const attempts = deliveries.length ? await tx.find(WebhookAttempt, { where, order: { number: 'ASC' } }) : [];
  const shown = new Map(deliveries.map((delivery) => [delivery.id, { delivery, attempts: [] as WebhookAttempt[] }]));
  for (const attempt of attempts) shown.get(attempt.deliveryId)?.attempts.push(attempt);
  return [...shown.values()];
}

async function withAttemptsOf(
  tx: EntityManager,
  scope: WebhookScope,
  delivery: WebhookDelivery,
): Promise<ShownDelivery> {
  const [shown] = await withAttempts(tx, scope, [delivery]);
  return shown as ShownDelivery;
}

const placeOf = ({ accountId, applicationId, environmentId }: WebhookScope) => ({
  accountId,
  applicationId: applicationId ?? null,
  environmentId: environmentId ?? null,
});

function testOf({ id: webhookId, accountId, environmentId }: Webhook, eventId: string, at: Date): WebhookDelivery {
  const body = {
    type: testEventType,
    timestamp: at,
    data: { resource_type: 'webhook', resource_id: webhookId },
    environment_id: environmentId,
    account_id: accountId,
  };
  return {
    id: uuidv7(),
    accountId,
    environmentId,
    webhookId,
    eventId,
    eventType: testEventType,
    body: JSON.stringify(body),
    status: 'pending',
    endedReason: null,
    attemptCount: 0,
    nextAttemptAt: at,
    createdAt: at,
    retriedAt: null,
    settledAt: null,
  };
}

/** Of what a test sends; nothing else has it, and nobody subscribes to it. */
export const testEventType = 'webhook.test';
