import type { EntityManager } from 'typeorm';
import type { IdentityInvite } from '../../../entities/identity-invite.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { Assignments } from '../access/assignments.js';
import type { Caller } from '../caller.js';
import { DomainError } from '../errors.js';

export const notPending = () => new DomainError('identity_invite.not_pending');

interface Renewed {
  scope: EnvironmentScope;
  caller: Caller;
  invite: IdentityInvite;
}

/**
 * Whoever renews an offer has to be one who may make it.
 * @throws DomainError identity_invite.role_deleted, permission.required, role.cannot_grant
 */
export async function assertStillMayGive(
  assignments: Pick<Assignments, 'assertMayGive'>,
  tx: EntityManager,
  { scope, caller, invite: { roleIds, nodeId } }: Renewed,
): Promise<void> {
  if (roleIds.length === 0) return;
  await assignments.assertMayGive(tx, scope, caller, { roleIds, nodeId }).catch((error: unknown) => {
    const isGone = error instanceof DomainError && error.code.endsWith('_found');
    throw isGone ? new DomainError('identity_invite.role_deleted') : error;
  });
}
