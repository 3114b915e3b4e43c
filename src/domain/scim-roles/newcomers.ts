import type { EntityManager } from 'typeorm';
import { ScimUser } from '../../../entities/scim-user.js';
import { within } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { directoryOf, lockDirectory } from './directories.js';
import { settleRoles } from './granting.js';

/**
 * Somebody is about to come into an organization. Whom its directory provisions may be in groups of it from before: nobody changes
 * those until the end of the transaction. Anybody else is in none, and nothing is locked for them.
 * @returns what gives them the roles of their groups, once they are a member
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
