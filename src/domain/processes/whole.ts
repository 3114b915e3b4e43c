import type { RowCountList } from '../../../entities/row-count.js';
import type { Db, Statement } from '../../platform/database/db.js';
import type { AccountScope } from '../../platform/scope.js';
import { afterCursor, placedBy, type RowPlace } from '../lists/cursors.js';
import { forwardRange, isFollowing, type Page, pageOf, type RowRange } from '../lists/paging.js';
import { rowCount } from '../lists/row-counts.js';
import { statementOf } from '../lists/row-pages.js';
import { bindInto } from '../lists/sql-parameters.js';
import type { Kind, KindName, ProcessRow } from './kind.js';
import type { Kinds } from './kinds.js';
import type { ListRequest } from './list.js';
import { kindsIn, rowsOf, standsByKey, union } from './rows.js';
import { wholeOf } from './totals.js';

/** Whether a list is requested without filters other than a kind, from its beginning or behind a cursor. */
export const isWhole = ({ q, state, open, subjectId, olderThanMs, ...request }: ListRequest): boolean =>
  !q &&
  [state, open, subjectId, olderThanMs].every((filter) => filter === undefined) &&
  (request.page === 1 || isFollowing(request));

/**
 * One page of such a list, with the total, in one round trip. Planning nine kinds, each with its policies, takes
 * several times as long as reading fifty rows of them; and there is one good plan, by the index of each, so it is
 * cached. It runs in the system's scope, which alone sees rows of mails, so each kind filters by Account itself.
 * @returns undefined if there are no rows, and so none that carries the total
 */
export async function readWholePage(
  db: Pick<Db, 'statement'>,
  kinds: Kinds,
  { accountId }: AccountScope,
  { now, ...request }: ListRequest & { now: Date },
): Promise<Page<ProcessRow> | undefined> {
  const range = forwardRange(request);
  const { statement, counted } = askedFor(kinds, request.kind, range);
  const { behind: last } = range;
  const values = [accountId, now, range.count, accountId, counted, ...(last ? [last.createdAt, last.id] : [])];
  const rows = await db.statement<ProcessRow & RowPlace & { itemCount: string }>(statement, values);
  return rows[0] && pageOf(request, Number(rows[0].itemCount), range, rows);
}

interface Asked {
  statement: Statement;
  counted: readonly RowCountList[];
}
/** Each connection keeps a megabyte for one over all kinds; there are as few as there are ways to read. */
const known = new Map<string, Asked>();

/** The text is long, and is built once. */
function askedFor(kinds: Kinds, kind: KindName | undefined, range: RowRange): Asked {
  const key = [kind, range.direction, range.behind === undefined].join(' ');
  const before = known.get(key);
  if (before) return before;
  const of = kindsIn(kinds, { kind });
  const counted = of.flatMap((one) => one.counted);
  const made = { statement: statementOf(textOf(of, counted, range)), counted };
  known.set(key, made);
  return made;
}

/** Its values are named in the order in which `readWholePage` has them. */
function textOf(of: readonly Kind[], counted: readonly RowCountList[], { direction, behind: last }: RowRange): string {
  const put = bindInto([null, null]); // the Account and now, as each kind calls them
  const limit = put(null);
  const total = rowCount(put, wholeOf(''), ...counted);
  const following = last ? [afterCursor(last, columns, direction, put)] : [];
  const sorted = `order by ${columns.map((column) => `${column} ${direction}`).join(', ')}`;
  const each = (kind: Kind) => `(${rowsOf(kind, following, standsByKey)} ${sorted} limit ${maxRows})`;
  return `select ${shown}, ${placedBy(...columns)}, ${total} as "itemCount" from (${union(of, each)}) process ${sorted} limit ${limit}`;
}

/**
 * In the text, since PostgreSQL plans for few rows of each only when it knows that they are few. One more tells whether
 * anything follows.
 */
const maxRows = 100 + 1;
const columns = ['"createdAt"', 'id'] as const;
const shown = `id, kind, "accountId", "environmentId", "subjectType", "subjectId", state, since, deadline, "createdAt", "endedAt",
  "endedReason", "nextAt"`;
