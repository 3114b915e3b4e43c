import { type EntityManager, In, IsNull, LessThanOrEqual, Not } from 'typeorm';
import { OAuthClient } from '../../../entities/oauth-client.js';
import { Webhook } from '../../../entities/webhook.js';
import { WebhookAttempt } from '../../../entities/webhook-attempt.js';
import { WebhookDelivery } from '../../../entities/webhook-delivery.js';
import { after, days } from '../../platform/clock.js';
import { systemActor } from '../../platform/context.js';
import type { Db } from '../../platform/database/db.js';
import { recordEvent } from '../events/record.js';
import { maxRefusals } from '../logout-tokens/message.js';
import { type AttemptResult, listResult } from './attempt-rows.js';
import { disableWebhook } from './disable.js';
import { mailAdministrators } from './mails.js';
import { nextAttemptAt, type RetrySchedule } from './retries.js';
import { endStopped } from './stops.js';

export interface MadeAttempt {
  id: string;
  webhookId: string;
  /** Whether the receiver is a client, which is never switched off: people's sign-outs depend on it. */
  isLogout: boolean;
  /** The URL that was called. The result does not count against a URL that was set since. */
  url: string;
  number: number;
  result: AttemptResult;
  /** When it was due, as of its beginning. */
  dueAt: Date | null;
  schedule: RetrySchedule;
  now: Date;
}

/** What an attempt has made of its delivery. */
export type DeliveryProgress = Pick<WebhookDelivery, 'status' | 'nextAttemptAt' | 'attemptCount'>;

/** A subscription is switched off after failing for this long (contract §7). */
const disabledAfterMs = days(5);

/**
 * Stores the result of an attempt, and updates the delivery and its subscription accordingly. Locks the subscription
 * before the delivery, as switching it off does: otherwise two transactions could deadlock.
 */
export const settleAttempt = (db: Pick<Db, 'transaction'>, attempt: MadeAttempt): Promise<DeliveryProgress> =>
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
async function succeed(tx: EntityManager, { id, webhookId, isLogout, url, now }: MadeAttempt): Promise<void> {
  if (!isLogout) await tx.update(Webhook, { id: webhookId, url, failingSince: Not(IsNull()) }, { failingSince: null });
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
async function fail(tx: EntityManager, attempt: MadeAttempt, attempts: number): Promise<void> {
  const { id, isLogout, result, dueAt, schedule, now } = attempt;
  if (!isLogout) await countAgainst(tx, attempt);
  const delivery = await tx.findOne(WebhookDelivery, { where: { id }, lock: { mode: 'pessimistic_write' } });
  if (await endStopped(tx, id)) return;
  if (delivery?.nextAttemptAt && delivery.nextAttemptAt.getTime() !== dueAt?.getTime()) return;
  const isRefused = isLogout && (await wasRefused(tx, id));
  const next = isRefused ? null : nextAttemptAt(schedule, { attempts, retryAfter: result.retryAfter, now });
  if (next) return void (await tx.update(WebhookDelivery, { id, status: 'pending' }, { nextAttemptAt: next }));
  const endedReason = isRefused ? 'refused' : 'attempts_exhausted';
  const ended = { status: 'failed', endedReason, nextAttemptAt: null, settledAt: now } as const;
  const { affected } = await tx.update(WebhookDelivery, { id, status: 'pending' }, ended);
  if (affected) await (isLogout ? recordFailedLogout : recordFailure)(tx, id, attempts);
}

/** Switches a subscription off whose receiver does not want it, or has failed for days. */
async function countAgainst(tx: EntityManager, { webhookId, url, result, now }: MadeAttempt): Promise<void> {
  await tx.update(Webhook, { id: webhookId, url, failingSince: IsNull() }, { failingSince: now });
  if (result.statusCode === 410) return void (await disableWebhook(tx, webhookId, 'gone', now, { url }));
  const failingSince = LessThanOrEqual(after(now, -disabledAfterMs));
  const disabled = await disableWebhook(tx, webhookId, 'failing', now, { url, failingSince });
  if (disabled) await mailAdministrators(tx, disabled, now);
}

/** Whether the latest calls have all been answered 400, as often as a client is believed not to mean it. */
async function wasRefused(tx: EntityManager, deliveryId: string): Promise<boolean> {
  const where = { deliveryId, durationMs: Not(IsNull()) };
  const latest = await tx.find(WebhookAttempt, { where, order: { number: 'DESC' }, take: maxRefusals });
  return latest.length === maxRefusals && latest.every(({ statusCode }) => statusCode === 400);
}

async function recordFailedLogout(tx: EntityManager, id: string, attempts: number): Promise<void> {
  const { accountId, environmentId, webhookId, body, endedReason } = await tx.findOneByOrFail(WebhookDelivery, { id });
  const { sub, sid } = JSON.parse(body);
  await recordEvent(tx, 'oauth_client.logout_failed', {
    accountId,
    environmentId,
    resourceId: webhookId,
    resourceLabel: (await tx.findOneBy(OAuthClient, { id: webhookId }))?.name ?? null,
    metadata: { identity_id: sub, session_id: sid, reason: endedReason, attempts },
    outcome: 'failure',
    actor: systemActor,
  });
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
