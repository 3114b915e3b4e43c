import { type EntityManager, IsNull, LessThan, MoreThan, Not } from 'typeorm';
import { AccountIntent, type AccountIntentStatus } from '../../../entities/account-intent.js';
import { User } from '../../../entities/user.js';
import { after, hours } from '../../platform/clock.js';
import { recordEvent } from '../events/record.js';

/** As long as an Idempotency-Key counts (contract §1), a request that comes again has the intent that it claimed. */
const claimLife = hours(24);

export type Claim =
  | { mine: true /** Older wishes of the same user, which are over now. */; discardedIds: string[] }
  | { mine: false; status: AccountIntentStatus };

/** As it is now: an expired one says so, whether or not a worker has noticed; a deleted one is over as well. */
export const intentStatusOf = (intent: AccountIntent | null, now: Date): AccountIntentStatus => {
  if (!intent) return 'discarded';
  return intent.status === 'parked' && intent.expiresAt <= now ? 'expired' : intent.status;
};

/** Makes everything that decides about one user's intents happen one after the other. */
export const lockUser = (tx: EntityManager, userId: string): Promise<unknown> =>
  tx.query('select 1 from users where id = $1 for no key update', [userId]);

/** Who has none, since they sign in by a provider only, makes no Account (spec, "Parked intent"): it would be lost with the provider. */
export const hasPassword = (tx: EntityManager, userId: string): Promise<boolean> =>
  tx.existsBy(User, { id: userId, passwordHash: Not(IsNull()) });

/** The intent that this request has claimed before. */
export const claimedBy = (
  tx: EntityManager,
  { userId, claimId, now }: { userId: string; claimId: string; now: Date },
) => tx.findOneBy(AccountIntent, { userId, claimId, claimedAt: MoreThan(after(now, -claimLife)) });

/** Of several parked ones the newest counts: it is what the person asked for last. */
export const newestParked = (tx: EntityManager, userId: string, now: Date) =>
  tx.findOne(AccountIntent, {
    where: { userId, status: 'parked', expiresAt: MoreThan(now) },
    order: { createdAt: 'desc', id: 'desc' },
  });

/**
 * Takes an intent for a request, before anything is created, so that nobody else can. Older wishes of the user end with it:
 * otherwise each of many resumes at once would find the next one. Repeating it answers the same.
 * @returns not `mine` and `parked` where its owner has to set a password first: it goes on waiting for that
 */
export async function claimIntent(
  tx: EntityManager,
  { id, claimId, now }: { id: string; claimId: string; now: Date },
): Promise<Claim> {
  const found = await tx.findOneBy(AccountIntent, { id });
  if (!found) return { mine: false, status: 'discarded' };
  await lockUser(tx, found.userId);
  const intent = await tx.findOneBy(AccountIntent, { id }); // as it is under the lock
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

/** Ends parked intents, under the lock of their user. */
export async function discardIntents(tx: EntityManager, ids: string[], reason: string, now: Date): Promise<void> {
  for (const id of ids) {
    await tx.update(
      AccountIntent,
      { id, status: 'parked' },
      { status: 'discarded', endedReason: reason, endedAt: now },
    );
    await recordEvent(tx, 'auth.account_intent_discarded', { resourceId: id, metadata: { reason } });
  }
}
