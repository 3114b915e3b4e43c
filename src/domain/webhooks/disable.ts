import type { EntityManager, FindOptionsWhere } from 'typeorm';
import { Webhook, type WebhookDisabledReason } from '../../../entities/webhook.js';
import { systemActor } from '../../platform/context.js';
import { recordEvent } from '../events/record.js';
import { writeRoutes } from './routes.js';
import { stopWaiting } from './stops.js';

/**
 * Switches a subscription off because its receiver does not want it, or does not answer; `webhook.disabled` says why, and
 * pending deliveries end. Repeating it is harmless.
 * @param still what is so of it yet: the URL that was called, for one
 * @returns the subscription, where it was switched off now
 */
export async function disableWebhook(
  tx: EntityManager,
  id: string,
  reason: WebhookDisabledReason,
  now: Date,
  still: FindOptionsWhere<Webhook> = {},
): Promise<Webhook | null> {
  const switchedOff = { isActive: false, disabledReason: reason, updatedAt: now };
  const { affected } = await tx.update(Webhook, { ...still, id, isActive: true }, switchedOff);
  if (!affected) return null;
  const webhook = await tx.findOneByOrFail(Webhook, { id });
  await writeRoutes(tx, webhook);
  await stopWaiting(tx, webhook, reason === 'gone' ? 'webhook_gone' : 'webhook_disabled');
  await recordEvent(tx, 'webhook.disabled', {
    ...webhook,
    resourceId: id,
    metadata: { reason },
    actor: systemActor,
  });
  return webhook;
}
