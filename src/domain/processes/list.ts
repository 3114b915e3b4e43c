import type { EntityManager } from 'typeorm';
import { after } from '../../platform/clock.js';
import { DomainError } from '../errors.js';
import { containing, type Page, type PageRequest, pageOf, stretchOf } from '../paging.js';
import { behind, type Placed, placedBy } from '../places.js';
import { putInto } from '../put.js';
import { readRowCount } from '../row-counts.js';
import type { AccountScope } from '../scope.js';
import type { Kind, KindName, Kinds, ProcessRow } from './kinds.js';

export interface ListRequest extends PageRequest<'created_at'> {
  kind?: KindName | undefined;
  state?: string | undefined;
  subjectId?: string | undefined;
  /** Milliseconds since it began. */
  olderThanMs?: number | undefined;
  /** Whether it goes on. */
  open?: boolean | undefined;
}

/** One page over all kinds. It is read from the nearer end, as every list is. */
export async function listRows(
  tx: EntityManager,
  kinds: Kinds,
  { accountId }: AccountScope,
  { now, ...request }: ListRequest & { now: Date },
): Promise<Page<ProcessRow>> {
  const values: unknown[] = [accountId, now];
  const where = conditions(request, now, values);
  const itemCount = isNarrowed(request)
    ? await countRows(tx, `(${union(kinds, request.kind)}) process where ${where}`, values)
    : await readRowCount(tx, wholeOf(accountId), ...kindsIn(kinds, request.kind).flatMap(({ counted }) => counted));
  const stretch = stretchOf(itemCount, request);
  const { at, count, direction, behind: last } = stretch;
  if (count === 0) return pageOf(request, itemCount, stretch, [] as (ProcessRow & Placed)[]);
  // Each kind gives no more than what the page can have of it, by its own index.
  const sorted = `order by ${columns.map((column) => `${column} ${direction}`).join(', ')}`;
  const following = last ? ` and ${behind(last, columns, direction, putInto(values))}` : '';
  const each = (of: string) =>
    `(select * from (${of}) listed where ${stands} and ${where}${following} ${sorted} limit ${at + count})`;
  const rows = await tx.query<(ProcessRow & Placed)[]>(
    `select *, ${placedBy(...columns)} from (${union(kinds, request.kind, each)}) process ${sorted} limit ${count} offset ${at}`,
    values,
  );
  return pageOf(request, itemCount, stretch, rows);
}

/**
 * The process of that id, of whatever kind. With `lock`, nobody else moves its row until the end of the transaction.
 * @throws DomainError process.not_found, also for another Account's
 */
export async function findRow(
  tx: EntityManager,
  kinds: Kinds,
  { accountId }: AccountScope,
  { id, now, lock = false }: { id: string; now: Date; lock?: boolean },
): Promise<ProcessRow> {
  const find = async () => {
    const text = `select * from (${union(kinds)}) process where $2::timestamptz is not null and id = $3`;
    const [row] = await tx.query<ProcessRow[]>(text, [accountId, now, id]);
    if (!row) throw new DomainError('process.not_found');
    return row;
  };
  const row = await find();
  if (!lock) return row;
  await (kinds[row.kind] as Kind).lockFirst?.(tx, id);
  await tx.query(`select from ${kinds[row.kind].table} where account_id = $1 and id = $2 for update`, [accountId, id]);
  return find(); // as it is under the lock
}

const columns = ['"createdAt"', 'id'] as const;

/** By anything but its kind: what everything has is kept. */
const isNarrowed = ({ state, subjectId, olderThanMs, open, q }: Filters): boolean =>
  Boolean(q) || [state, subjectId, olderThanMs, open].some((filter) => filter !== undefined);

async function countRows(tx: EntityManager, from: string, values: readonly unknown[]): Promise<number> {
  const [{ count }] = await tx.query<[{ count: number }]>(`select count(*)::int as count from ${from}`, [...values]);
  return count;
}

/** With mails of Environments that are gone, as the list has them. */
const wholeOf = (accountId: string) => ({ accountId, stands: (row: string) => standsIn(`${row}.environment_id`) });

const kindsIn = (kinds: Kinds, only?: KindName): Kind[] => (only ? [kinds[only]] : Object.values<Kind>(kinds));

/** Without what is in an Environment that is being removed: it goes with that. */
const standsIn = (environmentId: string) =>
  `not exists (select from environments e where e.id = ${environmentId} and e.account_id is null)`;
const stands = standsIn('listed."environmentId"');

/** @param each what is read of a kind */
function union(
  kinds: Kinds,
  only?: KindName,
  each = (of: string) => `select * from (${of}) listed where ${stands}`,
): string {
  return kindsIn(kinds, only)
    .map(({ sql }) => each(sql))
    .join('\nunion all\n');
}

type Filters = Pick<ListRequest, 'state' | 'subjectId' | 'olderThanMs' | 'open' | 'q'>;

function conditions({ state, subjectId, olderThanMs, open, q }: Filters, now: Date, values: unknown[]): string {
  const value = putInto(values);
  const all = ['$2::timestamptz is not null']; // not every kind asks for the time
  if (state !== undefined) all.push(`state = ${value(state)}`);
  if (subjectId !== undefined) all.push(`"subjectId" = ${value(subjectId)}`);
  if (olderThanMs !== undefined) all.push(`"createdAt" <= ${value(after(now, -olderThanMs))}`);
  if (open !== undefined) all.push(`"endedAt" is ${open ? '' : 'not '}null`);
  if (q) {
    const pattern = value(containing(q));
    all.push(`(id::text ilike ${pattern} or "subjectId"::text ilike ${pattern} or kind ilike ${pattern})`);
  }
  return all.join(' and ');
}
