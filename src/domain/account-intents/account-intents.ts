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
  /** Milliseconds: life of a parked wish for an Account. */
  intentTtlMs: number;
}

/** What a request to resume has to go on with. */
export type Resumable =
  | { status: 'parked' | 'claimed'; process: ProcessInput<'accountIntent'> }
  | ({ status: 'consumed' } & ProvisionedIntent);

export type AccountIntents = ReturnType<typeof createAccountIntents>;

/** Wishes of users for further Accounts, from the parked names to the Account (spec, "Parked account-creation intent"). */
export function createAccountIntents({ db, sealing, now, intentTtlMs }: AccountIntentsDeps) {
  return {
    /** Creates at once; null where it was parked, for want of a password. @throws DomainError account.slug_taken, account.limit_reached */
    createNow: (request: Omit<CreateNow, 'now' | 'intentTtlMs'>): Promise<ProvisionedIntent | null> =>
      db.transaction('system', (tx) => createNow(tx, { ...request, now: now(), intentTtlMs })),

    /** The newest that is parked; of several it is the one that counts. */
    pending: (userId: string): Promise<AccountIntent | null> =>
      db.transaction('system', (tx) => newestParked(tx, userId, now())),

    /**
     * What a request goes on with: the intent that it claimed when it came before, or the newest parked one.
     * @throws DomainError the reason for which the one that it claimed has failed; account.password_required where one is parked
     *   whose owner has none, and stays so
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

    /** Ends every parked one of a user; answers which. None is no error. */
    discardAll: (userId: string): Promise<string[]> =>
      db.transaction('system', async (tx) => {
        await lockUser(tx, userId);
        const ids = (await tx.findBy(AccountIntent, { userId, status: 'parked' })).map(({ id }) => id);
        await discardIntents(tx, ids, 'discarded_by_its_owner', now());
        return ids;
      }),

    /** Sends the notice, once, while it is parked; answers how it stands. */
    announce: (id: string): Promise<AccountIntentStatus> =>
      db.transaction('system', async (tx) => {
        const at = now();
        const intent = await tx.findOneBy(AccountIntent, { id });
        const status = intentStatusOf(intent, at);
        // The row's own word: one whose time is over says `parked` until its process has written that down.
        if (!intent || status !== 'parked') return intent?.status ?? status;
        const { userId, locale } = intent;
        const has = await hasPassword(tx, userId);
        if (!has) await insertPasswordLink(tx, sealing, { id, userId, purpose: 'set', locale, now: at });
        await queueEmail(tx, accountIntentNotice(intent, has), at);
        return status;
      }),

    claim: (id: string, claimId: string): Promise<Claim> =>
      db.transaction('system', (tx) => claimIntent(tx, { id, claimId, now: now() })),

    /** Creates the Account of a claimed one, once. @throws DomainError account_intent.not_found, account.slug_taken */
    provision: (id: string): Promise<ProvisionedIntent> =>
      db.transaction('system', (tx) => provisionIntent(tx, id, now())),

    /** Ends a claimed one whose Account cannot be made; answers the Account where there is one after all. */
    fail: (id: string, reason: string): Promise<ProvisionedIntent | null> =>
      db.transaction('system', (tx) => failIntent(tx, id, { reason, now: now() })),

    /** Ends one whose time is over. Answers how it stands. */
    expire: (id: string): Promise<AccountIntentStatus> =>
      db.transaction('system', (tx) =>
        endIntent(tx, id, { status: 'expired', reason: 'not_resumed_in_time', due: true, now: now() }),
      ),

    /** Ends a parked one for an operator's reason. Answers how it stands. */
    cancel: (id: string, reason: string): Promise<AccountIntentStatus> =>
      db.transaction('system', (tx) => endIntent(tx, id, { status: 'cancelled', reason, due: false, now: now() })),

    /** For support (`npm run retry-account`). */
    retry: createAccountRetry({ db, now }),
  };
}
