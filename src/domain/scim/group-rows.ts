import type { EntityManager } from 'typeorm';
import { validate as isUuid } from 'uuid';
import { ScimGroup } from '../../../entities/scim-group.js';
import { within } from '../../platform/db.js';
import { targetOf } from './attribute-path.js';
import type { Directory } from './directory.js';
import { type Column, type ColumnOf, conditionOf } from './filter-sql.js';
import { groupKind } from './kinds.js';
import { demandsOf, type Found, type ListRequest, orderOf } from './lists.js';
import { ScimRefused } from './refusal.js';
import { createValues } from './user-rows.js';

export interface GroupMember {
  groupId: string;
  id: string;
}

const members: Column = {
  type: 'several',
  rows: '(select gm.identity_id from scim_group_members gm where gm.group_id = g.id) e',
  of: (name) =>
    ({
      value: { type: 'exact', sql: 'e.identity_id::text' } as const,
      type: { type: 'text', sql: `'User'` } as const,
    })[name.toLowerCase()] ?? null,
};
const columns: Record<string, Column> = {
  id: { type: 'exact', sql: 'g.id::text' },
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
  if (attribute.name === 'members' && sub) return { ...members, of: () => members.of(sub.name) };
  return columns[`${attribute.name}${sub ? `.${sub.name}` : ''}`.toLowerCase()] ?? null;
};

/** @throws ScimRefused invalidFilter, invalidPath */
export async function listGroups(
  tx: EntityManager,
  directory: Directory,
  request: ListRequest,
): Promise<Found<ScimGroup>> {
  const values = createValues(directory);
  const order = orderOf(request, columnOf, 'g.created_at');
  const demanded = demandsOf(request.filter).get('displayname');
  const conditions = [
    'g.account_id = $1 and g.environment_id = $2 and g.directory_id = $3',
    // What an index answers first; the filter itself compares an expression.
    ...(demanded === undefined ? [] : [`g.display_name_key = ${values.put(demanded.toLowerCase())}::text`]),
    ...(request.filter ? [conditionOf(request.filter, columnOf, values)] : []),
  ];
  const where = `from scim_groups g where ${conditions.join(' and ')}`;
  const [counted] = await tx.query<{ count: string }[]>(`select count(*) as count ${where}`, values.all);
  const total = Number(counted?.count);
  if (request.count === 0 || request.startIndex > total) return { total, rows: [] };
  const ids = await tx.query<{ id: string }[]>(
    `select g.id ${where} order by ${order}, g.id offset ${request.startIndex - 1} limit ${request.count}`,
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

/** Who is in some groups, in the order in which they were made. */
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
  if (!group) throw new ScimRefused('notFound', 'There is no such group');
  return group;
}
