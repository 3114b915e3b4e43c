import { Type } from 'typebox';
import type { Webhook } from '../../../entities/webhook.js';
import { webhookDeliveryStatuses } from '../../../entities/webhook-delivery.js';
import { processOfDelivery } from '../../domain/processes/kind-webhook.js';
import type { WholeDelivery } from '../../domain/webhooks/delivery-log.js';
import type { ShownAttempt, ShownDelivery } from '../../domain/webhooks/delivery-rows.js';
import { Growing, Id, Nullable, OneOf, Resource, Timestamp, Url } from '../surfaces/schemas.js';
import { type Presenting, ProcessOfResource, presentProcess } from './process-of-resource.js';

export const WebhookUrl = Type.String({
  ...Url,
  description:
    'Called with POST and https, at a public address only, unless the operator allows other networks. Must not contain ' +
    'credentials.',
});
export const EventTypes = Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
  minItems: 1,
  maxItems: 200,
  uniqueItems: true,
  description: 'Event types, or only `*` for all types, including those of later releases.',
});

const WebhookFields = {
  id: Id,
  scope: OneOf(['environment', 'account']),
  url: Type.String(),
  event_types: Type.Array(Type.String()),
  description: Nullable(Type.String()),
  is_active: Type.Boolean(),
  disabled_reason: Nullable(
    Growing(
      ['gone', 'failing'],
      'Why the service disabled it: its receiver answered 410, or nothing but failures for five days. Null if an ' +
        'administrator disabled it.',
    ),
  ),
  failing_since: Nullable(
    Type.String({ format: 'date-time', description: 'The first failure since the last success.' }),
  ),
  previous_secret_expires_at: Nullable(
    Type.String({
      format: 'date-time',
      description: 'Until then, deliveries are also signed with the secret from before the last rotation.',
    }),
  ),
  created_at: Timestamp,
  updated_at: Timestamp,
};
export const WebhookView = Resource('Webhook', WebhookFields);
export const WebhookWithSecret = Resource('WebhookWithSecret', {
  ...WebhookFields,
  secret: Type.String({
    description: 'Signs deliveries as defined by Standard Webhooks: `whsec_` and base64. Returned only once.',
    example: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  }),
});
export const WebhooksSummaryView = Resource('WebhooksSummary', {
  active_count: Type.Integer(),
  inactive_count: Type.Integer(),
});
export const EventTypesView = Type.Object({
  items: Type.Array(
    Resource('WebhookEventType', {
      type: Type.String({ example: 'node.updated' }),
      resource_type: Type.String(),
      category: Type.String(),
    }),
  ),
});

const DeliveryFields = {
  id: Type.String({ format: 'uuid', description: 'The `webhook-id` of every attempt.' }),
  webhook_id: Id,
  event_id: Id,
  event_type: Type.String(),
  status: OneOf(webhookDeliveryStatuses),
  ended_reason: Nullable(
    Type.String({
      example: 'attempts_exhausted',
      description:
        'Why it did not arrive: `attempts_exhausted`, `webhook_disabled`, `webhook_gone`, `webhook_deleted`, ' +
        '`cancelled_by_operator`.',
    }),
  ),
  attempt_count: Type.Integer(),
  next_attempt_at: Nullable(Timestamp),
  attempts: Type.Array(
    Resource('WebhookAttempt', {
      number: Type.Integer(),
      started_at: Timestamp,
      duration_ms: Nullable(Type.Integer()),
      status_code: Nullable(Type.Integer()),
      error: Nullable(Type.String({ description: 'Why there was no response.', example: 'timeout' })),
      response_excerpt: Nullable(
        Type.String({ description: 'The first KiB of the response, if it came from a public address.' }),
      ),
    }),
  ),
  created_at: Timestamp,
  settled_at: Nullable(Timestamp),
  process: ProcessOfResource,
};
export const DeliveryView = Resource('WebhookDelivery', DeliveryFields);
export const DeliveryDetailView = Resource('WebhookDeliveryDetail', {
  ...DeliveryFields,
  body: Type.String({ description: 'The exact bytes that are sent.' }),
});

export const presentWebhook = (webhook: Webhook) => ({
  id: webhook.id,
  scope: webhook.environmentId === null ? ('account' as const) : ('environment' as const),
  url: webhook.url,
  event_types: webhook.eventTypes,
  description: webhook.description,
  is_active: webhook.isActive,
  disabled_reason: webhook.disabledReason,
  failing_since: webhook.failingSince,
  previous_secret_expires_at: webhook.previousSecretUntil,
  created_at: webhook.createdAt,
  updated_at: webhook.updatedAt,
});

export const presentDelivery =
  ({ accountProcesses }: Presenting) =>
  (delivery: ShownDelivery) => ({
    id: delivery.id,
    webhook_id: delivery.webhookId,
    event_id: delivery.eventId,
    event_type: delivery.eventType,
    status: delivery.status,
    ended_reason: delivery.endedReason,
    attempt_count: delivery.attemptCount,
    next_attempt_at: delivery.nextAttemptAt,
    attempts: delivery.attempts.map(presentAttempt),
    created_at: delivery.createdAt,
    settled_at: delivery.settledAt,
    process: presentProcess(accountProcesses.of(processOfDelivery(delivery))),
  });

const presentAttempt = (attempt: ShownAttempt) => ({
  number: attempt.number,
  started_at: attempt.startedAt,
  duration_ms: attempt.durationMs,
  status_code: attempt.statusCode,
  error: attempt.error,
  response_excerpt: attempt.responseExcerpt,
});

export const presentDetail = (services: Presenting) => (delivery: WholeDelivery) => ({
  ...presentDelivery(services)(delivery),
  body: delivery.body,
});
