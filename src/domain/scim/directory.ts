import type { EntityManager } from 'typeorm';
import { ScimToken } from '../../../entities/scim-token.js';
import { seconds } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { retryingDeadlocks } from '../../platform/database/retry-deadlocks.js';
import { retryWhenRemoved } from '../access/assignments/concurrent-removal.js';
import { DomainError } from '../errors.js';
import { type Directory, lockDirectory, lockOf } from '../scim-roles/directories.js';
import { holdersOf } from '../sso-connections/covering.js';

export { type Directory, directoryOf } from '../scim-roles/directories.js';

/** Thrown when a change also needs another directory, which somebody else is changing. */
class Busy extends Error {
  constructor(readonly directoryId: string) {
    super('another directory is being changed');
  }
}

/**
 * Makes a change in a directory, in a transaction of the Account, since an Identity is the same in all of its
 * Environments. Changes of one directory are made one after the other, so that the roles of its groups are never
 * computed from half a change. It is tried again if a mapping's role or node is deleted meanwhile, and if a person
 * joins meanwhile, which locks the person before the directory. A token that is revoked while its change waits changes
 * nothing.
 * @throws DomainError auth.invalid_credentials, and what `work` throws
 */
export function changing<T>(
  db: Db,
  { scope, directoryId, tokenId }: Directory & { tokenId?: string },
  work: (tx: EntityManager) => Promise<T>,
) {
  const since = performance.now();
  const attempt = (ids: readonly string[]): Promise<T> =>
    db
      .transaction({ accountId: scope.accountId }, async (tx) => {
        for (const id of [...ids].sort()) await lockDirectory(tx, id);
        if (tokenId && performance.now() - since > goodForMs) await assertNotRevoked(tx, scope, tokenId);
        return work(tx);
      })
      .catch((error: unknown) => {
        if (error instanceof Busy && !ids.includes(error.directoryId)) return attempt([...ids, error.directoryId]);
        throw error;
      });
  return retryingDeadlocks(() => retryWhenRemoved(() => attempt([directoryId])));
}

/** How long a look-up of a token counts (contract §5). */
const goodForMs = seconds(1);

async function assertNotRevoked(tx: EntityManager, { accountId }: Directory['scope'], id: string): Promise<void> {
  if (!(await tx.existsBy(ScimToken, { accountId, id }))) throw new DomainError('auth.invalid_credentials');
}

/**
 * Locks another directory during a change. If it would have to be waited for, the change begins again and locks both in
 * order.
 */
export async function lockAlso(tx: EntityManager, directoryId: string): Promise<void> {
  const [one] = await tx.query<{ is: boolean }[]>(`select pg_try_advisory_xact_lock(${lockOf}) as is`, [directoryId]);
  if (!one?.is) throw new Busy(directoryId);
}

/**
 * Returns who has verified the domain of an address, from a directory's point of view (docs/decisions/0040): its owner
 * (the organization, or for an Environment's directory the Account), somebody else of the Account (from an
 * organization's), or nobody.
 */
export async function holderOf(
  tx: EntityManager,
  { scope, organizationId }: Directory,
  email: string,
): Promise<'owner' | 'another' | 'nobody'> {
  const holders = await holdersOf(tx, scope, email);
  if (holders.includes(organizationId)) return 'owner';
  // The Account's own directory does not withhold people from an organization that has verified their domain: that
  // directory takes them over.
  return organizationId !== null && holders.length > 0 ? 'another' : 'nobody';
}

/** Whether the directory's owner has verified the domain of an address. */
export const vouchesFor = async (tx: EntityManager, directory: Directory, email: string): Promise<boolean> =>
  (await holderOf(tx, directory, email)) === 'owner';
