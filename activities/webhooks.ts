import type { WebhookDeliveries } from '../src/domain/webhooks/deliveries.js';
import { settled } from './settled.js';

export type { DeliveryLook } from '../src/domain/webhooks/deliveries.js';
export type WebhookActivities = ReturnType<typeof createWebhookActivities>;

export const createWebhookActivities = ({ webhookDeliveries }: { webhookDeliveries: WebhookDeliveries }) => ({
  attemptWebhook: (deliveryId: string, webhookId: string, accountId?: string) =>
    settled(() => webhookDeliveries.attempt(deliveryId, webhookId, accountId)),
  cancelWebhookDelivery: (deliveryId: string) => settled(() => webhookDeliveries.cancel(deliveryId)),
});
