import { type EntityManager, type FindOptionsWhere, LessThan } from 'typeorm';
import { WebhookDelivery } from '../../../entities/webhook-delivery.js';
import { DomainError } from '../errors.js';
import { startLater } from '../outbox.js';
import { processInput } from './process.js';

export type CancelReason = 'webhook_deleted' | 'webhook_disabled' | 'webhook_gone' | 'cancelled_by_operator';

/** Ends what has not arrived, of those that are meant. Their processes find the rows ended when they look next. */
export async function cancelPending(
  tx: EntityManager,
  those: Pick<FindOptionsWhere<WebhookDelivery>, 'id' | 'webhookId' | 'accountId'>,
  reason: CancelReason,
  now: Date,
): Promise<void> {
  const cancelled = { status: 'cancelled', endedReason: reason, nextAttemptAt: null, settledAt: now } as const;
  await tx.update(WebhookDelivery, { ...those, status: 'pending' }, cancelled);
}

/** By the schedule and by hand: each is listed with the delivery. */
export const mostAttempts = 50;

/**
 * Has one attempted now, whether it waits or has ended: its process looks at it, or is started again.
 * @param delivery as the caller has locked it
 * @returns what has changed of it
 * @throws DomainError webhook.too_many_attempts
 */
export async function attemptNow(
  tx: EntityManager,
  delivery: Parameters<typeof processInput>[0],
  now: Date,
): Promise<Pick<WebhookDelivery, 'status' | 'endedReason' | 'settledAt' | 'nextAttemptAt'>> {
  const again = { status: 'pending', endedReason: null, settledAt: null, nextAttemptAt: now } as const;
  const open = { accountId: delivery.accountId, id: delivery.id, attemptCount: LessThan(mostAttempts) };
  const { affected } = await tx.update(WebhookDelivery, open, again);
  if (!affected) throw new DomainError('webhook.too_many_attempts');
  await startLater(tx, 'webhookDelivery', { ...processInput(delivery), news: 'retryNow' });
  return again;
}
