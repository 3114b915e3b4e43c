import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { Webhook } from '../../../entities/webhook.js';
import { WebhookAttempt } from '../../../entities/webhook-attempt.js';
import { WebhookDelivery } from '../../../entities/webhook-delivery.js';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { createLimiter } from '../../platform/limiter.js';
import { workflowIdOf } from '../../platform/process-kinds.js';
import { webhookDeliveryInput } from '../delivery-input.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events/record.js';
import { countUse } from '../limits/rate-limits.js';
import type { Page } from '../lists/paging.js';
import { startLater } from '../outbox.js';
import type { RunningProcesses } from '../running-processes.js';
import { waitUntilStopped } from '../wait-until-stopped.js';
import { type DeliveryPage, listDeliveries, type ShownDelivery } from './delivery-rows.js';
import { attemptNow } from './delivery-status.js';
import { activeWebhook, findWebhook, lockOwner, ownOf, type WebhookScope } from './find.js';
import { withStop } from './stops.js';

/** A delivery with its attempts and with the columns that lists leave out. */
export type WholeDelivery = WebhookDelivery & Pick<ShownDelivery, 'attempts'>;

export type WebhookDeliveryLog = ReturnType<typeof createWebhookDeliveryLog>;

/** Limits for one subscription. Each retry and each test starts a process and calls somebody's server. */
const manualRetries = { name: 'webhook-retries', points: 600, windowSeconds: 60 };
const tests = { name: 'webhook-tests', points: 30, windowSeconds: 60 };

export interface DeliveryLogDeps {
  db: Db;
  rateLimits: boolean;
  now: Clock;
  processes: Pick<RunningProcesses, 'describe'>;
}

/** Shows the deliveries to a subscription, retries them, and sends tests. */
export function createWebhookDeliveryLog({ db, rateLimits, now, processes }: DeliveryLogDeps) {
  const limiters = { retry: createLimiter(db, manualRetries), test: createLimiter(db, tests) };
  /** @throws DomainError rate_limit.exceeded */
  async function count(what: keyof typeof limiters, { accountId }: WebhookScope, webhookId: string): Promise<void> {
    if (rateLimits) await countUse(limiters[what], `${accountId} ${webhookId}`);
  }

  /** @throws DomainError webhook.not_found */
  const exists = (scope: WebhookScope, id: string) => db.transaction(scope, (tx) => findWebhook(tx, scope, id));

  return {
    /** @throws DomainError webhook.not_found, and as `rangeOf` */
    async list(scope: WebhookScope, webhookId: string, page: DeliveryPage): Promise<Page<ShownDelivery>> {
      const found = await listDeliveries(db, scope, webhookId, page).catch(async (error: unknown) => {
        if (error instanceof DomainError) await exists(scope, webhookId); // a 404 comes before any 400
        throw error;
      });
      if (found.rows.length === 0) await exists(scope, webhookId);
      return found;
    },

    /** @throws DomainError webhook.not_found, webhook.delivery_not_found */
    get: (scope: WebhookScope, webhookId: string, id: string): Promise<WholeDelivery> =>
      db.transaction(scope, async (tx) => {
        await findWebhook(tx, scope, webhookId);
        return withAttempts(tx, scope, await findDelivery(tx, scope, webhookId, id));
      }),

    /**
     * Has a delivery attempted now, without waiting for its schedule; one that has ended is sent again as the same
     * message.
     * @throws DomainError webhook.not_found, webhook.delivery_not_found, webhook.inactive, webhook.too_many_attempts,
     *   rate_limit.exceeded; service.unavailable while the run of a cancelled delivery stops
     */
    async retry(scope: WebhookScope, webhookId: string, id: string): Promise<WholeDelivery> {
      const before = await db.transaction(scope, async (tx) => {
        await findWebhook(tx, scope, webhookId);
        return findDelivery(tx, scope, webhookId, id);
      });
      await count('retry', scope, webhookId);
      if (before.status === 'cancelled') {
        const workflowId = workflowIdOf('webhookDelivery', webhookDeliveryInput(before));
        await waitUntilStopped(processes, { workflowId, wasCancelled: before.endedReason === 'cancelled_by_operator' });
      }
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
        return withAttempts(tx, scope, { ...current, ...again });
      });
    },

    /**
     * Sends `webhook.test` to this subscription only.
     * @throws DomainError webhook.not_found, webhook.inactive, rate_limit.exceeded
     */
    async test(scope: WebhookScope, webhookId: string): Promise<WholeDelivery> {
      await exists(scope, webhookId);
      await count('test', scope, webhookId);
      return db.transaction(scope, async (tx) => {
        await lockOwner(tx, scope);
        const webhook = await activeWebhook(tx, scope, webhookId);
        const eventId = await recordEvent(tx, 'webhook.tested', { ...placeOf(scope), resourceId: webhookId });
        const delivery = testOf(webhook, eventId, await databaseTime(tx));
        await tx.insert(WebhookDelivery, delivery);
        await startLater(tx, 'webhookDelivery', webhookDeliveryInput(delivery));
        return { ...delivery, attempts: [] };
      });
    },
  };
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
  return withStop(tx, scope, delivery);
}

async function withAttempts(
  tx: EntityManager,
  { accountId }: WebhookScope,
  delivery: WebhookDelivery,
): Promise<WholeDelivery> {
  const where = { accountId, deliveryId: delivery.id };
  return { ...delivery, attempts: await tx.find(WebhookAttempt, { where, order: { number: 'ASC' } }) };
}

const placeOf = ({ accountId, applicationId, environmentId }: WebhookScope) => ({
  accountId,
  applicationId: applicationId ?? null,
  environmentId: environmentId ?? null,
});

/** The clock of stops: by that of an api which is behind, a new delivery would have ended with those before it. */
async function databaseTime(tx: EntityManager): Promise<Date> {
  const [row] = await tx.query<{ at: Date }[]>('select clock_timestamp() as at');
  return row!.at; // there is always one
}

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

/** The event type of tests only; no subscription can name it. */
const testEventType = 'webhook.test';
