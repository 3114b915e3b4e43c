import type { WebhookDeliveries } from '../src/domain/webhooks/deliveries.js';
import { settled } from './settled.js';
import { withWait } from './waiting.js';

export type { DeliveryLook } from '../src/domain/webhooks/deliveries.js';
export type WebhookActivities = ReturnType<typeof createWebhookActivities>;

export const createWebhookActivities = ({ webhookDeliveries }: { webhookDeliveries: WebhookDeliveries }) => ({
  attemptWebhook: (deliveryId: string, webhookId: string, accountId?: string) =>
    settled(async () => {
      const look = await webhookDeliveries.attempt(deliveryId, webhookId, accountId);
      return withWait(look, look.wakeAt);
    }),
  cancelWebhookDelivery: (deliveryId: string) => settled(() => webhookDeliveries.cancel(deliveryId)),
});
