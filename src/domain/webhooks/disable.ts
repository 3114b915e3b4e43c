import type { EntityManager, FindOptionsWhere } from 'typeorm';
import { Webhook, type WebhookDisabledReason } from '../../../entities/webhook.js';
import { systemActor } from '../../platform/context.js';
import { recordEvent } from '../events/record.js';
import { switchedOffAs } from './delivery-status.js';
import { writeRoutes } from './routes.js';
import { stopWaiting } from './stops.js';

/**
 * Switches a subscription off because its receiver does not want it, or does not answer, and ends pending deliveries;
 * `webhook.disabled` has the reason. Repeating it is harmless.
 * @param still conditions that must still hold for the subscription, such as the URL that was called
 * @returns the subscription, if this call switched it off
 */
export async function disableWebhook(
  tx: EntityManager,
  id: string,
  reason: WebhookDisabledReason,
  now: Date,
  still: FindOptionsWhere<Webhook>,
): Promise<Webhook | null> {
  const switchedOff = { isActive: false, disabledReason: reason, updatedAt: now };
  const { affected } = await tx.update(Webhook, { ...still, id, isActive: true }, switchedOff);
  if (!affected) return null;
  const webhook = await tx.findOneByOrFail(Webhook, { id });
  await writeRoutes(tx, webhook);
  await stopWaiting(tx, webhook, switchedOffAs(reason));
  await recordEvent(tx, 'webhook.disabled', {
    ...webhook,
    resourceId: id,
    metadata: { reason },
    actor: systemActor,
  });
  return webhook;
}
