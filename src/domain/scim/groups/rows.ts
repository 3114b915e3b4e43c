import type { EntityManager } from 'typeorm';
import { ScimGroup } from '../../../../entities/scim-group.js';
import { within } from '../../../platform/database/db.js';
import { isUuid } from '../../../platform/uuid.js';
import { readRowCount } from '../../lists/row-counts.js';
import type { Directory } from '../directory.js';
import { targetOf } from '../filters/attribute-path.js';
import { candidateIds, type LookUpsOf, maxFoundByIndexes } from '../filters/look-ups.js';
import { type Column, type ColumnOf, conditionOf, ofSub } from '../filters/sql.js';
import type { Filter } from '../filters/syntax.js';
import { groupKind } from '../kinds.js';
import { assertBounded, type Found, isBroad, type ListRequest, orderOf } from '../lists.js';
import { ScimRefused } from '../refusal.js';
import { createValues } from '../users/rows.js';

export interface GroupMember {
  groupId: string;
  id: string;
}

const memberColumns = new Map<string, Column>([
  ['value', { type: 'id', sql: 'e.identity_id' }],
  ['type', { type: 'text', sql: `'User'` }],
]);
const members = {
  type: 'several',
  rows: '(select gm.identity_id from scim_group_members gm where gm.group_id = g.id) e',
  of: (name: string) => memberColumns.get(name.toLowerCase()) ?? null,
} as const;
const columns: Record<string, Column> = {
  id: { type: 'id', sql: 'g.id' },
  externalid: { type: 'exact', sql: 'g.external_id' },
  displayname: { type: 'text', sql: 'g.display_name' },
  members,
  'meta.resourcetype': { type: 'exact', sql: `'Group'` },
  'meta.created': { type: 'instant', sql: 'g.created_at' },
  'meta.lastmodified': { type: 'instant', sql: 'g.updated_at' },
};

const columnOf: ColumnOf = (path) => {
  const { attribute, sub } = targetOf(groupKind, path) ?? {};
  if (!attribute) return null;
  if (attribute.name === 'members' && sub) return ofSub(members, sub.name);
  return columns[`${attribute.name}${sub ? `.${sub.name}` : ''}`.toLowerCase()] ?? null;
};

type By = 'id' | 'displayName' | 'externalId' | 'members';

const ofComparison: LookUpsOf<By> = (path, op, value) => {
  const { attribute, sub } = targetOf(groupKind, path) ?? {};
  const by = (['id', 'displayName', 'externalId', 'members'] as const).find((name) => name === attribute?.name);
  return op === 'eq' && by && (!sub || sub.name === 'value') ? [{ by, value }] : null;
};

/** Whether a list of groups waits for its turn (`isBroad`). */
export const isBroadForGroups = (request: ListRequest): boolean =>
  isBroad(request, ofComparison, ['id', 'displayName', 'externalId', 'members']);

/** Ids of all groups that can match a filter, as `candidateIds`. */
const meantGroups = (tx: EntityManager, { scope, directoryId }: Directory, filter: Filter) =>
  candidateIds(filter, ofComparison, (of) => {
    const uuids = (by: By) => of(by).filter((id) => isUuid(id));
    const names = of('displayName').map((name) => name.toLowerCase());
    return tx.query<{ id: string }[]>(
      `select unnest($4::uuid[]) as id
       union all select id from scim_groups where account_id = $1 and directory_id = $3 and display_name_key = any($5::text[])
       union all select id from scim_groups where account_id = $1 and directory_id = $3 and external_id = any($6::text[])
       union all select group_id from scim_group_members
         where account_id = $1 and environment_id = $2 and identity_id = any($7::uuid[])
       limit $8`,
      [
        scope.accountId,
        scope.environmentId,
        directoryId,
        uuids('id'),
        names,
        of('externalId'),
        uuids('members'),
        maxFoundByIndexes + 1,
      ],
    );
  });

/** @throws ScimRefused invalidFilter, invalidPath, tooMany */
export async function listGroups(
  tx: EntityManager,
  directory: Directory,
  request: ListRequest,
): Promise<Found<ScimGroup>> {
  const { filter, count, startIndex } = request;
  const values = createValues(directory);
  const order = orderOf(request, columnOf, 'g.created_at');
  const wanted = filter ? conditionOf(filter, columnOf, values) : 'true';
  const ofDirectory = 'from scim_groups g where g.account_id = $1 and g.environment_id = $2 and g.directory_id = $3';
  const { scope, directoryId: ownerId } = directory;
  const all = await readRowCount(tx, { ...scope, ownerId }, 'scim_groups');
  const meant = filter && (await meantGroups(tx, directory, filter));
  if (!meant) assertBounded(request, all);
  const among = meant ? ` and g.id = any(${values.put(meant)}::uuid[])` : '';
  const from = `${ofDirectory}${among} and ${wanted}`;
  const total = filter ? await countOf(tx, from, values.all) : all;
  if (count === 0 || startIndex > total) return { total, rows: [] };
  const ids = await tx.query<{ id: string }[]>(
    `select g.id ${from} order by ${order}, g.id offset ${startIndex - 1} limit ${count}`,
    values.all,
  );
  const found = await tx
    .createQueryBuilder(ScimGroup, 'g')
    .where(within(directory.scope))
    .andWhereInIds(ids.map(({ id }) => id))
    .getMany();
  const byId = new Map(found.map((one) => [one.id, one]));
  return { total, rows: ids.flatMap(({ id }) => byId.get(id) ?? []) };
}

async function countOf(tx: EntityManager, from: string, values: unknown[]): Promise<number> {
  const [row] = await tx.query<{ count: string }[]>(`select count(*) as count ${from}`, values);
  return Number(row!.count);
}

/** The members of some groups, in the order in which they were created. */
export const membersOf = (
  tx: EntityManager,
  { scope }: Directory,
  groupIds: readonly string[],
): Promise<GroupMember[]> =>
  tx.query(
    `select gm.group_id as "groupId", gm.identity_id as id from scim_group_members gm
     where gm.account_id = $1 and gm.environment_id = $2 and gm.group_id = any($3) order by gm.identity_id`,
    [scope.accountId, scope.environmentId, groupIds],
  );

/** @throws ScimRefused notFound */
export async function findGroup(tx: EntityManager, { scope, directoryId }: Directory, id: string): Promise<ScimGroup> {
  const group = isUuid(id) && (await tx.findOneBy(ScimGroup, { ...within(scope), directoryId, id }));
  if (!group) throw new ScimRefused('notFound', 'No such group');
  return group;
}
