import type { EntityManager } from 'typeorm';
import { rowCount } from '../lists/row-counts.js';
import { askIn } from '../lists/row-pages.js';
import { bindInto } from '../lists/sql-parameters.js';
import type { Kind } from './kind.js';
import { conditions, type Filters, fewOf, rowsOf, standsIn, union, unusual } from './rows.js';

/**
 * The number of processes of some kinds. The total is counted by the database, open ones have indexes, and so have
 * those that did not end as usual; the number of usual ends is what remains, as of the same moment. Only other filters
 * look at the rows.
 */
export async function readTotal(
  tx: EntityManager,
  kinds: readonly Kind[],
  accountId: string,
  { q, state, open, subjectId, olderThanMs }: Filters,
  now: Date,
): Promise<number> {
  const filters: Filters = { q, state, open, subjectId, olderThanMs };
  const values: unknown[] = [accountId, now];
  const put = bindInto(values);
  const all = (of: readonly Kind[]) => rowCount(put, wholeOf(accountId), ...of.flatMap(({ counted }) => counted));
  const found = (narrowed: Filters, of = kinds, few = (kind: Kind) => fewOf(kind, narrowed)) => {
    if (of.length === 0) return '0';
    const where = conditions(narrowed, now, put);
    return `(select count(*) from (${union(of, (kind) => rowsOf(kind, [...few(kind), ...where]))}) process)`;
  };
  const isBy = Object.values(filters).filter((filter) => filter !== undefined && filter !== '').length;
  const byState = (state: string) => {
    const usual = kinds.filter(({ usualEnd }) => usualEnd === state);
    const others = kinds.filter(({ usualEnd }) => usualEnd !== state);
    return `${all(usual)} - ${found({}, usual, unusual)} + ${found(filters, others)}`;
  };
  const total = () => {
    if (isBy === 0) return all(kinds);
    if (isBy === 1 && state !== undefined) return byState(state);
    if (isBy === 1 && open === false) return `${all(kinds)} - ${found({ open: true })}`;
    return found(filters);
  };
  const text = `select ${total()} as total where $1::uuid is not null and $2::timestamptz is not null`;
  const [row] = await askIn(tx)<{ total: string }>(text, values);
  return Number(row!.total);
}

/** Including mails of Environments that are gone, as in the list. */
export const wholeOf = (accountId: string) => ({
  accountId,
  stands: (row: string) => standsIn(`${row}.environment_id`),
});
