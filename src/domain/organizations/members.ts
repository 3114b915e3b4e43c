import type { EntityManager } from 'typeorm';
import { Identity } from '../../../entities/identity.js';
import { Node } from '../../../entities/node.js';
import { Organization } from '../../../entities/organization.js';
import { OrganizationMember } from '../../../entities/organization-member.js';
import { within } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { lockMembers } from '../access/assignments/concurrent-removal.js';
import { DomainError } from '../errors.js';
import { recordEvent, recordEvents } from '../events/record.js';
import { organizationType } from '../hierarchy/rules.js';
import { groupRolesOf } from '../scim-roles/newcomers.js';
import { assignRoles } from './member-roles.js';

export interface NewMember {
  organizationId: string;
  identityId: string;
  /** Roles at the organization's node from now on, without time limits, in addition to those held there already. */
  roleIds: readonly string[];
  at: Date;
  /** If they join by signing in: the connection, and its provider's name for them. */
  assertedBy?: { connectionId: string; subject: string };
}

/**
 * Makes an Identity of the Environment a member of an organization, in the caller's transaction: the row, the counter,
 * the roles (also those of its directory's groups) and the event. The caller has checked that this, and the roles, may
 * be given. Changes of the organization's row in the same transaction have to come later: locks are taken in the order
 * Identity, node, organization.
 * @returns false if it was a member already: then nothing has changed, its roles neither
 * @throws DomainError identity.not_found, organization.not_found, role.not_found
 */
export async function addMember(tx: EntityManager, scope: EnvironmentScope, member: NewMember): Promise<boolean> {
  const { organizationId, identityId, roleIds, at } = member;
  const assignGroupRoles = await groupRolesOf(tx, scope, member);
  const there = await lockMembers(tx, scope, [{ identityId }]);
  if (!there.has(identityId)) throw new DomainError('identity.not_found');
  const { name: resourceLabel } = await lockOrganization(tx, scope, organizationId);
  const { accountId, environmentId } = scope;
  const row: OrganizationMember = { organizationId, identityId, accountId, environmentId, createdAt: at };
  const inserting = tx.createQueryBuilder().insert().into(OrganizationMember).values(row).orIgnore();
  const { raw } = await inserting.returning('identity_id').updateEntity(false).execute();
  if (raw.length === 0) return false;
  await forgetLinks(tx, scope, member);
  await addToMemberCount(tx, scope, [organizationId], 1);
  const given = await assignRoles(tx, scope, { nodeId: organizationId, identityId, roleIds, at });
  await assignGroupRoles();
  const metadata = { identity_id: identityId, role_ids: given };
  await recordEvent(tx, 'organization.member_added', { ...scope, resourceId: organizationId, resourceLabel, metadata });
  return true;
}

/**
 * Removes a person's links by an organization's provider, which end with their membership (docs/decisions/0038):
 * otherwise the provider could sign in as them again by adding them, whatever rights they have elsewhere. Done when
 * they join, so that links of people who left earlier are removed, too. The link stays by which they have just been
 * recognized, since an earlier session at the provider is known by it, which the provider may still end.
 */
async function forgetLinks(
  tx: EntityManager,
  { accountId, environmentId }: EnvironmentScope,
  { organizationId, identityId, assertedBy }: Pick<NewMember, 'organizationId' | 'identityId' | 'assertedBy'>,
): Promise<void> {
  await tx.query(
    `delete from sso_links where account_id = $1 and identity_id = $2 and connection_id in (
       select id from sso_connections where account_id = $1 and environment_id = $3 and organization_id = $4)
       and (connection_id = $5 and subject = $6) is not true`,
    [accountId, identityId, environmentId, organizationId, assertedBy?.connectionId, assertedBy?.subject],
  );
}

/**
 * The organizations of an Environment in which an Identity is a member; they do not change while the caller has locked
 * its row for an update.
 */
export async function organizationIdsOf(
  tx: EntityManager,
  scope: EnvironmentScope,
  identityId: string,
): Promise<string[]> {
  const rows = await tx.find(OrganizationMember, {
    where: { ...within(scope), identityId },
    select: { organizationId: true },
  });
  return rows.map(({ organizationId }) => organizationId);
}

/**
 * Ends an Identity's membership in every organization of an Environment, in the transaction that ends the one in the
 * Environment. The caller removes their roles, and does so afterwards: deleting a node also locks the organization's
 * row before the assignments.
 */
export async function leaveOrganizations(
  tx: EntityManager,
  scope: EnvironmentScope,
  identityId: string,
): Promise<void> {
  const { accountId, environmentId } = scope;
  const locked = await tx.query<{ id: string; name: string }[]>(
    `select o.id, n.name from organizations o join nodes n on n.id = o.id
     where o.account_id = $1 and o.environment_id = $2 and o.id in (
       select organization_id from organization_members where identity_id = $3 and environment_id = $2)
     order by o.id for no key update of o`,
    [accountId, environmentId, identityId],
  );
  const ids = locked.map(({ id }) => id);
  const [left] = await tx.query<[{ id: string }[], number]>(
    `delete from organization_members where account_id = $1 and environment_id = $2 and identity_id = $3
       and organization_id = any($4) returning organization_id as id`,
    [accountId, environmentId, identityId, ids],
  );
  const leftIds = left.map(({ id }) => id);
  await addToMemberCount(tx, scope, leftIds, -1);
  const names = new Map(locked.map(({ id, name }) => [id, name]));
  const metadata = { identity_id: identityId };
  await recordEvents(
    tx,
    'organization.member_removed',
    leftIds.map((resourceId) => ({ ...scope, resourceId, resourceLabel: names.get(resourceId) ?? null, metadata })),
  );
}

/**
 * Locks an organization: nobody else changes its members, or deletes it, before the end of the transaction.
 * @throws DomainError organization.not_found
 */
export async function lockOrganization(
  tx: EntityManager,
  scope: EnvironmentScope,
  id: string,
): Promise<Organization & Pick<Node, 'name'>> {
  const where = { ...within(scope), id };
  // The node before the organization, in the order of a deletion.
  const node = await tx.findOne(Node, {
    where: { ...where, nodeType: organizationType },
    select: { id: true, name: true },
    lock: { mode: 'for_key_share' },
  });
  const organization = node && (await tx.findOne(Organization, { where, lock: { mode: 'for_no_key_update' } }));
  if (!node || !organization) throw new DomainError('organization.not_found');
  return { ...organization, name: node.name };
}

/**
 * Keeps an Identity from being deleted until the end of the transaction. Before the organization: in this order
 * everywhere.
 */
export async function lockIdentityAgainstDeletion(
  tx: EntityManager,
  { accountId }: EnvironmentScope,
  id: string,
): Promise<void> {
  const where = { accountId, id };
  await tx.findOne(Identity, { where, select: { id: true }, lock: { mode: 'for_key_share' } });
}

/** Updated in the transaction of the change, so that it is exact and nobody counts rows (contract §1). */
export async function addToMemberCount(
  tx: EntityManager,
  { accountId, environmentId }: EnvironmentScope,
  organizationIds: readonly string[],
  change: number,
): Promise<void> {
  await tx.query(
    `update organizations set member_count = member_count + $4
     where account_id = $1 and environment_id = $2 and id = any($3)`,
    [accountId, environmentId, organizationIds, change],
  );
}
