import { type EntityManager, type FindOperator, IsNull } from 'typeorm';
import { Webhook } from '../../../entities/webhook.js';
import type { AccountScope } from '../../platform/scope.js';
import { DomainError } from '../errors.js';
import { holdOpen } from '../standing-account.js';
import { holdEnvironment } from '../standing-environment.js';

/** Whose subscriptions: an Environment's, or the Account's own where there is no Environment in it. */
export interface WebhookScope extends AccountScope {
  applicationId?: string;
}

/** The scope's own: those of an Environment are not among the Account's. */
export const ownOf = ({
  accountId,
  environmentId,
}: WebhookScope): { accountId: string; environmentId: string | FindOperator<string> } => ({
  accountId,
  environmentId: environmentId ?? IsNull(),
});

/**
 * Keeps the Environment, or the Account, until the end of the transaction: when it ends it switches off its subscriptions. Before one of them is held,
 * as who deletes it takes them; what is written of one refers to it.
 * @throws DomainError environment.not_found, account.not_found
 */
export const holdPlace = async (tx: EntityManager, { accountId, environmentId }: WebhookScope): Promise<void> =>
  environmentId === undefined
    ? holdOpen(tx, { accountId })
    : void (await holdEnvironment(tx, { accountId, environmentId }));

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
 * Under a lock: nobody switches it off, which ends what is pending, before this transaction has ended.
 * @throws DomainError webhook.not_found, webhook.inactive
 */
export async function activeWebhook(tx: EntityManager, scope: WebhookScope, id: string): Promise<Webhook> {
  const webhook = await findWebhook(tx, scope, id, { lock: true });
  if (!webhook.isActive) throw new DomainError('webhook.inactive');
  return webhook;
}
