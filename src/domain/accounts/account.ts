import { IsNull } from 'typeorm';
import { Account } from '../../../entities/account.js';
import { Subscription } from '../../../entities/subscription.js';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { violates } from '../../platform/database/postgres-errors.js';
import type { AccountScope } from '../../platform/scope.js';
import { changedFields } from '../changed-fields.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events/record.js';
import type { Naming } from '../slugs.js';
import { assertMayRequireMfa, type DecidingAdmin } from './required-mfa.js';
import { assertMayRequireSso, lockOwnProvider } from './required-sso.js';

export type AccountChanges = Partial<Naming & { requireMfa: boolean; requireSso: boolean }>;

export interface Accounts {
  get(scope: AccountScope): Promise<Account>;
  /**
   * @param by the administrator who changes it
   * @throws DomainError account.slug_taken; if a requirement of sign-ins changes: account.owner_required; for second
   *   factors mfa.not_enrolled, mfa.challenge_required; for single sign-on account.sso_unavailable,
   *   account.sso_required
   */
  update(scope: AccountScope, by: DecidingAdmin, changes: AccountChanges): Promise<Account>;
  subscription(scope: AccountScope): Promise<Subscription>;
}

/** Reads and changes an Account itself, for its administrators. */
export function createAccounts({ db, now }: { db: Db; now: Clock }): Accounts {
  return {
    get: ({ accountId }) => db.transaction({ accountId }, (tx) => tx.findOneByOrFail(Account, { id: accountId })),
    async update({ accountId }, by, changes) {
      const { requireMfa, requireSso } = changes;
      // Whether the caller may change a requirement depends on their session, which belongs to no Account.
      const scope = requireMfa === undefined && requireSso === undefined ? { accountId } : 'system';
      return db
        .transaction(scope, async (tx) => {
          const where = { id: accountId, closedAt: IsNull() };
          const cameThroughIt = requireSso === true && (await lockOwnProvider(tx, { accountId }, by));
          // Rows that only refer to the Account do not wait, a closing does. The slug is a key: its change waits for
          // those rows, too.
          const mode = changes.slug === undefined ? 'for_no_key_update' : 'pessimistic_write';
          const lock = { mode } as const;
          const current = await tx.findOne(Account, { where, lock });
          if (!current) throw new DomainError('account.not_found'); // closed: its slug may be another's now
          // Compared under the lock: a request that changes nothing when it arrives may undo a change that commits
          // first.
          if (requireMfa !== undefined && requireMfa !== current.requireMfa)
            await assertMayRequireMfa(tx, { accountId }, by, requireMfa);
          if (requireSso !== undefined && requireSso !== current.requireSso)
            await assertMayRequireSso(tx, { accountId }, by, { isToBeRequired: requireSso, cameThroughIt });
          const changed = changedFields(current, changes);
          if (changed.length === 0) return current;
          const updated: Account = { ...current, ...changes, updatedAt: now() };
          await tx.update(Account, where, updated);
          const about = { accountId, resourceId: accountId, resourceLabel: updated.name };
          await recordEvent(tx, 'account.updated', { ...about, metadata: { changed } });
          return updated;
        })
        .catch((error: unknown) => {
          throw violates(error, 'accounts_slug') ? new DomainError('account.slug_taken') : error;
        });
    },
    subscription: ({ accountId }) =>
      db.transaction({ accountId }, (tx) => tx.findOneByOrFail(Subscription, { accountId })),
  };
}
