import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { ScimGroup } from '../../../../entities/scim-group.js';
import { ScimGroupMapping } from '../../../../entities/scim-group-mapping.js';
import type { Clock } from '../../../platform/clock.js';
import { type Db, within } from '../../../platform/database/db.js';
import { changedFields } from '../../changed-fields.js';
import { recordEvent } from '../../events/record.js';
import type { FairQueue } from '../../limits/fair-queue.js';
import { settleRoles } from '../../scim-roles/granting.js';
import { changing, type Directory } from '../directory.js';
import { groupKind } from '../kinds.js';
import type { Found, ListRequest } from '../lists.js';
import { type PatchOperation, patched } from '../patch.js';
import { createPatchWork } from '../patch-work.js';
import { ScimRefused } from '../refusal.js';
import type { Resource } from '../schema.js';
import type { IsExpected } from '../users/users.js';
import { forgetGroups } from './forget-groups.js';
import { forgetMappings } from './mappings.js';
import {
  idsIn,
  type MemberChanges,
  maxMembers,
  memberIdsOf,
  membersAfter,
  patchMembers,
  setMembers,
} from './members.js';
import { groupVersion, type WantedGroup, wantedGroupOf } from './resource.js';
import { findGroup, type GroupMember, isBroadForGroups, listGroups, membersOf } from './rows.js';

export interface GroupWithMembers {
  group: ScimGroup;
  /** Null where they were not asked for. */
  members: GroupMember[] | null;
}

/** The groups of a directory (RFC 7643 §4.2). The roles that members hold by mappings change with them. */
export function createScimGroups({ db, broadReads, now }: { db: Db; broadReads: FairQueue; now: Clock }) {
  return {
    /**
     * With members, returns at most as many groups as together have the number of members that one group may have.
     * @throws ScimRefused invalidFilter, invalidPath, tooMany
     */
    list: (directory: Directory, request: ListRequest, withMembers: boolean): Promise<Found<GroupWithMembers>> => {
      const read = () =>
        db.transaction(directory.scope, async (tx) => {
          const { total, rows } = await listGroups(tx, directory, request);
          const shown = withMembers ? rows.slice(0, howManyFit(rows)) : rows;
          return { total, rows: await withTheirMembers(tx, directory, shown, withMembers) };
        });
      return isBroadForGroups(request) ? broadReads(read, directory.scope.accountId) : read();
    },

    /** @param wantsMembers whether they are read, by the group's version @throws ScimRefused notFound */
    get: (directory: Directory, id: string, wantsMembers: IsExpected): Promise<GroupWithMembers> =>
      db.transaction(directory.scope, async (tx) => {
        const group = await findGroup(tx, directory, id);
        return withMembersOf(tx, directory, group, wantsMembers(groupVersion(group)));
      }),

    /** @throws ScimRefused invalidValue, forbidden */
    create: (directory: Directory, resource: Resource, withMembers: boolean): Promise<GroupWithMembers> => {
      const wanted = wantedGroupOf(resource);
      const memberIds = memberIdsOf(resource.members);
      return changing(db, directory, async (tx) => {
        const at = now();
        const { scope, organizationId, directoryId } = directory;
        const group: ScimGroup = {
          ...within(scope),
          id: uuidv7(),
          organizationId,
          directoryId,
          version: 1,
          createdAt: at,
          updatedAt: at,
          ...rowOf(wanted),
          membersAtMost: memberIds.length,
        };
        await tx.insert(ScimGroup, group);
        const { added } = await setMembers(tx, directory, group.id, memberIds, at);
        await settleRoles(tx, directory, added, at);
        await recordEvent(tx, 'scim_group.created', {
          ...eventOf(directory, group),
          metadata: { organization_id: organizationId, members_added: added.length },
        });
        return withMembersOf(tx, directory, group, withMembers);
      });
    },

    /** @throws ScimRefused notFound, versionMismatch, invalidValue, forbidden */
    replace: (
      directory: Directory,
      id: string,
      isExpected: IsExpected | null,
      resource: Resource,
      withMembers: boolean,
    ) => {
      const wanted = wantedGroupOf(resource);
      const memberIds = memberIdsOf(resource.members);
      return change(directory, id, { isExpected, withMembers }, async (tx, _group, at) => ({
        wanted,
        members: await setMembers(tx, directory, id, memberIds, at),
      }));
    },

    /** Applies the operations in order. @throws ScimRefused as `replace`, and for what the operations refuse */
    patch: (
      directory: Directory,
      id: string,
      isExpected: IsExpected | null,
      operations: readonly PatchOperation[],
      withMembers: boolean,
    ) =>
      change(directory, id, { isExpected, withMembers }, async (tx, group, at) => {
        const { displayName, externalId } = group;
        let resource: Resource = { displayName, ...(externalId !== null && { externalId }) };
        const members: MemberChanges[] = [];
        const work = createPatchWork();
        for (const operation of operations) {
          if (operation.target.attribute?.name === 'members')
            members.push(await patchMembers(tx, directory, id, operation, { at, work }));
          else resource = patched(groupKind, resource, [operation], work);
        }
        return { wanted: wantedGroupOf(resource, group), members: together(members) };
      }),

    /** @throws ScimRefused notFound, versionMismatch */
    remove: (directory: Directory, id: string, isExpected: IsExpected | null): Promise<void> =>
      changing(db, directory, async (tx) => {
        const group = await findGroup(tx, directory, id);
        assertExpected(isExpected, group);
        const memberIds = await idsIn(tx, directory, id);
        const mapped = { ...within(directory.scope), groupId: id };
        await forgetMappings(tx, await tx.find(ScimGroupMapping, { where: mapped, order: { id: 'ASC' } }));
        await forgetGroups(tx, directory.scope, [group]);
        await settleRoles(tx, directory, memberIds, now());
      }),
  };

  type Changed = { wanted: WantedGroup; members: MemberChanges };
  function change(
    directory: Directory,
    id: string,
    { isExpected, withMembers }: { isExpected: IsExpected | null; withMembers: boolean },
    work: (tx: EntityManager, group: ScimGroup, at: Date) => Promise<Changed>,
  ): Promise<GroupWithMembers> {
    return changing(db, directory, async (tx) => {
      const at = now();
      const group = await findGroup(tx, directory, id);
      assertExpected(isExpected, group);
      const { wanted, members } = await work(tx, group, at);
      await store(tx, directory, group, { wanted, members }, at);
      return withMembersOf(tx, directory, await findGroup(tx, directory, id), withMembers);
    });
  }
}

export type ScimGroups = ReturnType<typeof createScimGroups>;

const rowOf = ({ displayName, externalId }: WantedGroup) => ({
  displayName,
  displayNameKey: displayName.toLowerCase(),
  externalId,
});
const eventOf = ({ scope }: Directory, { id, displayName }: ScimGroup) => ({
  ...scope,
  resourceId: id,
  resourceLabel: displayName,
});

/** Returns the changes of all operations together, without people who were added and removed again. */
function together(changes: readonly MemberChanges[]): MemberChanges {
  const [added, removed] = [new Set<string>(), new Set<string>()];
  for (const one of changes) {
    for (const id of one.removed) added.delete(id) || removed.add(id);
    for (const id of one.added) removed.delete(id) || added.add(id);
  }
  return { added: [...added], removed: [...removed] };
}

async function store(
  tx: EntityManager,
  directory: Directory,
  group: ScimGroup,
  { wanted, members }: { wanted: WantedGroup; members: MemberChanges },
  at: Date,
): Promise<void> {
  const { added, removed } = members;
  const changed = changedFields(group, { displayName: wanted.displayName, externalId: wanted.externalId });
  if (changed.length + added.length + removed.length === 0) return;
  const where = { ...within(directory.scope), id: group.id };
  const membersAtMost = await membersAfter(tx, directory, group, members);
  // The version is raised in the row: a person who leaves the Environment at this moment raises it too, without a lock
  // on the directory.
  const version = () => 'version + 1';
  await tx.update(ScimGroup, where, { ...rowOf(wanted), membersAtMost, version, updatedAt: at });
  // Another name may have another mapping, which changes the roles of all members.
  const isRenamed = changed.includes('display_name');
  const concerned = isRenamed ? [...(await idsIn(tx, directory, group.id)), ...removed] : [...added, ...removed];
  await settleRoles(tx, directory, concerned, at);
  const counts = { members_added: added.length, members_removed: removed.length };
  const metadata = { organization_id: directory.organizationId, changed, ...counts };
  await recordEvent(tx, 'scim_group.updated', { ...eventOf(directory, group), metadata });
}

function assertExpected(isExpected: IsExpected | null, group: ScimGroup): void {
  if (isExpected && !isExpected(groupVersion(group)))
    throw new ScimRefused('versionMismatch', 'The group has changed in the meantime; read it again');
}

async function withMembersOf(tx: EntityManager, directory: Directory, group: ScimGroup, isWanted: boolean) {
  return (await withTheirMembers(tx, directory, [group], isWanted))[0] as GroupWithMembers;
}

/** Returns at least one: clients continue after the last item of a page (RFC 7644 §3.4.2.4). */
function howManyFit(groups: readonly ScimGroup[]): number {
  let members = 0;
  const tooMany = groups.findIndex(({ membersAtMost }) => {
    members += membersAtMost;
    return members > maxMembers;
  });
  return tooMany < 0 ? groups.length : Math.max(1, tooMany);
}

async function withTheirMembers(
  tx: EntityManager,
  directory: Directory,
  groups: readonly ScimGroup[],
  isWanted: boolean,
): Promise<GroupWithMembers[]> {
  if (!isWanted || groups.length === 0) return groups.map((group) => ({ group, members: null }));
  const found = await membersOf(
    tx,
    directory,
    groups.map(({ id }) => id),
  );
  const byGroup = new Map(groups.map(({ id }) => [id, [] as GroupMember[]]));
  for (const member of found) byGroup.get(member.groupId)?.push(member);
  return groups.map((group) => ({ group, members: byGroup.get(group.id) ?? [] }));
}
