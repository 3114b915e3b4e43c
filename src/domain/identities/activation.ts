import type { EntityManager } from 'typeorm';
import { EnvironmentMembership } from '../../../entities/environment-membership.js';
import { Identity } from '../../../entities/identity.js';
import { ScimUser } from '../../../entities/scim-user.js';
import { within } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { recordEvent } from '../events/record.js';
import { endSessionsFromBefore } from '../sessions/before-joining.js';
import { lockMember } from './find.js';
import { shutOut } from './remove.js';

/**
 * Lets a member in, or keeps it out with everything that it was signed in with, at once; in this Environment only. What is so
 * already stays so, without an event.
 * @returns whether anything is otherwise now
 * @throws DomainError identity.not_found
 */
export async function setActive(
  tx: EntityManager,
  scope: EnvironmentScope,
  id: string,
  { isActive, at }: { isActive: boolean; at: Date },
): Promise<boolean> {
  const { membership } = await lockMember(tx, scope, id);
  // A directory lets in only whom it kept out itself: what it did before this says so no more, also where nothing else is new.
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
