import type { EntityManager } from 'typeorm';
import { Organization } from '../../../entities/organization.js';
import { OrganizationMember } from '../../../entities/organization-member.js';
import type { Clock } from '../../platform/clock.js';
import { type Db, within } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { assignedRolesOf } from '../access/assignments/assigned-roles.js';
import type { Assignments } from '../access/assignments/assignments.js';
import { removeAssignments } from '../access/assignments/removing.js';
import type { Caller } from '../caller.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events/record.js';
import type { Page, PageRequest } from '../lists/paging.js';
import { findOneMember, type ListedMember, listMembers, type MembersPage } from './member-lists.js';
import { assignRoles, heldInside } from './member-roles.js';
import { addMember, addToMemberCount, lockIdentityAgainstDeletion, lockOrganization } from './members.js';
import { type OfPersonSort, type OrganizationOfPerson, organizationsOfPerson } from './of-person.js';

export type { ListedMember as Member } from './member-lists.js';

/** Where a request names roles. */
const field = 'role_ids';

export interface MembershipsDeps {
  db: Db;
  assignments: Assignments;
  /** Ends a person's pending invitations to an organization from which they are removed; it is locked by then. */
  endInvitations(tx: EntityManager, scope: EnvironmentScope, member: MemberOf, at: Date): Promise<void>;
  now: Clock;
}
export interface MemberOf {
  organizationId: string;
  identityId: string;
}
type WithRoles = MemberOf & { roleIds: readonly string[] };

/** For `.catch`: the missing node is the organization, which existed a moment ago. */
function wentMeanwhile(error: unknown): never {
  const isGone = error instanceof DomainError && error.code === 'nodes.node_not_found';
  throw isGone ? new DomainError('organization.not_found') : error;
}

/**
 * Members of an organization, with their roles at its node. To grant roles requires `rbac.assign_roles` there and
 * everything that the roles hold; to remove them requires `rbac.assign_roles`, as everywhere.
 */
export function createMemberships({ db, assignments, endInvitations, now }: MembershipsDeps) {
  return {
    /** @throws DomainError organization.not_found */
    list: (scope: EnvironmentScope, organizationId: string, page: MembersPage): Promise<Page<ListedMember>> =>
      listMembers(db, scope, organizationId, page, now()),

    /** The organizations of an Identity. @throws DomainError identity.not_found */
    listOf: (
      scope: EnvironmentScope,
      identityId: string,
      page: PageRequest<OfPersonSort>,
    ): Promise<Page<OrganizationOfPerson>> => organizationsOfPerson(db, scope, identityId, page),

    /** @throws DomainError organization.not_found, organization.member_not_found */
    get: (scope: EnvironmentScope, member: MemberOf): Promise<ListedMember> =>
      db.transaction(scope, (tx) => findOneMember(tx, scope, member, now())),

    /**
     * @throws DomainError identity.not_found, organization.not_found, organization.already_member, role.not_found,
     *   permission.required, role.cannot_grant
     */
    add: (scope: EnvironmentScope, caller: Caller, member: WithRoles): Promise<ListedMember> =>
      db.transaction(scope, async (tx) => {
        const { organizationId: nodeId, identityId, roleIds } = member;
        if (!(await tx.existsBy(Organization, { ...within(scope), id: nodeId })))
          throw new DomainError('organization.not_found');
        if (roleIds.length > 0)
          await assignments
            .assertMayGrant(tx, scope, caller, { roleIds, nodeId, identityId, field })
            .catch(wentMeanwhile);
        const isNew = await addMember(tx, scope, { ...member, at: now() });
        if (!isNew) throw new DomainError('organization.already_member');
        return findOneMember(tx, scope, member, now());
      }),

    /**
     * Sets the roles that a member holds at the organization's node, now or later.
     * @throws DomainError organization.not_found, organization.member_not_found, role.not_found, permission.required,
     *   role.cannot_grant
     */
    setRoles: (scope: EnvironmentScope, caller: Caller, member: WithRoles): Promise<ListedMember> =>
      db.transaction(scope, async (tx) => {
        const organization = await lockMembership(tx, scope, member);
        await replaceRoles(tx, scope, caller, { ...member, organization });
        return findOneMember(tx, scope, member, now());
      }),

    /**
     * Ends a membership, and with it the roles at the organization's node and below it; but not within an organization
     * further down of which they are a member, too. Earlier invitations become invalid.
     * @throws DomainError organization.not_found, organization.member_not_found
     */
    remove: (scope: EnvironmentScope, member: MemberOf): Promise<void> =>
      db.transaction(scope, async (tx) => {
        const { name: resourceLabel } = await lockMembership(tx, scope, member);
        const { organizationId, identityId } = member;
        const at = now();
        await endInvitations(tx, scope, member, at);
        await tx.delete(OrganizationMember, { ...within(scope), organizationId, identityId });
        await addToMemberCount(tx, scope, [organizationId], -1);
        await removeAssignments(tx, scope, await heldInside(tx, scope, { ...member, at }), at);
        const metadata = { identity_id: identityId };
        const about = { ...scope, resourceId: organizationId, resourceLabel, metadata };
        await recordEvent(tx, 'organization.member_removed', about);
      }),
  };

  async function replaceRoles(
    tx: EntityManager,
    scope: EnvironmentScope,
    caller: Caller,
    { organization, ...member }: WithRoles & { organization: { name: string } },
  ) {
    const { organizationId: nodeId, identityId } = member;
    const at = now();
    const wanted = new Set(member.roleIds);
    const held = (await assignedRolesOf(tx, scope, [identityId], { nodeId, at })).get(identityId) ?? [];
    const kept = new Set(held.map(({ roleId }) => roleId));
    const missing = [...wanted].filter((id) => !kept.has(id));
    const superfluous = held.filter(({ roleId }) => !wanted.has(roleId));
    if (missing.length === 0 && superfluous.length === 0) return;
    await assignments.assertMayAssign(scope, caller, nodeId);
    if (missing.length > 0)
      await assignments.assertMayGrant(tx, scope, caller, { roleIds: missing, nodeId, identityId, field });
    await removeAssignments(
      tx,
      scope,
      superfluous.map(({ assignmentId }) => assignmentId),
      at,
    );
    await assignRoles(tx, scope, { nodeId, identityId, roleIds: missing, at });
    const removed = [...new Set(superfluous.map(({ roleId }) => roleId))];
    const metadata = { identity_id: identityId, added: missing, removed };
    const about = { ...scope, resourceId: nodeId, resourceLabel: organization.name, metadata };
    await recordEvent(tx, 'organization.member_updated', about);
  }
}

export type Memberships = ReturnType<typeof createMemberships>;

/** Locked until the end of the transaction. */
async function lockMembership(tx: EntityManager, scope: EnvironmentScope, { organizationId, identityId }: MemberOf) {
  await lockIdentityAgainstDeletion(tx, scope, identityId);
  const organization = await lockOrganization(tx, scope, organizationId);
  const isMember = await tx.existsBy(OrganizationMember, { ...within(scope), organizationId, identityId });
  if (!isMember) throw new DomainError('organization.member_not_found');
  return organization;
}
