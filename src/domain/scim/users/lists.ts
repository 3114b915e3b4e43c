import type { EntityManager } from 'typeorm';
import { readCounter } from '../../lists/counters.js';
import { fromNearerEnd } from '../../lists/paging.js';
import type { Directory } from '../directory.js';
import { conditionOf } from '../filters/sql.js';
import { assertBounded, type Found, type ListRequest, orderOf } from '../lists.js';
import { userColumns } from './columns.js';
import { meantUsers } from './look-ups.js';
import { maxAttributeBytes } from './resource.js';
import { createValues, expressions, isOfPlace, peopleOf, readUsers, type UserRow } from './rows.js';

type Ids = Found<string>;

/** The most bytes of attributes on a page, and how many people always fit. */
const maxTogether = 2 * 1024 * 1024;
const alwaysFit = Math.floor(maxTogether / maxAttributeBytes);

/**
 * A page of the people of a directory's place, which ends early if they have too many attributes together.
 * @throws ScimRefused invalidFilter, invalidPath, tooMany
 */
export async function listUsers(
  tx: EntityManager,
  directory: Directory,
  request: ListRequest,
): Promise<Found<UserRow>> {
  const isWhole = request.filter === null && request.sortBy === null;
  const { total, rows } = await (isWhole ? pageOfAll : pageOfFound)(tx, directory, request);
  const ids = await thatFit(tx, directory, rows);
  const found = new Map((await readUsers(tx, directory, ids)).map((row) => [row.id, row]));
  return { total, rows: ids.flatMap((id) => found.get(id) ?? []) };
}

async function thatFit(tx: EntityManager, directory: Directory, ids: string[]): Promise<string[]> {
  if (ids.length <= alwaysFit) return ids;
  const values = createValues(directory);
  const [fitting] = await tx.query<{ count: number }[]>(
    `select count(*)::int as count from (
       select sum(octet_length(s.attributes::text)) over (order by w.place) as bytes
       from unnest(${values.put(ids)}::uuid[]) with ordinality w (id, place)
         left join scim_users s on s.account_id = $1 and s.environment_id = $2 and s.directory_id = $3 and s.identity_id = w.id
     ) added where coalesce(bytes, 0) <= ${maxTogether}`,
    values.all,
  );
  return ids.slice(0, Math.max(1, fitting!.count));
}

/** The order by age. */
async function pageOfAll(tx: EntityManager, directory: Directory, { startIndex, count }: ListRequest): Promise<Ids> {
  const total = await countPeople(tx, directory);
  const range = fromNearerEnd(total, { before: startIndex - 1, take: count, order: 'asc' });
  if (range.count === 0) return { total, rows: [] };
  const { at, fromBack, direction } = range;
  const values = createValues(directory);
  const rows = await tx.query<{ id: string }[]>(
    `select m.identity_id as id from environment_memberships m where ${isOfPlace(directory)}
     order by m.created_at ${direction}, m.identity_id ${direction} offset ${at} limit ${range.count}`,
    values.all,
  );
  const ids = rows.map(({ id }) => id);
  return { total, rows: fromBack ? ids.reverse() : ids };
}

async function pageOfFound(tx: EntityManager, directory: Directory, request: ListRequest): Promise<Ids> {
  const { filter, startIndex, count } = request;
  const columnOf = userColumns(directory);
  const values = createValues(directory);
  const order = orderOf(request, columnOf, expressions(directory).created);
  const wanted = filter ? conditionOf(filter, columnOf, values) : 'true';
  const meant = filter && (await meantUsers(tx, directory, filter));
  if (!meant) assertBounded(request, await countPeople(tx, directory));
  const among = meant ? `m.identity_id = any(${values.put(meant)}::uuid[])` : 'true';
  const from = `${peopleOf(directory)} and ${among} and ${wanted}`;
  const rows =
    count === 0
      ? []
      : await tx.query<{ id: string; total: string }[]>(
          `select i.id, count(*) over () as total ${from} order by ${order}, i.id offset ${startIndex - 1} limit ${count}`,
          values.all,
        );
  if (rows[0]) return { total: Number(rows[0].total), rows: rows.map(({ id }) => id) };
  if (count > 0 && startIndex === 1) return { total: 0, rows: [] };
  const [counted] = await tx.query<{ total: string }[]>(`select count(*) as total ${from}`, values.all);
  return { total: Number(counted!.total), rows: [] };
}

async function countPeople(tx: EntityManager, directory: Directory): Promise<number> {
  if (directory.organizationId === null) return readCounter(tx, directory.scope, 'identities');
  const [counted] = await tx.query<{ total: string }[]>(
    `select count(*) as total from environment_memberships m where ${isOfPlace(directory)}`,
    createValues(directory).all,
  );
  return Number(counted!.total);
}
