import { Account } from '../../../entities/account.js';
import { User } from '../../../entities/user.js';
import type { AccountScope, Db } from '../../platform/db.js';

export interface AccountMembers {
  /** The account and one of its administrators. */
  read(scope: AccountScope, userId: string): Promise<{ user: User; account: Account }>;
}

export function createAccountMembers({ db }: { db: Db }): AccountMembers {
  return {
    read: ({ accountId }, userId) =>
      db.transaction({ accountId }, async (tx) => ({
        user: await tx.findOneByOrFail(User, { id: userId }),
        account: await tx.findOneByOrFail(Account, { id: accountId }),
      })),
  };
}
