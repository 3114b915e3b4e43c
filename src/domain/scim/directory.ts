import type { EntityManager } from 'typeorm';
import type { Db } from '../../platform/db.js';
import { untilNothingVanishes } from '../access/vanishing.js';
import type { EnvironmentScope } from '../scope.js';
import { covers } from '../sso-connections/covering.js';

/** Whose people and groups a token provisions: an Environment's for the Account, or those of one organization in it. */
export interface Directory {
  scope: EnvironmentScope;
  organizationId: string | null;
  /** The organization, or the Environment where there is none. */
  directoryId: string;
}

export const directoryOf = (scope: EnvironmentScope, organizationId: string | null): Directory => ({
  scope,
  organizationId,
  directoryId: organizationId ?? scope.environmentId,
});

/**
 * Makes a change in a directory, in a transaction of the Account: an Identity is the same in all of its Environments. The
 * changes of one directory come one after the other, so that what its groups amount to is never computed from half of them. A mapping
 * whose role or node goes meanwhile is over, and no reason to refuse the change.
 */
export const changing = <T>(db: Db, { scope, directoryId }: Directory, work: (tx: EntityManager) => Promise<T>) =>
  untilNothingVanishes(() =>
    db.transaction({ accountId: scope.accountId }, async (tx) => {
      await lockDirectory(tx, directoryId);
      return work(tx);
    }),
  );

export const lockDirectory = (tx: EntityManager, directoryId: string): Promise<unknown> =>
  tx.query(`select pg_advisory_xact_lock(hashtextextended('scim/' || $1, 0))`, [directoryId]);

/**
 * Whether the directory's owner has proved that the domain of an address is theirs (docs/decisions/0040): the organization, or
 * for an Environment the Account.
 */
export const vouchesFor = (
  tx: EntityManager,
  { scope: { accountId }, organizationId }: Directory,
  email: string,
): Promise<boolean> => covers(tx, { accountId, organizationId }, email);
