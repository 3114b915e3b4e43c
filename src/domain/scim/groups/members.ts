import type { EntityManager } from 'typeorm';
import type { ScimGroup } from '../../../../entities/scim-group.js';
import { isUuid } from '../../../platform/uuid.js';
import type { Directory } from '../directory.js';
import { type LookUpsOf, lookUpsOf } from '../filters/look-ups.js';
import { matchesFilter } from '../filters/match.js';
import { groupKind } from '../kinds.js';
import type { PatchOperation } from '../patch.js';
import type { PatchWork } from '../patch-work.js';
import { ScimRefused } from '../refusal.js';
import { type Attribute, attributeOf, type Resource } from '../schema.js';
import { adoptPerson } from '../users/people.js';
import { readUsers } from '../users/rows.js';
import { readValue } from '../values.js';

export interface MemberChanges {
  added: string[];
  removed: string[];
}

export const maxMembers = 20_000;
const attribute = attributeOf(groupKind.schema, 'members', groupKind) as Attribute;

/** The ids in a value of `members`. @throws ScimRefused invalidValue */
export function memberIdsOf(value: unknown): string[] {
  const members = (readValue(attribute, value) ?? []) as Resource[];
  return [
    ...new Set(
      members.map(({ value: id, type }) => {
        if (typeof id !== 'string' || !isUuid(id) || (typeof type === 'string' && type.toLowerCase() !== 'user'))
          throw new ScimRefused('invalidValue', 'A value of members is not the ID of a user');
        return id.toLowerCase();
      }),
    ),
  ];
}

/** Sets the members of a group. */
export async function setMembers(
  tx: EntityManager,
  directory: Directory,
  groupId: string,
  ids: readonly string[],
  at: Date,
): Promise<MemberChanges> {
  const before = await idsIn(tx, directory, groupId);
  const wanted = new Set(ids);
  const removed = await removeMembers(
    tx,
    directory,
    groupId,
    before.filter((id) => !wanted.has(id)),
  );
  const added = await addMembers(tx, directory, groupId, ids, at);
  return { added, removed };
}

/** Applies one operation of a PATCH to the members (RFC 7644 §3.5.2). @throws ScimRefused */
export async function patchMembers(
  tx: EntityManager,
  directory: Directory,
  groupId: string,
  { op, target: { filter, sub }, value }: PatchOperation,
  { at, work }: { at: Date; work: PatchWork },
): Promise<MemberChanges> {
  if (sub) throw new ScimRefused('mutability', `${sub.name} of a member cannot be changed`);
  if (filter) {
    if (op !== 'remove') throw new ScimRefused('mutability', 'Members can be added and removed, but not changed');
    const named = lookUpsOf(filter, byId)?.map(({ value }) => value.toLowerCase());
    const among = named?.filter((id) => isUuid(id)) ?? (await idsIn(tx, directory, groupId));
    work.count(among.length, filter);
    const meant = among.filter((id) => matchesFilter(filter, attribute, { value: id, type: 'User' }));
    return { added: [], removed: await removeMembers(tx, directory, groupId, meant) };
  }
  const ids = memberIdsOf(value);
  if (op === 'add') return { added: await addMembers(tx, directory, groupId, ids, at), removed: [] };
  if (op === 'replace') return setMembers(tx, directory, groupId, ids, at);
  // Without a value, all members are removed.
  const gone = value === undefined || value === null ? await idsIn(tx, directory, groupId) : ids;
  return { added: [], removed: await removeMembers(tx, directory, groupId, gone) };
}

/** If the operation names members, only those are read. */
const byId: LookUpsOf<'value'> = (path, op, value) =>
  op === 'eq' && path.toLowerCase() === 'value' ? [{ by: 'value', value }] : null;

export async function idsIn(tx: EntityManager, { scope }: Directory, groupId: string): Promise<string[]> {
  const rows = await tx.query<{ id: string }[]>(
    'select identity_id as id from scim_group_members where account_id = $1 and group_id = $2 order by 1',
    [scope.accountId, groupId],
  );
  return rows.map(({ id }) => id);
}

/** @returns those who have become members @throws ScimRefused invalidValue, forbidden */
async function addMembers(
  tx: EntityManager,
  directory: Directory,
  groupId: string,
  ids: readonly string[],
  at: Date,
): Promise<string[]> {
  if (ids.length === 0) return [];
  await assertProvisioned(tx, directory, ids, at);
  const { accountId, environmentId } = directory.scope;
  const rows = await tx.query<{ id: string }[]>(
    `insert into scim_group_members (group_id, identity_id, account_id, environment_id)
     select $1::uuid, id, $2::uuid, $3::uuid from unnest($4::uuid[]) id order by id
     on conflict do nothing returning identity_id as id`,
    [groupId, accountId, environmentId, ids],
  );
  return rows.map(({ id }) => id);
}

/**
 * Checks the number of members of a group after a change. They are only counted if there could be too many.
 * @throws ScimRefused invalidValue
 */
export async function membersAfter(
  tx: EntityManager,
  directory: Directory,
  { id, membersAtMost }: ScimGroup,
  { added, removed }: MemberChanges,
): Promise<number> {
  const after = membersAtMost + added.length - removed.length;
  if (after <= maxMembers) return after;
  const counted = (await idsIn(tx, directory, id)).length;
  if (counted > maxMembers) throw new ScimRefused('invalidValue', `A group can have at most ${maxMembers} members`);
  return counted;
}

/** A member of a group must be provisioned by the directory, since roles come with it. */
async function assertProvisioned(tx: EntityManager, directory: Directory, ids: readonly string[], at: Date) {
  const rows = await readUsers(tx, directory, ids);
  const found = new Set(rows.map(({ id }) => id));
  const unknown = ids.find((id) => !found.has(id));
  if (unknown) throw new ScimRefused('invalidValue', `There is no user ${unknown}`);
  for (const row of rows) await adoptPerson(tx, directory, row, at);
}

/** @returns those who have left */
async function removeMembers(
  tx: EntityManager,
  { scope }: Directory,
  groupId: string,
  ids: readonly string[],
): Promise<string[]> {
  if (ids.length === 0) return [];
  const [rows] = await tx.query<[{ id: string }[], number]>(
    `delete from scim_group_members where account_id = $1 and group_id = $2 and identity_id = any($3) returning identity_id as id`,
    [scope.accountId, groupId, ids],
  );
  return rows.map(({ id }) => id);
}
