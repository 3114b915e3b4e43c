import { type EntityManager, type FindOperator, IsNull } from 'typeorm';
import { Webhook } from '../../../entities/webhook.js';
import type { AccountScope } from '../../platform/scope.js';
import { DomainError } from '../errors.js';
import { lockAccount } from '../existing-account.js';
import { lockEnvironment } from '../existing-environment.js';

/** The owner of subscriptions: an Environment, or the Account itself if the scope has none. */
export interface WebhookScope extends AccountScope {
  applicationId?: string;
}

/** Conditions for the scope's own subscriptions: those of an Environment are not among the Account's. */
export const ownOf = ({
  accountId,
  environmentId,
}: WebhookScope): { accountId: string; environmentId: string | FindOperator<string> } => ({
  accountId,
  environmentId: environmentId ?? IsNull(),
});

/**
 * Keeps the Environment, or the Account, from being removed before the transaction ends: its removal switches off its
 * subscriptions, and rows about a subscription refer to it. Call it before a subscription is locked, as the removal
 * locks in this order.
 * @throws DomainError environment.not_found, account.not_found
 */
export const lockOwner = async (tx: EntityManager, { accountId, environmentId }: WebhookScope): Promise<void> =>
  environmentId === undefined
    ? lockAccount(tx, { accountId })
    : void (await lockEnvironment(tx, { accountId, environmentId }));

/** @throws DomainError webhook.not_found */
export async function findWebhook(
  tx: EntityManager,
  scope: WebhookScope,
  id: string,
  { lock = false } = {},
): Promise<Webhook> {
  const where = { ...ownOf(scope), id };
  const webhook = await tx.findOne(Webhook, lock ? { where, lock: { mode: 'pessimistic_write' } } : { where });
  if (!webhook) throw new DomainError('webhook.not_found');
  return webhook;
}

/**
 * Locks and returns an active subscription: nobody can switch it off, which ends pending deliveries, before this
 * transaction has ended.
 * @throws DomainError webhook.not_found, webhook.inactive
 */
export async function activeWebhook(tx: EntityManager, scope: WebhookScope, id: string): Promise<Webhook> {
  const webhook = await findWebhook(tx, scope, id, { lock: true });
  if (!webhook.isActive) throw new DomainError('webhook.inactive');
  return webhook;
}
