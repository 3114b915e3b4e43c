import { type EntityManager, IsNull } from 'typeorm';
import { EnvironmentMembership } from '../../../entities/environment-membership.js';
import { RoleAssignment } from '../../../entities/role-assignment.js';
import type { Clock } from '../../platform/clock.js';
import { within } from '../../platform/database/db.js';
import { dbWithin } from '../../platform/database/db-within.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { removeAssignments } from '../access/assignments/removing.js';
import { createErasures } from '../erasures/erasures.js';
import { recordEvent } from '../events/record.js';
import { environmentExists } from '../existing-environment.js';
import { lockOrganizations } from '../identity-invites/invited-organizations.js';
import { waitingFor, withdraw } from '../identity-invites/issue.js';
import { addToCounter } from '../lists/counters.js';
import { endGraces } from '../mfa/grace/end-graces.js';
import { voidIdentityLinks } from '../one-time/identity-links.js';
import { leaveOrganizations, organizationIdsOf } from '../organizations/members.js';
import { changeGroupsOf } from '../scim-roles/leaving-groups.js';
import { lockMember } from './find.js';
import { shutOut } from './shut-out.js';

/**
 * Ends the membership in this Environment with everything that belongs to it. Somebody without another membership in
 * the Account is erased, by the process of erasures. In a transaction of the Account, which alone can see that.
 * @throws DomainError identity.not_found
 */
export async function removeMember(tx: EntityManager, scope: EnvironmentScope, id: string, now: Clock): Promise<void> {
  const { accountId, environmentId } = scope;
  const at = now();
  const { identity, membership } = await lockMember(tx, scope, id);
  const waiting = await waitingFor(tx, scope, identity.email);
  // All at once and in order: if some were locked first and others later, two removals could wait for each other.
  await lockOrganizations(tx, [
    ...(await organizationIdsOf(tx, scope, id)),
    ...waiting.map(({ organizationId }) => organizationId),
  ]);
  await withdraw(tx, waiting, { reason: 'identity_deleted', now: at });
  await voidIdentityLinks(tx, id, environmentId); // an earlier link must not bring anybody back
  await shutOut(tx, scope, id, { reason: 'identity_deleted', at });
  await leaveOrganizations(tx, scope, id);
  // After the organizations, in the order of somebody who joins both one and the Environment.
  await addToCounter(tx, scope, 'identities', -1);
  const held = await tx.findBy(RoleAssignment, { ...within(scope), identityId: id, removedAt: IsNull() });
  await removeAssignments(
    tx,
    scope,
    held.map((assignment) => assignment.id),
    at,
  );
  await endGraces(tx, environmentId, [id]);
  await tx.query('delete from consents where account_id = $1 and environment_id = $2 and identity_id = $3', [
    accountId,
    environmentId,
    id,
  ]);
  await changeGroupsOf(tx, scope, id, at);
  await tx.delete(EnvironmentMembership, { ...within(scope), id: membership.id });
  await recordEvent(tx, 'identity.deleted', { ...scope, resourceId: id });
  if (await isMemberSomewhere(tx, accountId, id)) return;
  await createErasures({ db: dbWithin(tx), now }).request({ accountId }, id);
}

/**
 * Only if the Environment is not being deleted: then it belongs to no Account any more, and its people have no
 * membership in it.
 */
async function isMemberSomewhere(tx: EntityManager, accountId: string, identityId: string): Promise<boolean> {
  const rows = await tx.query<unknown[]>(
    `select from environment_memberships m where m.account_id = $1 and m.identity_id = $2 and ${environmentExists('m')} limit 1`,
    [accountId, identityId],
  );
  return rows.length > 0;
}
