import type { Db } from '../../platform/database/db.js';
import type { AccountScope } from '../../platform/scope.js';
import { DomainError, type ErrorCode } from '../errors.js';
import { recordEvent } from '../events/record.js';

const rights: readonly ErrorCode[] = ['account.owner_required', 'account.other_sign_in_required'];

/**
 * For `.catch`: records in the Account's audit log that a member was denied a right (contract §10). In a transaction of
 * its own, since the refusal rolled back the original one. Requests of non-members leave no row.
 */
export const refusedMember =
  (db: Db, { accountId }: AccountScope, operation: string) =>
  async (error: unknown): Promise<never> => {
    if (error instanceof DomainError && rights.includes(error.code))
      await db.transaction({ accountId }, (tx) =>
        recordEvent(tx, 'auth.access_denied', { accountId, resourceId: operation, outcome: 'denied' }),
      );
    throw error;
  };
