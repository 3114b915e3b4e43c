import type { EntityManager } from 'typeorm';
import type { IdentityInvite } from '../../../entities/identity-invite.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { Assignments } from '../access/assignments/assignments.js';
import { identityIdByAddress } from '../addresses/identity-by-address.js';
import type { Caller } from '../caller.js';
import { DomainError } from '../errors.js';

export const notPending = () => new DomainError('identity_invite.not_pending');

interface Offered {
  scope: EnvironmentScope;
  caller: Caller;
  invite: Pick<IdentityInvite, 'email' | 'roleIds' | 'nodeId'>;
}

/**
 * Checks that the caller may give the offered roles to the owner of the address, who may be the caller.
 * @throws DomainError role.not_found, nodes.node_not_found, permission.required, role.cannot_grant
 */
export async function assertMayOffer(
  assignments: Pick<Assignments, 'assertMayGrant'>,
  tx: EntityManager,
  { scope, caller, invite: { email, roleIds, nodeId } }: Offered,
): Promise<void> {
  if (roleIds.length === 0) return;
  const identityId = await identityIdByAddress(tx, scope, email);
  await assignments.assertMayGrant(tx, scope, caller, { roleIds, nodeId, identityId, field: 'role_ids' });
}

/**
 * Checks that the caller, who renews an offer, may make it.
 * @throws DomainError identity_invite.role_deleted, permission.required, role.cannot_grant
 */
export async function assertStillMayGrant(
  assignments: Pick<Assignments, 'assertMayGrant'>,
  tx: EntityManager,
  offered: Offered,
): Promise<void> {
  await assertMayOffer(assignments, tx, offered).catch((error: unknown) => {
    const isGone = error instanceof DomainError && error.code.endsWith('_found');
    throw isGone ? new DomainError('identity_invite.role_deleted') : error;
  });
}
