import { logoutEventType, type WebhookDelivery } from '../../entities/webhook-delivery.js';

/** Returns the input of a delivery's process. */
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

/** SQL: the same of a row of `webhook_deliveries` with this alias, for statements that create many. */
export const webhookDeliveryInputSql = (delivery: string): string =>
  `jsonb_build_object('deliveryId', ${delivery}.id, 'webhookId', ${delivery}.webhook_id, 'accountId', ${delivery}.account_id,
    'environmentId', ${delivery}.environment_id)
    || case ${delivery}.event_type when '${logoutEventType}' then '{"receiver":"client"}'::jsonb else '{}' end`;
