import { logoutEventType, type WebhookDelivery } from '../../../entities/webhook-delivery.js';

/** Returns the input of a delivery's process. The fan-out writes the same in SQL, as does `logoutInput`. */
export const webhookDeliveryInput = ({
  id,
  webhookId,
  accountId,
  environmentId,
  eventType,
}: Pick<WebhookDelivery, 'id' | 'webhookId' | 'accountId' | 'environmentId' | 'eventType'>) => ({
  deliveryId: id,
  webhookId,
  accountId,
  environmentId,
  ...(eventType === logoutEventType && { receiver: 'client' as const }),
});
