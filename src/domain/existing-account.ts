import type { EntityManager } from 'typeorm';
import type { AccountScope } from '../platform/scope.js';
import { DomainError } from './errors.js';

/**
 * Keeps an Account from being closed until the end of the transaction: the closing ends everything that exists by then,
 * and nothing may be created in the Account afterwards.
 * @throws DomainError account.not_found if it is closed
 */
export async function lockAccount(tx: EntityManager, { accountId }: AccountScope): Promise<void> {
  const text = 'select from accounts where id = $1 and closed_at is null for key share';
  const open = await tx.query<unknown[]>(text, [accountId]);
  if (open.length === 0) throw new DomainError('account.not_found');
}
