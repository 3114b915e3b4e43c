import { Type } from 'typebox';
import type { AccountScope, EnvironmentScope } from '../../platform/scope.js';
import type { Services } from '../../services.js';
import type { Authorization } from '../surfaces/operation.js';
import { Id } from '../surfaces/schemas.js';

/** The owner of the webhooks that an operation is about: both scopes have the same operations, each declared once. */
export interface WebhooksOf {
  level: 'environment' | 'account';
  tag: string;
  /** Precedes `Webhook` in the operations' names. */
  prefix: '' | 'Account';
  /** For sentences, as in "of the environment". */
  owner: string;
  viewing: Authorization;
  changing: Authorization;
}

export const ofEnvironment: WebhooksOf = {
  level: 'environment',
  tag: 'Webhooks',
  prefix: '',
  owner: 'environment',
  viewing: { permission: 'webhook.view', capability: 'env_webhooks.view' },
  changing: { permission: 'webhook.manage', capability: 'env_webhooks.manage' },
};
export const ofAccount: WebhooksOf = {
  level: 'account',
  tag: 'Webhooks',
  prefix: 'Account',
  owner: 'account',
  viewing: { capability: 'account_webhooks.view' },
  changing: { capability: 'account_webhooks.manage' },
};

export const ByDelivery = Type.Object({ id: Id, delivery_id: Id });

/** Throws the 404 of a webhook, which comes before the 400 for the rest of the request. */
export const exists = ({
  services,
  scope,
  params,
}: {
  services: Services;
  scope: AccountScope | EnvironmentScope;
  params: { id: string };
}) => services.webhooks.get(scope, params.id);
