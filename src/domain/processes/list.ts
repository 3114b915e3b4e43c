import type { EntityManager } from 'typeorm';
import type { AccountScope } from '../../platform/scope.js';
import { DomainError } from '../errors.js';
import { afterCursor, placedBy, type RowPlace } from '../lists/cursors.js';
import { type Page, type PageRequest, pageOf, rangeOf } from '../lists/paging.js';
import { askIn } from '../lists/row-pages.js';
import { bindInto } from '../lists/sql-parameters.js';
import type { Kind, KindName, ProcessRow } from './kind.js';
import type { Kinds } from './kinds.js';
import { conditions, type Filters, fewOf, kindsIn, rowsOf, union } from './rows.js';
import { readTotal } from './totals.js';

export interface ListRequest extends PageRequest<'created_at'>, Omit<Filters, 'q'> {
  kind?: KindName | undefined;
}

/** One page over all kinds. Like every list, it is read from the nearer end. */
export async function listRows(
  tx: EntityManager,
  kinds: Kinds,
  { accountId }: AccountScope,
  { now, ...request }: ListRequest & { now: Date },
): Promise<Page<ProcessRow>> {
  const asked = kindsIn(kinds, request);
  const itemCount = await readTotal(tx, asked, accountId, request, now);
  const range = rangeOf(itemCount, request);
  const { at, count, direction, behind: last } = range;
  if (count === 0) return pageOf(request, itemCount, range, [] as (ProcessRow & RowPlace)[]);
  const values: unknown[] = [accountId, now];
  const where = conditions(request, now, bindInto(values));
  if (last) where.push(afterCursor(last, columns, direction, bindInto(values)));
  // Each kind contributes no more than the page can show of it, by its own index.
  const sorted = `order by ${columns.map((column) => `${column} ${direction}`).join(', ')}`;
  const each = (kind: Kind) => {
    const listed = rowsOf(kind, [...fewOf(kind, request), ...where]);
    // If few match, they are found in the way in which they were counted. The planner would otherwise walk through all
    // in order until it has met them.
    const found = itemCount <= few ? `select * from (${listed} offset 0) found` : listed;
    return `(${found} ${sorted} limit ${at + count})`;
  };
  const rows = await askIn(tx)<ProcessRow & RowPlace>(
    `select *, ${placedBy(...columns)} from (${union(asked, each)}) process ${sorted} limit ${count} offset ${at}`,
    values,
  );
  return pageOf(request, itemCount, range, rows);
}

/**
 * The process with this id, of any kind. With `lock`, its row is locked until the end of the transaction.
 * @throws DomainError process.not_found, also for another Account's
 */
export async function findRow(
  tx: EntityManager,
  kinds: Kinds,
  { accountId }: AccountScope,
  { id, now, lock = false }: { id: string; now: Date; lock?: boolean },
): Promise<ProcessRow> {
  const find = async () => {
    const text = `select * from (${union(kindsIn(kinds))}) process where id = $3`;
    const [row] = await tx.query<ProcessRow[]>(text, [accountId, now, id]);
    if (!row) throw new DomainError('process.not_found');
    return row;
  };
  const row = await find();
  if (!lock) return row;
  const kind: Kind = kinds[row.kind];
  await kind.lockFirst?.(tx, id);
  await tx.query(`select from ${kind.table} where account_id = $1 and id = $2 for update`, [accountId, id]);
  return find(); // read again under the lock
}

const columns = ['"createdAt"', 'id'] as const;
/** Up to this many are sorted faster than they are met in order. */
const few = 100;
