import { Type } from 'typebox';
import { webhookDeliveryStatuses } from '../../../entities/webhook-delivery.js';
import { always, listQuery, paginated } from '../surfaces/lists.js';
import { errors, operation } from '../surfaces/operation.js';
import { ById, listOf, OneOf, single } from '../surfaces/schemas.js';
import { ByDelivery, exists, type WebhooksOf } from './webhook-scopes.js';
import { DeliveryDetailView, DeliveryView, presentDelivery, presentDetail } from './webhook-views.js';

export const testWebhook = ({ level, tag, prefix, owner, changing }: WebhooksOf) =>
  operation({
    level,
    tag,
    ...changing,
    id: `test${prefix}Webhook`,
    method: 'POST',
    path: '/webhooks/:id/test',
    summary: `Send a test delivery to a webhook of the ${owner}`,
    description:
      'Sends an event of the type `webhook.test` to this webhook only; it is retried like any other delivery. Get the ' +
      'delivery to see the result. At most 30 per minute and webhook.',
    params: ById,
    exists,
    events: ['webhook.tested'],
    answers: { 200: single(DeliveryView), ...errors('webhook.not_found', 'webhook.inactive') },
    handle: async ({ services, scope, params }) => ({
      data: presentDelivery(services)(await services.webhookDeliveryLog.test(scope, params.id)),
    }),
  });

export const listWebhookDeliveries = ({ level, tag, prefix, owner, viewing }: WebhooksOf) =>
  operation({
    level,
    tag,
    ...viewing,
    id: `list${prefix}WebhookDeliveries`,
    method: 'GET',
    path: '/webhooks/:id/deliveries',
    summary: `List the deliveries to a webhook of the ${owner}`,
    description:
      'Each with its attempts and the responses of the receiver. `q` searches the event type. A delivery is kept for 30 ' +
      'days after it ends.',
    params: ById,
    exists,
    query: listQuery(['created_at'], {
      status: Type.Optional(OneOf(webhookDeliveryStatuses)),
      event_type: Type.Optional(Type.String({ maxLength: 100 })),
    }),
    answers: { 200: listOf(DeliveryView), ...errors('webhook.not_found') },
    isBroad: always,
    async handle({ services, scope, params, query: { sort_by: sortBy, status, event_type: eventType, ...page } }) {
      const asked = { ...page, sortBy, status, eventType };
      return paginated(await services.webhookDeliveryLog.list(scope, params.id, asked), presentDelivery(services));
    },
  });

export const getWebhookDelivery = ({ level, tag, prefix, owner, viewing }: WebhooksOf) =>
  operation({
    level,
    tag,
    ...viewing,
    id: `get${prefix}WebhookDelivery`,
    method: 'GET',
    path: '/webhooks/:id/deliveries/:delivery_id',
    summary: `Get a delivery to a webhook of the ${owner}`,
    description: 'Contains what is sent, and each attempt with the response of the receiver.',
    params: ByDelivery,
    answers: { 200: single(DeliveryDetailView), ...errors('webhook.not_found', 'webhook.delivery_not_found') },
    handle: async ({ services, scope, params }) => ({
      data: presentDetail(services)(await services.webhookDeliveryLog.get(scope, params.id, params.delivery_id)),
    }),
  });

export const retryWebhookDelivery = ({ level, tag, prefix, owner, changing }: WebhooksOf) =>
  operation({
    level,
    tag,
    ...changing,
    id: `retry${prefix}WebhookDelivery`,
    method: 'POST',
    path: '/webhooks/:id/deliveries/:delivery_id/retry',
    summary: `Retry a delivery to a webhook of the ${owner}`,
    description:
      'A delivery that waits for its next attempt is attempted immediately. One that has ended, successfully or not, is ' +
      'sent again with the same `webhook-id` and the same bytes. At most 50 attempts per delivery, and 600 retries per ' +
      'minute and webhook.',
    params: ByDelivery,
    exists: ({ services, scope, params }) => services.webhookDeliveryLog.get(scope, params.id, params.delivery_id),
    events: ['webhook.delivery_retried'],
    answers: {
      200: single(DeliveryView),
      ...errors('webhook.not_found', 'webhook.delivery_not_found', 'webhook.inactive', 'webhook.too_many_attempts'),
    },
    handle: async ({ services, scope, params }) => ({
      data: presentDelivery(services)(await services.webhookDeliveryLog.retry(scope, params.id, params.delivery_id)),
    }),
  });
