import type { EntityManager } from 'typeorm';
import { AccountIntent } from '../../../entities/account-intent.js';
import { Application } from '../../../entities/application.js';
import { runInContext } from '../../platform/context.js';
import { provisionAccount } from '../accounts/provisioning.js';
import { DomainError, isErrorCode } from '../errors.js';
import { recordEvent } from '../events/record.js';

/** The Account that was created from an intent, and its first Application. */
export interface ProvisionedIntent {
  accountId: string;
  applicationId: string;
}

/**
 * Creates the Account of a claimed intent, in the caller's transaction. Repeating it returns the same ids.
 * @throws DomainError account_intent.not_found for an intent that is not claimed, account.slug_taken
 */
export async function provisionIntent(tx: EntityManager, id: string, now: Date): Promise<ProvisionedIntent> {
  const intent = await tx.findOne(AccountIntent, { where: { id }, lock: { mode: 'pessimistic_write' } });
  if (intent?.status === 'consumed') return provisionedBefore(tx, intent);
  if (intent?.status === 'failed') throw failureOf(intent);
  if (intent?.status !== 'claimed') throw new DomainError('account_intent.not_found');
  const { userId, accountName, applicationName, accountSlug, correlationId } = intent;
  // The actor is the person who resumed the intent, whichever process does the work.
  return runInContext({ correlationId, actor: { type: 'platform_admin', id: userId } }, async () => {
    const wanted = { userId, accountName, applicationName, ...(accountSlug !== null && { accountSlug }), now };
    const { account, application } = await provisionAccount(tx, wanted);
    await tx.update(
      AccountIntent,
      { id },
      { status: 'consumed', accountId: account.id, endedReason: null, endedAt: now },
    );
    await recordEvent(tx, 'auth.account_intent_consumed', { accountId: account.id, resourceId: id });
    return { accountId: account.id, applicationId: application.id };
  });
}

/** @throws DomainError account_intent.not_found if the Account or its Applications have been deleted since */
export async function provisionedBefore(tx: EntityManager, { accountId }: AccountIntent): Promise<ProvisionedIntent> {
  const application = await tx.findOne(Application, {
    where: { accountId: accountId! },
    order: { createdAt: 'asc', id: 'asc' },
  });
  if (!application) throw new DomainError('account_intent.not_found');
  return { accountId: application.accountId, applicationId: application.id };
}

/** Returns the error with which an intent failed. */
export const failureOf = ({ endedReason }: AccountIntent): DomainError =>
  new DomainError(isErrorCode(endedReason) ? endedReason : 'service.unavailable', { retryAfter: 5 });
