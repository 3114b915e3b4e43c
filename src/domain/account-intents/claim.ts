import { type EntityManager, IsNull, LessThan, MoreThan, Not } from 'typeorm';
import { AccountIntent, type AccountIntentStatus } from '../../../entities/account-intent.js';
import { User } from '../../../entities/user.js';
import { after, hours } from '../../platform/clock.js';
import { cancelPlanned } from '../emails/cancel.js';
import { recordEvent } from '../events/record.js';
import { noticeCause } from './process.js';

/** A repeated request finds the intent that it claimed for as long as an Idempotency-Key is valid (contract §1). */
const claimLife = hours(24);

export type Claim =
  /** `discardedIds`: older intents of the same user, which this claim discarded. */
  { mine: true; discardedIds: string[] } | { mine: false; status: AccountIntentStatus };

/** Returns the current status: `expired` even if no worker has recorded it, `discarded` for a deleted intent. */
export const intentStatusOf = (intent: AccountIntent | null, now: Date): AccountIntentStatus => {
  if (!intent) return 'discarded';
  return intent.status === 'parked' && intent.expiresAt <= now ? 'expired' : intent.status;
};

/** Locks the user's row, so that all decisions about their intents are serialized. */
export const lockUser = (tx: EntityManager, userId: string): Promise<unknown> =>
  tx.query('select 1 from users where id = $1 for no key update', [userId]);

/**
 * Whether the user has a password. A user without one signs in through a provider only and cannot create an Account
 * (spec, "Parked intent"): it would be lost with the provider.
 */
export const hasPassword = (tx: EntityManager, userId: string): Promise<boolean> =>
  tx.existsBy(User, { id: userId, passwordHash: Not(IsNull()) });

/** Returns the intent that an earlier try of this request claimed. */
export const claimedBy = (
  tx: EntityManager,
  { userId, claimId, now }: { userId: string; claimId: string; now: Date },
) => tx.findOneBy(AccountIntent, { userId, claimId, claimedAt: MoreThan(after(now, -claimLife)) });

/** Returns the newest of a user's parked intents: it is what the person asked for last. */
export const newestParked = (tx: EntityManager, userId: string, now: Date) =>
  tx.findOne(AccountIntent, {
    where: { userId, status: 'parked', expiresAt: MoreThan(now) },
    order: { createdAt: 'desc', id: 'desc' },
  });

/**
 * Claims an intent for one request, before anything is created, so that no other request can. Discards the user's older
 * intents: otherwise each of several concurrent resumes would find the next one. Repeating it returns the same.
 * @returns not `mine` and `parked` if the owner has to set a password first: the intent stays parked until then
 */
export async function claimIntent(
  tx: EntityManager,
  { id, claimId, now }: { id: string; claimId: string; now: Date },
): Promise<Claim> {
  const found = await tx.findOneBy(AccountIntent, { id });
  if (!found) return { mine: false, status: 'discarded' };
  await lockUser(tx, found.userId);
  const intent = await tx.findOneBy(AccountIntent, { id }); // again, under the lock
  const older = { userId: found.userId, id: LessThan(id) };
  if (intent?.claimId === claimId) {
    const ended = await tx.findBy(AccountIntent, { ...older, status: 'discarded', endedReason: superseded });
    return { mine: true, discardedIds: ended.map((one) => one.id) };
  }
  const status = intentStatusOf(intent, now);
  if (status !== 'parked' || !(await hasPassword(tx, found.userId))) return { mine: false, status };
  await tx.update(AccountIntent, { id, claimId: IsNull() }, { status: 'claimed', claimId, claimedAt: now });
  const discardedIds = (await tx.findBy(AccountIntent, { ...older, status: 'parked' })).map((one) => one.id);
  await discardIntents(tx, discardedIds, superseded, now);
  return { mine: true, discardedIds };
}

const superseded = 'superseded';

/** Discards parked intents. The caller has locked their user. */
export async function discardIntents(tx: EntityManager, ids: string[], reason: string, now: Date): Promise<void> {
  for (const id of ids) {
    await tx.update(
      AccountIntent,
      { id, status: 'parked' },
      { status: 'discarded', endedReason: reason, endedAt: now },
    );
    await recordEvent(tx, 'auth.account_intent_discarded', { resourceId: id, metadata: { reason } });
  }
  await cancelPlanned(tx, ids.map(noticeCause), now);
}
