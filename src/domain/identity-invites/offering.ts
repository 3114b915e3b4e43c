import type { EntityManager } from 'typeorm';
import type { IdentityInvite } from '../../../entities/identity-invite.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { Assignments } from '../access/assignments.js';
import type { Caller } from '../caller.js';
import { DomainError } from '../errors.js';
import { identityIdByAddress } from '../identity-by-address.js';

export const notPending = () => new DomainError('identity_invite.not_pending');

interface Offered {
  scope: EnvironmentScope;
  caller: Caller;
  invite: Pick<IdentityInvite, 'email' | 'roleIds' | 'nodeId'>;
}

/**
 * Whoever offers roles has to be one who may give them, to whom the address is of: it may be their own.
 * @throws DomainError role.not_found, nodes.node_not_found, permission.required, role.cannot_grant
 */
export async function assertMayOffer(
  assignments: Pick<Assignments, 'assertMayGive'>,
  tx: EntityManager,
  { scope, caller, invite: { email, roleIds, nodeId } }: Offered,
): Promise<void> {
  if (roleIds.length === 0) return;
  const identityId = await identityIdByAddress(tx, scope, email);
  await assignments.assertMayGive(tx, scope, caller, { roleIds, nodeId, identityId });
}

/**
 * Whoever renews an offer has to be one who may make it.
 * @throws DomainError identity_invite.role_deleted, permission.required, role.cannot_grant
 */
export async function assertStillMayGive(
  assignments: Pick<Assignments, 'assertMayGive'>,
  tx: EntityManager,
  offered: Offered,
): Promise<void> {
  await assertMayOffer(assignments, tx, offered).catch((error: unknown) => {
    const isGone = error instanceof DomainError && error.code.endsWith('_found');
    throw isGone ? new DomainError('identity_invite.role_deleted') : error;
  });
}
