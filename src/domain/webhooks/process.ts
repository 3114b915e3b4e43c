import type { WebhookDelivery } from '../../../entities/webhook-delivery.js';

/** Returns the input of a delivery's process. The fan-out writes the same in SQL. */
export const webhookDeliveryInput = ({
  id,
  webhookId,
  accountId,
  environmentId,
}: Pick<WebhookDelivery, 'id' | 'webhookId' | 'accountId' | 'environmentId'>) => ({
  deliveryId: id,
  webhookId,
  accountId,
  environmentId,
});
