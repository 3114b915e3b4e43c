import { Account } from '../../../entities/account.js';
import { Subscription } from '../../../entities/subscription.js';
import type { Clock } from '../../platform/clock.js';
import { type AccountScope, type Db, violates } from '../../platform/db.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events.js';
import { changedNaming, type Naming } from '../free-slug.js';

export interface Accounts {
  get(scope: AccountScope): Promise<Account>;
  /** @throws DomainError account.slug_taken */
  update(scope: AccountScope, changes: Partial<Naming>): Promise<Account>;
  subscription(scope: AccountScope): Promise<Subscription>;
}

/** An Account itself, as its administrators see it. */
export function createAccounts({ db, now }: { db: Db; now: Clock }): Accounts {
  return {
    get: ({ accountId }) => db.transaction({ accountId }, (tx) => tx.findOneByOrFail(Account, { id: accountId })),
    update: ({ accountId }, changes) =>
      db
        .transaction({ accountId }, async (tx) => {
          const where = { id: accountId };
          const current = await tx.findOneOrFail(Account, { where, lock: { mode: 'pessimistic_write' } });
          const changed = changedNaming(current, changes);
          if (changed.length === 0) return current;
          const updated: Account = { ...current, ...changes, updatedAt: now() };
          await tx.update(Account, where, updated);
          const about = { accountId, resourceId: accountId, resourceLabel: updated.name };
          await recordEvent(tx, 'account.updated', { ...about, metadata: { changed } });
          return updated;
        })
        .catch((error: unknown) => {
          throw violates(error, 'accounts_slug') ? new DomainError('account.slug_taken') : error;
        }),
    subscription: ({ accountId }) =>
      db.transaction({ accountId }, (tx) => tx.findOneByOrFail(Subscription, { accountId })),
  };
}
