import { Any, type EntityManager } from 'typeorm';
import { ScimGroup } from '../../../entities/scim-group.js';
import { ScimGroupMapping } from '../../../entities/scim-group-mapping.js';
import { ScimToken } from '../../../entities/scim-token.js';
import { SsoConnection } from '../../../entities/sso-connection.js';
import { SsoDomain } from '../../../entities/sso-domain.js';
import { within } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { removeAssignments } from '../access/assignments/removing.js';
import { withinSubtreesSql } from '../hierarchy/subtrees.js';
import { withdrawInvitations } from '../identity-invites/issue.js';
import { forgetGroups } from '../scim/groups/forget-groups.js';
import { forgetMappings } from '../scim/groups/mappings.js';
import { revokeToken } from '../scim/tokens.js';
import { rememberSuspensions } from '../scim/users/suspensions.js';
import { lockDirectory } from '../scim-roles/directories.js';
import { removeConnection } from '../sso-connections/ending.js';
import { lockRequestsOf } from '../sso-connections/find.js';
import { releaseClaim } from '../sso-domains/process.js';

/**
 * Locks the sign-ins through providers of organizations at or below some nodes: it waits for responses that are being
 * processed, and none is accepted before the end of the transaction. Call it before locking the nodes: a sign-in locks
 * its request first, and then the organization.
 */
export async function lockSignIns(
  tx: EntityManager,
  scope: EnvironmentScope,
  topIds: readonly string[],
): Promise<void> {
  const connections = await tx.query<{ id: string }[]>(
    `select c.id from sso_connections c join nodes on nodes.id = c.organization_id
     where nodes.account_id = $1 and nodes.environment_id = $2 and ${withinSubtreesSql('nodes')} order by c.id`,
    [scope.accountId, scope.environmentId, topIds],
  );
  for (const { id } of connections) await lockRequestsOf(tx, scope, id);
}

/**
 * Locks the directories of organizations at or below some nodes, so that nobody changes their groups, and then the
 * people whom they have deactivated, so that nobody else does so before that is remembered. Call it before locking the
 * nodes: a change of a directory locks the directory first, then people, and then the nodes at which it grants roles.
 */
export async function lockDirectories(
  tx: EntityManager,
  scope: EnvironmentScope,
  topIds: readonly string[],
): Promise<void> {
  const directories = await tx.query<{ id: string }[]>(
    `select nodes.id from nodes where nodes.account_id = $1 and nodes.environment_id = $2 and ${withinSubtreesSql('nodes')}
       and nodes.node_type = 'organization' and exists (select from scim_tokens t where t.organization_id = nodes.id
         union all select from scim_groups g where g.organization_id = nodes.id) order by nodes.id`,
    [scope.accountId, scope.environmentId, topIds],
  );
  for (const { id } of directories) await lockDirectory(tx, id);
  await tx.query(
    `select from identities where account_id = $1 and id = any (array(
       select s.identity_id from scim_users s join nodes on nodes.id = s.organization_id
       where nodes.account_id = $1 and nodes.environment_id = $2 and ${withinSubtreesSql('nodes')} and s.is_suspended))
     order by id for no key update`,
    [scope.accountId, scope.environmentId, topIds],
  );
}

/**
 * Ends what belongs to the organizations that are deleted, the invitations into them, and the mappings of groups to
 * roles that are at any of the deleted nodes or of their directories: each with an event of its own, as if it had been
 * ended separately. The caller removes the roles that groups granted at the nodes. People who are signed in through the
 * organizations' connections are signed out (docs/decisions/0037).
 */
export async function endBelongings(
  tx: EntityManager,
  scope: EnvironmentScope,
  { organizationIds, nodeIds, at }: { organizationIds: readonly string[]; nodeIds: readonly string[]; at: Date },
): Promise<void> {
  const lockedInOrder = { order: { id: 'ASC' }, lock: { mode: 'pessimistic_write' } } as const;
  const atNodes = { ...within(scope), nodeId: Any([...nodeIds]) };
  await withdrawInvitations(tx, scope, organizationIds, at);
  await forgetMappings(tx, await tx.find(ScimGroupMapping, { where: atNodes, ...lockedInOrder }));
  if (organizationIds.length === 0) return;
  const theirs = { ...within(scope), organizationId: Any([...organizationIds]) };
  // At nodes that stay: an earlier release kept the mappings of nodes that were moved out of their organization.
  await forgetMappings(tx, await tx.find(ScimGroupMapping, { where: theirs, ...lockedInOrder }));
  await takeGroupRoles(tx, scope, organizationIds, nodeIds, at);
  await rememberSuspensions(tx, scope, { organizationIds });
  await forgetGroups(tx, scope, await tx.find(ScimGroup, { where: theirs, ...lockedInOrder }));
  for (const token of await tx.find(ScimToken, { where: theirs, ...lockedInOrder })) await revokeToken(tx, token);
  for (const claim of await tx.find(SsoDomain, { where: theirs, ...lockedInOrder })) await releaseClaim(tx, claim);
  for (const one of await tx.find(SsoConnection, { where: theirs, ...lockedInOrder }))
    await removeConnection(tx, one, at);
}

/** Removes the roles that groups of organizations granted at nodes other than these. */
async function takeGroupRoles(
  tx: EntityManager,
  scope: EnvironmentScope,
  organizationIds: readonly string[],
  nodeIds: readonly string[],
  at: Date,
): Promise<void> {
  const rows = await tx.query<{ id: string }[]>(
    `select a.id from scim_assignments s join role_assignments a on a.id = s.assignment_id
     where s.account_id = $1 and s.environment_id = $2 and s.directory_id = any($3) and a.node_id <> all($4)
       and a.removed_at is null`,
    [scope.accountId, scope.environmentId, organizationIds, nodeIds],
  );
  await removeAssignments(
    tx,
    scope,
    rows.map(({ id }) => id),
    at,
  );
}
