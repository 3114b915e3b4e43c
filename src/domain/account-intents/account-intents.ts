import { AccountIntent, type AccountIntentStatus } from '../../../entities/account-intent.js';
import type { Clock } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import type { ProcessInput } from '../../platform/process-kinds.js';
import { queueEmail } from '../emails/queue.js';
import { DomainError } from '../errors.js';
import { insertPasswordLink } from '../passwords/links.js';
import {
  type Claim,
  claimedBy,
  claimIntent,
  discardIntents,
  hasPassword,
  intentStatusOf,
  lockUser,
  newestParked,
} from './claim.js';
import { type CreateNow, createNow } from './create.js';
import { endIntent, failIntent } from './end.js';
import { accountIntentInput, accountIntentNotice } from './process.js';
import { failureOf, type ProvisionedIntent, provisionedBefore, provisionIntent } from './provision.js';
import { createAccountRetry } from './retry.js';

export interface AccountIntentsDeps {
  db: Db;
  sealing: Pick<Sealing, 'derive'>;
  now: Clock;
  /** Lifetime of a parked intent, in milliseconds. */
  intentTtlMs: number;
}

/** What a request to resume continues with. */
export type Resumable =
  | { status: 'parked' | 'claimed'; process: ProcessInput<'accountIntent'> }
  | ({ status: 'consumed' } & ProvisionedIntent);

export type AccountIntents = ReturnType<typeof createAccountIntents>;

/**
 * Intents of users to create further Accounts, from parking to the Account (spec, "Parked account-creation intent").
 */
export function createAccountIntents({ db, sealing, now, intentTtlMs }: AccountIntentsDeps) {
  return {
    /**
     * Creates the Account at once; returns null if the intent was parked because the user has no password.
     * @throws DomainError account.slug_taken, account.limit_reached
     */
    createNow: (request: Omit<CreateNow, 'now' | 'intentTtlMs'>): Promise<ProvisionedIntent | null> =>
      db.transaction('system', (tx) => createNow(tx, { ...request, now: now(), intentTtlMs })),

    /** Returns the user's newest parked intent, the only one that can be resumed. */
    pending: (userId: string): Promise<AccountIntent | null> =>
      db.transaction('system', (tx) => newestParked(tx, userId, now())),

    /**
     * Returns what a request continues with: the intent that an earlier try of it claimed, or the newest parked one.
     * @throws DomainError the reason for which the claimed intent failed; account.password_required if its owner has no
     *   password, with the intent still parked
     */
    findFor: (userId: string, claimId: string): Promise<Resumable | null> =>
      db.transaction('system', async (tx) => {
        const at = now();
        const intent = (await claimedBy(tx, { userId, claimId, now: at })) ?? (await newestParked(tx, userId, at));
        if (!intent) return null;
        if (intent.status === 'failed') throw failureOf(intent);
        if (intent.status === 'consumed') return { status: 'consumed', ...(await provisionedBefore(tx, intent)) };
        if (intent.status === 'claimed') return { status: 'claimed', process: accountIntentInput(intent) };
        if (!(await hasPassword(tx, userId))) throw new DomainError('account.password_required');
        return { status: 'parked', process: accountIntentInput(intent) };
      }),

    /** Discards all parked intents of a user and returns their ids. It is no error if there are none. */
    discardAll: (userId: string): Promise<string[]> =>
      db.transaction('system', async (tx) => {
        await lockUser(tx, userId);
        const ids = (await tx.findBy(AccountIntent, { userId, status: 'parked' })).map(({ id }) => id);
        await discardIntents(tx, ids, 'discarded_by_its_owner', now());
        return ids;
      }),

    /** Sends the notice, once, if the intent is parked; returns its status. */
    announce: (id: string): Promise<AccountIntentStatus> =>
      db.transaction('system', async (tx) => {
        const at = now();
        const intent = await tx.findOneBy(AccountIntent, { id });
        const status = intentStatusOf(intent, at);
        // The stored status: an expired intent stays `parked` there until its process has recorded the expiry.
        if (!intent || status !== 'parked') return intent?.status ?? status;
        const { userId, locale } = intent;
        const has = await hasPassword(tx, userId);
        if (!has) await insertPasswordLink(tx, sealing, { id, userId, purpose: 'set', locale, now: at });
        await queueEmail(tx, accountIntentNotice(intent, has), at);
        return status;
      }),

    claim: (id: string, claimId: string): Promise<Claim> =>
      db.transaction('system', (tx) => claimIntent(tx, { id, claimId, now: now() })),

    /**
     * Creates the Account of a claimed intent, once.
     * @throws DomainError account_intent.not_found, account.slug_taken
     */
    provision: (id: string): Promise<ProvisionedIntent> =>
      db.transaction('system', (tx) => provisionIntent(tx, id, now())),

    /** Ends a claimed intent whose Account cannot be created; returns the Account if it exists after all. */
    fail: (id: string, reason: string): Promise<ProvisionedIntent | null> =>
      db.transaction('system', (tx) => failIntent(tx, id, { reason, now: now() })),

    /** Ends an intent whose lifetime is over. Returns its status. */
    expire: (id: string): Promise<AccountIntentStatus> =>
      db.transaction('system', (tx) =>
        endIntent(tx, id, { status: 'expired', reason: 'not_resumed_in_time', due: true, now: now() }),
      ),

    /** Ends a parked intent for an operator's reason. Returns its status. */
    cancel: (id: string, reason: string): Promise<AccountIntentStatus> =>
      db.transaction('system', (tx) => endIntent(tx, id, { status: 'cancelled', reason, due: false, now: now() })),

    /** For support (`npm run retry-account`). */
    retry: createAccountRetry({ db, now }),
  };
}
