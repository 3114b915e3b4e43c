import type { EntityManager } from 'typeorm';
import { validate as isUuid } from 'uuid';
import type { Directory } from './directory.js';
import type { Column, ColumnOf } from './filter-sql.js';
import type { Filter } from './filter-syntax.js';
import { ScimRefused } from './refusal.js';

/** What a list is asked for (RFC 7644 §3.4.2). */
export interface ListRequest {
  filter: Filter | null;
  sortBy: string | null;
  sortOrder: 'ascending' | 'descending';
  /** From 1. */
  startIndex: number;
  count: number;
}

export interface Found<Row> {
  total: number;
  rows: Row[];
}

/** The order as SQL, with the paths of attributes. @throws ScimRefused invalidPath */
export function orderOf({ sortBy, sortOrder }: ListRequest, columnOf: ColumnOf, created: string): string {
  if (sortBy === null) return created;
  const column = columnOf(sortBy);
  // Of several values the main one counts, else any (RFC 7644 §3.4.2.3); each has a `value`.
  const single = column?.type === 'several' ? sortedValue(column) : column;
  if (!single) throw new ScimRefused('invalidPath', `Nothing is sorted by ${sortBy.slice(0, 200)}`);
  const sql = single.type === 'text' ? `lower(${single.sql})` : single.sql;
  return sortOrder === 'descending' ? `${sql} desc nulls first` : `${sql} asc nulls last`;
}

function sortedValue({ rows, of }: Extract<Column, { type: 'several' }>) {
  const [value, primary] = [of('value'), of('primary')];
  if (value?.type !== 'text' && value?.type !== 'exact') return null;
  const order = primary?.type === 'boolean' ? ` order by ${primary.sql} desc nulls last` : '';
  return { type: value.type, sql: `(select ${value.sql} from ${rows}${order} limit 1)` };
}

/** What a filter demands in any case, as far as an index answers it: path in lower case to the value. */
export function demandsOf(filter: Filter | null): Map<string, string> {
  if (filter?.op === 'eq' && typeof filter.value === 'string')
    return new Map([[filter.path.replace(/^urn:.*:/i, '').toLowerCase(), filter.value]]);
  if (filter?.op !== 'and') return new Map();
  return new Map(filter.filters.flatMap((one) => [...demandsOf(one)]));
}

/**
 * Ids of all who can be meant by a demand that an index answers, so that nobody else is looked at; null where there is none.
 * Row-level security and expressions over two tables would keep the planner from finding this by itself.
 */
export async function meantUsers(
  tx: EntityManager,
  { scope, directoryId }: Directory,
  filter: Filter | null,
): Promise<string[] | null> {
  const demands = demandsOf(filter);
  const id = demands.get('id');
  if (id !== undefined) return isUuid(id) ? [id] : [];
  const userName = demands.get('username');
  if (userName !== undefined)
    return idsOf(
      await tx.query(
        `select identity_id as id from scim_users where directory_id = $2 and user_name_key = $3
         union all select gatehouse_identity_id($1, $4)`,
        [scope.accountId, directoryId, userName.toLowerCase(), userName],
      ),
    );
  const externalId = demands.get('externalid');
  if (externalId === undefined) return null;
  return idsOf(
    await tx.query('select identity_id as id from scim_users where directory_id = $1 and external_id = $2', [
      directoryId,
      externalId,
    ]),
  );
}

const idsOf = (rows: { id: string | null }[]): string[] => rows.flatMap(({ id }) => id ?? []);
