import { type EntityManager, In, IsNull, LessThanOrEqual, Not } from 'typeorm';
import { Webhook } from '../../../entities/webhook.js';
import { WebhookDelivery } from '../../../entities/webhook-delivery.js';
import { after, days } from '../../platform/clock.js';
import { systemActor } from '../../platform/context.js';
import type { Db } from '../../platform/database/db.js';
import { recordEvent } from '../events/record.js';
import { type AttemptResult, listResult } from './attempt-rows.js';
import { disableWebhook } from './disable.js';
import { tellAdministrators } from './mails.js';
import { nextAttemptAt, type RetrySchedule } from './retries.js';
import { endStopped } from './stops.js';

export interface MadeAttempt {
  id: string;
  webhookId: string;
  /** The URL that was called. The result does not count against a URL that was set since. */
  url: string;
  number: number;
  result: AttemptResult;
  /** When it was due, as of its beginning. */
  dueAt: Date | null;
  schedule: RetrySchedule;
  now: Date;
}

export type Ended = Pick<WebhookDelivery, 'status' | 'nextAttemptAt' | 'attemptCount'>;

/** A subscription is switched off after failing for this long (contract §7). */
const givenUpAfterMs = days(5);

/**
 * Stores the result of an attempt, and updates the delivery and its subscription accordingly. Locks the subscription
 * before the delivery, as switching it off does: otherwise two transactions could deadlock.
 */
export const settleAttempt = (db: Pick<Db, 'transaction'>, attempt: MadeAttempt): Promise<Ended> =>
  db.transaction('system', async (tx) => {
    const { id, number, result } = attempt;
    const isSuccess = result.statusCode !== null && result.statusCode >= 200 && result.statusCode < 300;
    const attempts = await listResult(tx, id, number, result);
    if (isSuccess) await succeed(tx, attempt);
    else await fail(tx, attempt, attempts);
    return (
      (await tx.findOneBy(WebhookDelivery, { id })) ?? { status: 'cancelled', nextAttemptAt: null, attemptCount: 0 }
    );
  });

/** Marks the delivery as succeeded even if it was cancelled or its subscription switched off during the attempt. */
async function succeed(tx: EntityManager, { id, webhookId, now }: MadeAttempt): Promise<void> {
  await tx.update(Webhook, { id: webhookId, failingSince: Not(IsNull()) }, { failingSince: null });
  await tx.update(
    WebhookDelivery,
    { id, status: In(['pending', 'cancelled']) },
    { status: 'succeeded', endedReason: null, nextAttemptAt: null, settledAt: now },
  );
}

/**
 * Schedules the next attempt, or gives up. An attempt that somebody requested during this one stays scheduled.
 * @param attempts how many attempts have completed
 */
async function fail(
  tx: EntityManager,
  { id, webhookId, url, result, dueAt, schedule, now }: MadeAttempt,
  attempts: number,
): Promise<void> {
  await tx.update(Webhook, { id: webhookId, url, failingSince: IsNull() }, { failingSince: now });
  if (result.statusCode === 410) await disableWebhook(tx, webhookId, 'gone', now, { url });
  else {
    const failingSince = LessThanOrEqual(after(now, -givenUpAfterMs));
    const disabled = await disableWebhook(tx, webhookId, 'failing', now, { url, failingSince });
    if (disabled) await tellAdministrators(tx, disabled, now);
  }
  const delivery = await tx.findOne(WebhookDelivery, { where: { id }, lock: { mode: 'pessimistic_write' } });
  if (await endStopped(tx, id)) return;
  if (delivery?.nextAttemptAt && delivery.nextAttemptAt.getTime() !== dueAt?.getTime()) return;
  const next = nextAttemptAt(schedule, { attempts, retryAfter: result.retryAfter, now });
  if (next) return void (await tx.update(WebhookDelivery, { id, status: 'pending' }, { nextAttemptAt: next }));
  const ended = { status: 'failed', endedReason: 'attempts_exhausted', nextAttemptAt: null, settledAt: now } as const;
  const { affected } = await tx.update(WebhookDelivery, { id, status: 'pending' }, ended);
  if (affected) await recordFailure(tx, id, attempts);
}

async function recordFailure(tx: EntityManager, id: string, attempts: number): Promise<void> {
  const { accountId, environmentId, webhookId, eventId, eventType } = await tx.findOneByOrFail(WebhookDelivery, { id });
  await recordEvent(tx, 'webhook.delivery_failed', {
    accountId,
    environmentId,
    resourceId: id,
    metadata: { webhook_id: webhookId, event_id: eventId, event_type: eventType, attempts },
    outcome: 'failure',
    actor: systemActor,
  });
}
