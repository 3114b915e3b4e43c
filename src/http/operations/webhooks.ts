import { Type } from 'typebox';
import { eventCatalogue } from '../../domain/events/catalogue.js';
import { eventTypesOf } from '../../domain/webhooks/rules.js';
import { camelCased } from '../../platform/database/naming.js';
import { listQuery, paginated } from '../surfaces/lists.js';
import { errors, type Operation, operation } from '../surfaces/operation.js';
import { Body, ById, Description, listOf, single } from '../surfaces/schemas.js';
import { getWebhookDelivery, listWebhookDeliveries, retryWebhookDelivery, testWebhook } from './webhook-deliveries.js';
import { exists, ofAccount, ofEnvironment, type WebhooksOf } from './webhook-scopes.js';
import {
  EventTypes,
  EventTypesView,
  presentWebhook,
  WebhooksSummaryView,
  WebhookUrl,
  WebhookView,
  WebhookWithSecret,
} from './webhook-views.js';

const listWebhooks = ({ level, tag, prefix, owner, viewing }: WebhooksOf) =>
  operation({
    level,
    tag,
    ...viewing,
    id: `list${prefix}Webhooks`,
    method: 'GET',
    path: '/webhooks',
    summary: `List the webhooks of the ${owner}`,
    description: '`q` searches URL and description.',
    query: listQuery(['created_at', 'url']),
    answers: { 200: listOf(WebhookView) },
    handle: async ({ services, scope, query: { sort_by: sortBy, ...page } }) =>
      paginated(await services.webhooks.list(scope, { ...page, sortBy }), presentWebhook),
  });

const getWebhooksSummary = ({ level, tag, prefix, owner, viewing }: WebhooksOf) =>
  operation({
    level,
    tag,
    ...viewing,
    id: `get${prefix}WebhooksSummary`,
    method: 'GET',
    path: '/webhooks/summary',
    summary: `Count the webhooks of the ${owner}`,
    query: Body({ q: Type.Optional(Type.String({ maxLength: 200, description: 'A part of the URL.' })) }),
    answers: { 200: single(WebhooksSummaryView) },
    async handle({ services, scope, query }) {
      const { active, inactive } = await services.webhooks.summary(scope, query.q);
      return { data: { active_count: active, inactive_count: inactive } };
    },
  });

const listWebhookEventTypes = ({ level, tag, prefix, owner, viewing }: WebhooksOf) =>
  operation({
    level,
    tag,
    ...viewing,
    id: `list${prefix}WebhookEventTypes`,
    method: 'GET',
    path: '/webhook-event-types',
    summary: `List the event types that a webhook of the ${owner} can subscribe to`,
    answers: { 200: EventTypesView },
    handle: async ({ scope }) => ({
      items: eventTypesOf(scope).map((type) => {
        const { resource, category } = eventCatalogue[type];
        return { type, resource_type: resource, category };
      }),
    }),
  });

const createWebhook = ({ level, tag, prefix, owner, changing }: WebhooksOf) =>
  operation({
    level,
    tag,
    ...changing,
    id: `create${prefix}Webhook`,
    method: 'POST',
    path: '/webhooks',
    summary: `Create a webhook of the ${owner}`,
    description:
      `At most 1000 per ${owner}. Deliveries follow Standard Webhooks. Verify their signature with the secret, which is ` +
      'returned only here.' +
      (owner === 'account' ? ' Events of the environments of the account are delivered too.' : ''),
    body: Body({
      url: WebhookUrl,
      event_types: EventTypes,
      description: Type.Optional(Description),
      is_active: Type.Optional(Type.Boolean({ default: true })),
    }),
    events: ['webhook.created'],
    answers: { 201: single(WebhookWithSecret), ...errors('validation.failed', 'webhook.limit_reached') },
    async handle({ services, scope, body }) {
      const { webhook, secret } = await services.webhooks.create(scope, {
        url: body.url,
        eventTypes: body.event_types,
        description: body.description ?? null,
        isActive: body.is_active ?? true,
      });
      return { data: { ...presentWebhook(webhook), secret } };
    },
  });

const getWebhook = ({ level, tag, prefix, owner, viewing }: WebhooksOf) =>
  operation({
    level,
    tag,
    ...viewing,
    id: `get${prefix}Webhook`,
    method: 'GET',
    path: '/webhooks/:id',
    summary: `Get a webhook of the ${owner}`,
    params: ById,
    answers: { 200: single(WebhookView), ...errors('webhook.not_found') },
    handle: async ({ services, scope, params }) => ({
      data: presentWebhook(await services.webhooks.get(scope, params.id)),
    }),
  });

const updateWebhook = ({ level, tag, prefix, owner, changing }: WebhooksOf) =>
  operation({
    level,
    tag,
    ...changing,
    id: `update${prefix}Webhook`,
    method: 'PATCH',
    path: '/webhooks/:id',
    summary: `Update a webhook of the ${owner}`,
    description:
      'Deactivating it cancels its deliveries in progress. Activating it again, or changing the URL, resets its failures; ' +
      'events that occur while it is inactive are not delivered, except those whose deliveries are created after its return.',
    params: ById,
    exists,
    body: Body({
      url: Type.Optional(WebhookUrl),
      event_types: Type.Optional(EventTypes),
      description: Type.Optional(Description),
      is_active: Type.Optional(Type.Boolean()),
    }),
    events: ['webhook.updated'],
    answers: { 200: single(WebhookView), ...errors('webhook.not_found', 'validation.failed') },
    async handle({ services, scope, params, body }) {
      return { data: presentWebhook(await services.webhooks.update(scope, params.id, camelCased(body))) };
    },
  });

const rotateWebhookSecret = ({ level, tag, prefix, owner, changing }: WebhooksOf) =>
  operation({
    level,
    tag,
    ...changing,
    id: `rotate${prefix}WebhookSecret`,
    method: 'POST',
    path: '/webhooks/:id/rotate-secret',
    summary: `Rotate the secret of a webhook of the ${owner}`,
    description:
      'The previous secret keeps signing for 24 hours, alongside the new one: each delivery then has two signatures.',
    params: ById,
    exists,
    events: ['webhook.updated'],
    answers: { 200: single(WebhookWithSecret), ...errors('webhook.not_found') },
    async handle({ services, scope, params }) {
      const { webhook, secret } = await services.webhooks.rotateSecret(scope, params.id);
      return { data: { ...presentWebhook(webhook), secret } };
    },
  });

const deleteWebhook = ({ level, tag, prefix, owner, changing }: WebhooksOf) =>
  operation({
    level,
    tag,
    ...changing,
    id: `delete${prefix}Webhook`,
    method: 'DELETE',
    path: '/webhooks/:id',
    summary: `Delete a webhook of the ${owner}`,
    description: 'Its deliveries in progress are cancelled.',
    params: ById,
    exists,
    events: ['webhook.deleted'],
    answers: { 204: Type.Null(), ...errors('webhook.not_found') },
    handle: ({ services, scope, params }) => services.webhooks.remove(scope, params.id),
  });

const all = [
  listWebhooks,
  createWebhook,
  getWebhooksSummary,
  listWebhookEventTypes,
  getWebhook,
  updateWebhook,
  deleteWebhook,
  rotateWebhookSecret,
  testWebhook,
  listWebhookDeliveries,
  getWebhookDelivery,
  retryWebhookDelivery,
];

/** For an Environment, on both surfaces. */
export const webhookOperations: readonly Operation[] = all.map((declare) => declare(ofEnvironment));
/** For the Account itself; only in the Portal. */
export const accountWebhookOperations: readonly Operation[] = all.map((declare) => declare(ofAccount));
