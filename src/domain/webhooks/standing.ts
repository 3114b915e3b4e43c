import { type EntityManager, LessThan } from 'typeorm';
import { WebhookDelivery } from '../../../entities/webhook-delivery.js';
import { DomainError } from '../errors.js';
import { startLater } from '../outbox.js';
import { webhookDeliveryInput } from './process.js';

export type CancelReason = 'webhook_deleted' | 'webhook_disabled' | 'webhook_gone' | 'cancelled_by_operator';

/** Ends one that has not arrived. Its process finds the row ended when it looks next. */
export async function cancelPending(
  tx: EntityManager,
  that: { id: string; accountId?: string },
  reason: CancelReason,
  now: Date,
): Promise<void> {
  const cancelled = { status: 'cancelled', endedReason: reason, nextAttemptAt: null, settledAt: now } as const;
  await tx.update(WebhookDelivery, { ...that, status: 'pending' }, cancelled);
}

/** By the schedule and by hand: each is listed with the delivery. */
const mostAttempts = 50;

/**
 * Has one attempted now, whether it waits or has ended: its process looks at it, or is started again.
 * @param delivery as the caller has locked it
 * @returns what has changed of it
 * @throws DomainError webhook.too_many_attempts
 */
export async function attemptNow(
  tx: EntityManager,
  delivery: Parameters<typeof webhookDeliveryInput>[0],
  now: Date,
): Promise<Pick<WebhookDelivery, 'status' | 'endedReason' | 'settledAt' | 'nextAttemptAt'>> {
  const again = { status: 'pending', endedReason: null, settledAt: null, nextAttemptAt: now } as const;
  const retriedAt = () => 'clock_timestamp()'; // by the clock of what stops them
  const open = { accountId: delivery.accountId, id: delivery.id, attemptCount: LessThan(mostAttempts) };
  const { affected } = await tx.update(WebhookDelivery, open, { ...again, retriedAt });
  if (!affected) throw new DomainError('webhook.too_many_attempts');
  await startLater(tx, 'webhookDelivery', { ...webhookDeliveryInput(delivery), news: 'retryNow' });
  return again;
}
