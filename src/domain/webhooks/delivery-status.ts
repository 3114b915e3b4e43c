import { type EntityManager, LessThan } from 'typeorm';
import type { WebhookDisabledReason } from '../../../entities/webhook.js';
import { WebhookDelivery } from '../../../entities/webhook-delivery.js';
import { webhookDeliveryInput } from '../delivery-input.js';
import { DomainError } from '../errors.js';
import { startLater } from '../outbox.js';

export type CancelReason =
  | 'webhook_deleted'
  | 'webhook_disabled'
  | 'webhook_gone'
  | 'client_without_logout_uri'
  | 'cancelled_by_operator';

/** Returns why deliveries of a subscription end that was switched off; null as its reason: by an administrator. */
export const switchedOffAs = (reason: WebhookDisabledReason | null) =>
  reason === 'gone' ? ('webhook_gone' as const) : ('webhook_disabled' as const);

/**
 * Cancels a delivery if it is pending, and returns whether it was. Its process finds the row cancelled when it reads it
 * next.
 */
export async function cancelPending(
  tx: EntityManager,
  that: { id: string; accountId?: string },
  reason: CancelReason,
  now: Date,
): Promise<boolean> {
  const cancelled = { status: 'cancelled', endedReason: reason, nextAttemptAt: null, settledAt: now } as const;
  const { affected } = await tx.update(WebhookDelivery, { ...that, status: 'pending' }, cancelled);
  return affected === 1;
}

/** Scheduled and manual attempts together: each is listed with the delivery. */
const maxAttempts = 50;

/**
 * Has a delivery attempted now, whether it is pending or has ended: its process is signalled, or started again.
 * @param delivery whose row the caller has locked
 * @returns the changed columns
 * @throws DomainError webhook.too_many_attempts
 */
export async function attemptNow(
  tx: EntityManager,
  delivery: Parameters<typeof webhookDeliveryInput>[0],
  now: Date,
): Promise<Pick<WebhookDelivery, 'status' | 'endedReason' | 'settledAt' | 'nextAttemptAt'>> {
  const again = { status: 'pending', endedReason: null, settledAt: null, nextAttemptAt: now } as const;
  const retriedAt = () => 'clock_timestamp()'; // the same clock as that of stops
  const open = { accountId: delivery.accountId, id: delivery.id, attemptCount: LessThan(maxAttempts) };
  const { affected } = await tx.update(WebhookDelivery, open, { ...again, retriedAt });
  if (!affected) throw new DomainError('webhook.too_many_attempts');
  await startLater(tx, 'webhookDelivery', { ...webhookDeliveryInput(delivery), news: 'retryNow' });
  return again;
}
