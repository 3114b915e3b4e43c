import type { WebhookDelivery } from '../../../entities/webhook-delivery.js';

/** What the process of a delivery is started with. The fan-out writes the same, in SQL. */
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
