import type { EntityManager } from 'typeorm';
import { AccountIntent } from '../../../entities/account-intent.js';
import { Membership } from '../../../entities/membership.js';
import { User } from '../../../entities/user.js';
import { after } from '../../platform/clock.js';
import { provisionAccount } from '../accounts/provisioning.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events/record.js';
import { claimedBy, lockUser } from './claim.js';
import { newIntent, parkIntent, type WantedAccount } from './park.js';
import { type ProvisionedIntent, provisionedBefore } from './provision.js';

/** How many Accounts a user can have and still create another: each sign-in and `me` return all of them. */
const maxAccounts = 1_000;

export interface CreateNow extends WantedAccount {
  userId: string;
  claimId: string;
  now: Date;
  intentTtlMs: number;
}

/**
 * Creates an Account for a signed-in user at once, with an intent that is already consumed: if the response is lost, a
 * repeated request finds the Account by it. For a user without a password, parks the intent instead.
 * @returns null if the intent was parked
 * @throws DomainError account.slug_taken, account.limit_reached
 */
export async function createNow(tx: EntityManager, request: CreateNow): Promise<ProvisionedIntent | null> {
  const { userId, claimId, now, intentTtlMs, ...wanted } = request;
  await lockUser(tx, userId);
  const before = await claimedBy(tx, request);
  if (before) return provisionedBefore(tx, before);
  const user = await tx.findOneBy(User, { id: userId });
  if (!user) throw new DomainError('auth.invalid_credentials'); // deleted since authentication
  if ((await tx.countBy(Membership, { userId })) >= maxAccounts) throw new DomainError('account.limit_reached');
  const expiresAt = after(now, intentTtlMs);
  if (user.passwordHash === null) {
    const id = await parkIntent(tx, { ...wanted, user, now, expiresAt });
    await recordEvent(tx, 'auth.account_intent_parked', { resourceId: id });
    return null;
  }
  const { account, application } = await provisionAccount(tx, { ...wanted, userId, now });
  const intent = newIntent({ ...wanted, userId, now, expiresAt });
  const consumed = { status: 'consumed', claimId, claimedAt: now, accountId: account.id, endedAt: now } as const;
  await tx.insert(AccountIntent, { ...intent, ...consumed });
  return { accountId: account.id, applicationId: application.id };
}
