import type { EntityManager } from 'typeorm';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { Assignments } from '../access/assignments/assignments.js';
import { findRole } from '../access/roles/roles.js';
import type { Caller } from '../caller.js';
import { invalidField } from '../errors.js';

const field = 'default_role_id';

/**
 * Checks that the caller may have a role given, at the organization or the root, to everybody who signs in by a
 * connection.
 * @throws DomainError role.not_found, validation.failed for a system role or a disabled one, permission.required,
 *   role.cannot_grant
 */
export async function assertDefaultRole(
  tx: EntityManager,
  { assignments, caller }: { assignments: Pick<Assignments, 'assertMayGrant'>; caller: Caller },
  scope: EnvironmentScope,
  { organizationId }: Pick<SsoConnection, 'organizationId'>,
  roleId: string,
): Promise<void> {
  const role = await findRole(tx, scope, roleId);
  if (!role.isActive || role.systemKey !== null)
    throw invalidField(
      field,
      'not_assignable',
      'is not a role that can be assigned: see GET /organizations/{id}/roles',
    );
  await assignments.assertMayGrant(tx, scope, caller, { roleIds: [roleId], nodeId: organizationId, field });
}
