import type { EntityManager } from 'typeorm';
import type { EnvironmentScope } from '../../platform/scope.js';

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

/** SQL: what the advisory lock on a directory is of. */
export const lockOf = `hashtextextended('scim/' || $1, 0)`;

/** Nobody else changes what its groups amount to before the end of the transaction. */
export const lockDirectory = (tx: EntityManager, directoryId: string): Promise<unknown> =>
  tx.query(`select pg_advisory_xact_lock(${lockOf})`, [directoryId]);
