import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { Node } from '../../../../entities/node.js';
import { ScimGroup } from '../../../../entities/scim-group.js';
import { ScimGroupMapping } from '../../../../entities/scim-group-mapping.js';
import type { Clock } from '../../../platform/clock.js';
import { type Db, within } from '../../../platform/database/db.js';
import { violates } from '../../../platform/database/postgres-errors.js';
import { retryingDeadlocks } from '../../../platform/database/retry-deadlocks.js';
import { type AccountScope, environmentScopeOf } from '../../../platform/scope.js';
import { isUuid } from '../../../platform/uuid.js';
import type { Assignments } from '../../access/assignments/assignments.js';
import type { Caller } from '../../caller.js';
import { DomainError, invalidField } from '../../errors.js';
import { recordEvent } from '../../events/record.js';
import { schemaFor } from '../../hierarchy/schema-row.js';
import { containing, type Page, type PageRequest, readPage } from '../../lists/paging.js';
import { findOrganization } from '../../organizations/find.js';
import { lockDirectory } from '../../scim-roles/directories.js';
import { settleRoles } from '../../scim-roles/granting.js';
import { type Directory, directoryOf } from '../directory.js';
import { environmentScope } from '../tokens.js';

export interface NewScimGroupMapping {
  environmentId: string;
  /** The organization whose groups are meant; null: those of the Environment's directory. */
  organizationId: string | null;
  /** The id of a group, or its name in any case. */
  scimGroup: string;
  roleId: string;
  /** Null: the root, or the organization. */
  nodeId: string | null;
}
export type ScimGroupMappingChanges = { roleId?: string | undefined; nodeId?: string | undefined };
export type ScimGroupMappingPage = PageRequest<'created_at'> & { environmentId: string | undefined };

const columns = { created_at: ['mapping.createdAt', 'mapping.id'] };

export interface ScimGroupMappingsDeps {
  db: Db;
  assignments: Assignments;
  now: Clock;
}

/**
 * The role at a node that members of a directory's group get. A caller who creates a mapping grants the role to the
 * members, now and later, and needs the right to do so, as for any assignment (contract §5).
 */
export function createScimGroupMappings({ db, assignments, now }: ScimGroupMappingsDeps) {
  const change = <T>(scope: AccountScope, work: (tx: EntityManager) => Promise<T>): Promise<T> =>
    retryingDeadlocks(() => db.transaction(scope, work)).catch((error: unknown) => {
      const isThere = ['scim_group_mappings_group', 'scim_group_mappings_name'].some((name) => violates(error, name));
      throw isThere ? new DomainError('scim_group_mapping.exists') : error;
    });

  /** Brings the roles of the mapped group's members up to date, after or before a change. */
  const settle = async (tx: EntityManager, mapping: ScimGroupMapping): Promise<void> =>
    settleRoles(tx, directoryIn(mapping), await peopleIn(tx, mapping), now());

  return {
    list: (scope: AccountScope, { environmentId, ...page }: ScimGroupMappingPage): Promise<Page<ScimGroupMapping>> =>
      db.transaction(scope, (tx) => {
        const query = tx.createQueryBuilder(ScimGroupMapping, 'mapping').where(within(scope));
        if (environmentId) query.andWhere('mapping.environmentId = :environmentId', { environmentId });
        if (page.q) {
          const ofName = `(mapping.groupName ilike :pattern or exists (
            select from scim_groups g where g.id = mapping.group_id and g.display_name ilike :pattern))`;
          query.andWhere(ofName, { pattern: containing(page.q) });
        }
        return readPage(query, page, columns[page.sortBy]);
      }),

    /** @throws DomainError scim_group_mapping.not_found */
    get: (scope: AccountScope, id: string): Promise<ScimGroupMapping> =>
      db.transaction(scope, (tx) => findMapping(tx, scope, id)),

    /**
     * @throws DomainError environment.not_found, organization.not_found, role.not_found, nodes.node_not_found,
     *   permission.required, role.cannot_grant, scim_group_mapping.exists, validation.failed
     */
    create: (scope: AccountScope, caller: Caller, input: NewScimGroupMapping): Promise<ScimGroupMapping> =>
      change(scope, async (tx) => {
        const place = await environmentScope(tx, scope, input.environmentId);
        const { organizationId, roleId } = input;
        if (organizationId !== null) await findOrganization(tx, place, organizationId);
        const directory = directoryOf(place, organizationId);
        const wanted = { roleId, nodeId: input.nodeId ?? organizationId };
        // Locked before the directory, in the order of a move of a node: nobody moves it out of the organization
        // meanwhile.
        await schemaFor(tx, place, 'places');
        const nodeId = await assertMayMap(tx, directory, caller, wanted);
        await lockDirectory(tx, directory.directoryId);
        const mapping: ScimGroupMapping = {
          ...place,
          ...(await groupMeant(tx, directory, input.scimGroup)),
          id: uuidv7(),
          organizationId,
          directoryId: directory.directoryId,
          roleId,
          nodeId,
          createdAt: now(),
        };
        await tx.insert(ScimGroupMapping, mapping);
        await settle(tx, mapping);
        await recordEvent(tx, 'scim_group_mapping.created', eventOf(mapping));
        return mapping;
      }),

    /** Changes role or node of a mapping. @throws DomainError as `create`, scim_group_mapping.not_found */
    update: (
      scope: AccountScope,
      caller: Caller,
      id: string,
      { roleId, nodeId }: ScimGroupMappingChanges,
    ): Promise<ScimGroupMapping> =>
      change(scope, async (tx) => {
        await schemaFor(tx, environmentScopeOf(await findMapping(tx, scope, id)), 'places');
        const before = await lockMapping(tx, scope, id);
        const wanted = { roleId: roleId ?? before.roleId, nodeId: nodeId ?? before.nodeId };
        const mapping = { ...before, ...wanted, nodeId: await assertMayMap(tx, directoryIn(before), caller, wanted) };
        if (mapping.roleId === before.roleId && mapping.nodeId === before.nodeId) return before;
        await tx.update(ScimGroupMapping, { ...within(scope), id }, { roleId: mapping.roleId, nodeId: mapping.nodeId });
        await settle(tx, mapping);
        await recordEvent(tx, 'scim_group_mapping.updated', eventOf(mapping));
        return mapping;
      }),

    /**
     * Removes a mapping, and the roles for which it was the only reason.
     * @throws DomainError scim_group_mapping.not_found
     */
    remove: (scope: AccountScope, id: string): Promise<void> =>
      change(scope, async (tx) => {
        const mapping = await lockMapping(tx, scope, id);
        const people = await peopleIn(tx, mapping);
        await forgetMappings(tx, [mapping]);
        await settleRoles(tx, directoryIn(mapping), people, now());
      }),
  };

  /** @returns the node @throws DomainError as `create` */
  async function assertMayMap(
    tx: EntityManager,
    { scope, organizationId }: Directory,
    caller: Caller,
    { roleId, nodeId }: { roleId: string; nodeId: string | null },
  ): Promise<string> {
    const placed = await assignments.assertMayGrant(tx, scope, caller, { roleIds: [roleId], nodeId });
    if (organizationId === null) return placed;
    const node = await tx.findOneByOrFail(Node, { ...within(scope), id: placed });
    if (!node.path.includes(organizationId))
      throw invalidField('node_id', 'outside', 'is not inside the organization of the directory');
    return placed;
  }
}

/** Deletes mappings. The roles that they gave are up to the caller, unless they are deleted with a node. */
export async function forgetMappings(tx: EntityManager, mappings: readonly ScimGroupMapping[]): Promise<void> {
  for (const mapping of mappings) {
    await tx.delete(ScimGroupMapping, { accountId: mapping.accountId, id: mapping.id });
    await recordEvent(tx, 'scim_group_mapping.deleted', eventOf(mapping));
  }
}

export type ScimGroupMappings = ReturnType<typeof createScimGroupMappings>;

const directoryIn = (mapping: ScimGroupMapping): Directory =>
  directoryOf(environmentScopeOf(mapping), mapping.organizationId);

async function findMapping(tx: EntityManager, scope: AccountScope, id: string): Promise<ScimGroupMapping> {
  const mapping = await tx.findOneBy(ScimGroupMapping, { ...within(scope), id });
  if (!mapping) throw new DomainError('scim_group_mapping.not_found');
  return mapping;
}

/**
 * Locks a mapping's directory, then the mapping itself; in this order everywhere. The directory alone is not enough:
 * deleting a node ends its mappings while it locks only directories of organizations.
 * @throws DomainError scim_group_mapping.not_found
 */
async function lockMapping(tx: EntityManager, scope: AccountScope, id: string): Promise<ScimGroupMapping> {
  await lockDirectory(tx, (await findMapping(tx, scope, id)).directoryId);
  const lock = { mode: 'pessimistic_write' } as const;
  const mapping = await tx.findOne(ScimGroupMapping, { where: { ...within(scope), id }, lock });
  if (!mapping) throw new DomainError('scim_group_mapping.not_found');
  return mapping;
}

/** The group with this id, if the directory has it; otherwise any group that has this name, now or later. */
async function groupMeant(tx: EntityManager, { scope, directoryId }: Directory, scimGroup: string) {
  const where = { ...within(scope), directoryId, id: scimGroup };
  const isId = isUuid(scimGroup) && (await tx.existsBy(ScimGroup, where));
  return isId
    ? { groupId: scimGroup.toLowerCase(), groupName: null, groupNameKey: null }
    : { groupId: null, groupName: scimGroup, groupNameKey: scimGroup.toLowerCase() };
}

async function peopleIn(tx: EntityManager, mapping: ScimGroupMapping): Promise<string[]> {
  const rows = await tx.query<{ id: string }[]>(
    `select distinct gm.identity_id as id from scim_groups g join scim_group_members gm on gm.group_id = g.id
     where g.account_id = $1 and g.directory_id = $2 and ${mapping.groupId ? 'g.id = $3::uuid' : 'g.display_name_key = $3'}`,
    [mapping.accountId, mapping.directoryId, mapping.groupId ?? mapping.groupNameKey],
  );
  return rows.map(({ id }) => id);
}

const eventOf = (mapping: ScimGroupMapping) => ({
  ...environmentScopeOf(mapping),
  resourceId: mapping.id,
  metadata: {
    organization_id: mapping.organizationId,
    group_id: mapping.groupId,
    role_id: mapping.roleId,
    node_id: mapping.nodeId,
  },
});
