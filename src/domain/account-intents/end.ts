import { type EntityManager, LessThanOrEqual } from 'typeorm';
import { AccountIntent, type AccountIntentStatus } from '../../../entities/account-intent.js';
import { cancelPlanned } from '../emails/cancel.js';
import { queueEmail } from '../emails/queue.js';
import { recordEvent } from '../events/record.js';
import { lockUser } from './claim.js';
import { failureEmail, noticeCause } from './process.js';
import { type ProvisionedIntent, provisionedBefore } from './provision.js';

/** Ends a parked intent and returns the status that it has then. Repeating it is harmless. */
export async function endIntent(
  tx: EntityManager,
  id: string,
  { status, reason, due, now }: { status: 'expired' | 'cancelled'; reason: string; due: boolean; now: Date },
): Promise<AccountIntentStatus> {
  const intent = await tx.findOneBy(AccountIntent, { id });
  if (!intent) return 'discarded';
  await lockUser(tx, intent.userId);
  const parked = { id, status: 'parked' as const, ...(due && { expiresAt: LessThanOrEqual(now) }) };
  const { affected } = await tx.update(AccountIntent, parked, { status, endedReason: reason, endedAt: now });
  if (affected) {
    await recordEvent(tx, `auth.account_intent_${status}`, { resourceId: id, metadata: { reason } });
    await cancelPlanned(tx, [noticeCause(id)], now);
  }
  return (await tx.findOneBy(AccountIntent, { id }))?.status ?? 'discarded';
}

/**
 * Ends a claimed intent whose Account cannot be created, and notifies its owner.
 * @returns the Account if it was created after all: a lost response looks like a failure
 */
export async function failIntent(
  tx: EntityManager,
  id: string,
  { reason, now }: { reason: string; now: Date },
): Promise<ProvisionedIntent | null> {
  const failed = { status: 'failed', endedReason: reason, endedAt: now } as const;
  const { affected } = await tx.update(AccountIntent, { id, status: 'claimed' }, failed);
  const intent = await tx.findOneBy(AccountIntent, { id });
  if (intent?.status === 'consumed') return provisionedBefore(tx, intent);
  if (!affected || !intent) return null;
  await queueEmail(tx, failureEmail(intent), now);
  await recordEvent(tx, 'auth.account_intent_failed', { resourceId: id, metadata: { reason }, outcome: 'failure' });
  return null;
}
