import type { EntityManager } from 'typeorm';
import { ScimUser } from '../../../entities/scim-user.js';
import { within } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { directoryOf, lockDirectory } from './directories.js';
import { settleRoles } from './granting.js';

/**
 * Prepares the roles of a person who is about to join an organization. If its directory provisions them, they may be in
 * its groups already, which are locked until the end of the transaction. Other people are in none, and nothing is
 * locked.
 * @returns a function that grants them the roles of their groups, once they are a member
 */
export async function groupRolesOf(
  tx: EntityManager,
  scope: EnvironmentScope,
  { organizationId, identityId, at }: { organizationId: string; identityId: string; at: Date },
): Promise<() => Promise<void>> {
  const isProvisioned = await tx.existsBy(ScimUser, { ...within(scope), identityId, directoryId: organizationId });
  if (!isProvisioned) return async () => {};
  await lockDirectory(tx, organizationId);
  return () => settleRoles(tx, directoryOf(scope, organizationId), [identityId], at);
}
