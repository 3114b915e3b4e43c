import type { EntityManager } from 'typeorm';
import { EnvironmentMembership } from '../../../entities/environment-membership.js';
import { Identity } from '../../../entities/identity.js';
import { ScimUser } from '../../../entities/scim-user.js';
import { within } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { recordEvent } from '../events/record.js';
import { endSessionsFromBefore } from '../sessions/before-joining.js';
import { lockMember } from './find.js';
import { shutOut } from './shut-out.js';

/**
 * Activates or deactivates a member; deactivating ends at once everything that they are signed in with. In this
 * Environment only. If nothing changes, there is no event.
 * @returns whether anything has changed
 * @throws DomainError identity.not_found
 */
export async function setActive(
  tx: EntityManager,
  scope: EnvironmentScope,
  id: string,
  { isActive, at }: { isActive: boolean; at: Date },
): Promise<boolean> {
  const { membership } = await lockMember(tx, scope, id);
  // A directory may only reactivate people whom it has deactivated itself. Its mark is removed here, even if nothing
  // else changes.
  await tx.update(ScimUser, { ...within(scope), identityId: id, isSuspended: true }, { isSuspended: false });
  if (membership.keptOutBy !== null)
    await tx.update(EnvironmentMembership, { ...within(scope), id: membership.id }, { keptOutBy: null });
  if (membership.isActive === isActive) return false;
  await tx.update(EnvironmentMembership, { ...within(scope), id: membership.id }, { isActive });
  await tx.update(Identity, { accountId: scope.accountId, id }, { updatedAt: at });
  if (isActive) await endSessionsFromBefore(tx, scope, [id], { reason: 'activated', at });
  else await shutOut(tx, scope, id, { reason: 'deactivated', at });
  await recordEvent(tx, isActive ? 'identity.activated' : 'identity.deactivated', { ...scope, resourceId: id });
  return true;
}
