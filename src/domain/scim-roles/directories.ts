import type { EntityManager } from 'typeorm';
import type { EnvironmentScope } from '../../platform/scope.js';

/** The people and groups that a token provisions: an Environment's, for the Account, or those of an organization. */
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

/** SQL: the key of the advisory lock on a directory. */
export const lockOf = `hashtextextended('scim/' || $1, 0)`;

/** Locks a directory until the end of the transaction: nobody else changes what its groups grant. */
export const lockDirectory = (tx: EntityManager, directoryId: string): Promise<unknown> =>
  tx.query(`select pg_advisory_xact_lock(${lockOf})`, [directoryId]);
