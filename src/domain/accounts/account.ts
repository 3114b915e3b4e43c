import type { EntityManager } from 'typeorm';
import { Account } from '../../../entities/account.js';
import { Subscription } from '../../../entities/subscription.js';
import type { Clock } from '../../platform/clock.js';
import type { AccountScope, Db } from '../../platform/db.js';
import { violates } from '../../platform/postgres-errors.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events.js';
import { changedNaming, type Naming } from '../free-slug.js';
import { assertMayRequireMfa, type DecidingAdmin } from './required-mfa.js';

export type AccountChanges = Partial<Naming & { requireMfa: boolean }>;

export interface Accounts {
  get(scope: AccountScope): Promise<Account>;
  /**
   * @param by who changes it
   * @throws DomainError account.slug_taken; account.owner_required, mfa.not_enrolled, mfa.challenge_required where it is
   *   about the second factor
   */
  update(scope: AccountScope, by: DecidingAdmin, changes: AccountChanges): Promise<Account>;
  subscription(scope: AccountScope): Promise<Subscription>;
}

/** An Account itself, as its administrators see it. */
export function createAccounts({ db, now }: { db: Db; now: Clock }): Accounts {
  return {
    get: ({ accountId }) => db.transaction({ accountId }, (tx) => account(tx, accountId)),
    async update({ accountId }, by, changes) {
      const { requireMfa } = changes;
      const { requireMfa: isRequired } = await db.transaction({ accountId }, (tx) => account(tx, accountId));
      if (requireMfa !== undefined && requireMfa !== isRequired) {
        await assertMayRequireMfa(db, { accountId }, by, requireMfa);
      }
      return db
        .transaction({ accountId }, async (tx) => {
          const where = { id: accountId };
          const current = await tx.findOneOrFail(Account, { where, lock: { mode: 'pessimistic_write' } });
          const changesMfa = requireMfa !== undefined && requireMfa !== current.requireMfa;
          const changed = [...changedNaming(current, changes), ...(changesMfa ? ['require_mfa'] : [])];
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

const account = (tx: EntityManager, id: string): Promise<Account> => tx.findOneByOrFail(Account, { id });
