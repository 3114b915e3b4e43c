import type { EntityManager } from 'typeorm';
import type { Db, Statement } from '../../platform/database/db.js';
import { inSnakeCase } from '../../platform/database/naming.js';
import { plannedForItsValues } from '../../platform/database/prepared-texts.js';
import type { AccountScope } from '../../platform/scope.js';
import { afterCursor, placedBy, type RowPlace } from './cursors.js';
import { forwardRange, isFollowing, type Page, pageOf, type RowRange, rangeOf, type Sorted } from './paging.js';
import { type Bind, bindInto } from './sql-parameters.js';

/**
 * A list of plain rows, as SQL; a page of fifty costs a fraction of what entities would. A query finds a page's keys
 * first and then reads the rows by key, so that PostgreSQL sorts only the sort columns.
 */
export interface RowList {
  /** The table in which rows are found, with an alias. */
  from: string;
  /** The condition, including account (`$1`) and Environment (`$2`, null if the scope is the Account). */
  where(put: Bind): string;
  /** The key column, with the alias. */
  key: string;
  /** Further columns of the alias that `found` carries along, so that the row is not read again. */
  carried?: string;
  /** What is joined by `found.key`, under the same alias, to show a row. */
  shownBy: string;
  /** The columns that are shown, each named like its property. */
  select(put: Bind): string;
}

/** Runs one statement in the scope of a list. */
export type Ask = <Row>(text: string, values: unknown[]) => Promise<Row[]>;

/** Runs the statements of a list in a transaction, each planned for its values: tenants differ in size. */
export const askIn =
  (tx: EntityManager): Ask =>
  (text, values) =>
    tx.query(plannedForItsValues(text), values);

/** Returns columns of a table's alias for a select list, named like their properties. */
export const columnsOf = (alias: string, properties: readonly string[]): string =>
  properties.map((property) => `${alias}.${inSnakeCase(property)} as "${property}"`).join(', ');

type Rows = Pick<RowList, 'select' | 'from' | 'where'>;

/** Reads all rows of a list, in an open transaction. @param ending SQL: their order and limit */
export function readRows<Row>(tx: EntityManager, scope: AccountScope, list: Rows, ending: string): Promise<Row[]> {
  const { text, values } = allOf(scope, list, ending);
  return tx.query(text, values);
}

/**
 * Limits of one portion, in rows and in characters of their long columns: the driver turns a portion into objects at
 * once, which takes some milliseconds.
 */
const portion = { rows: 1000, characters: 1_000_000 };
const firstPortion = 50; // shows how long rows are

export interface LengthLimit<Row> {
  /** The number of characters in a row's long columns. */
  lengthOf(row: Row): number;
  /** The limit for all rows together: reading stops there. */
  maxLength: number;
}

/**
 * Reads lists of thousands of rows, in portions, between which other requests get their turn.
 * @returns null if the rows are too long together
 */
export async function readManyRows<Row>(
  tx: EntityManager,
  scope: AccountScope,
  list: Rows,
  ending: string,
  { lengthOf, maxLength }: LengthLimit<Row>,
): Promise<Row[] | null> {
  const { text, values } = allOf(scope, list, ending);
  await tx.query(`declare listed no scroll cursor for ${text}`, values);
  const all: Row[] = [];
  let length = 0;
  for (let [isMore, take] = [true, firstPortion]; isMore; ) {
    const rows = await tx.query<Row[]>(`fetch ${take} from listed`);
    for (const row of rows) {
      all.push(row);
      length += lengthOf(row);
    }
    if (length > maxLength) return null;
    isMore = rows.length === take;
    take = Math.max(1, Math.min(portion.rows, Math.floor((portion.characters * all.length) / length)));
  }
  await tx.query('close listed');
  return all;
}

function allOf(scope: AccountScope, list: Rows, ending: string) {
  const { put, values } = valuesIn(scope);
  const where = list.where(put);
  return { text: `select ${list.select(put)} from ${list.from} where ${where} ${ending}`, values };
}

/**
 * Reads one page of a list whose total is known without counting its rows. The statement differs only in the sort
 * order, so it is one round trip with a cached plan.
 * @param total SQL for the total
 * @param columns the sort columns, the id last
 */
export const readPageByTotal = <Row>(
  db: Pick<Db, 'statementIn'>,
  scope: AccountScope,
  list: RowList & { total: Expression },
  page: Sorted,
  columns: readonly string[],
): Promise<Page<Row>> =>
  readSlice((text, values) => db.statementIn(scope, statementOf(text), values), scope, list, page, columns);

/**
 * Reads one page of a list whose rows are counted, in an open transaction. Ten rows and ten thousand need different
 * plans, so PostgreSQL makes one for the actual values.
 */
export const readCountedPage = <Row>(
  tx: EntityManager,
  scope: AccountScope,
  list: RowList,
  page: Sorted,
  columns: readonly string[],
): Promise<Page<Row>> => readSlice(askIn(tx), scope, list, page, columns);

type Expression = (put: Bind) => string;

/** Reads the first page, and one after a cursor, together with the total. */
async function readSlice<Row>(
  ask: Ask,
  scope: AccountScope,
  list: RowList & { total?: Expression },
  request: Sorted,
  columns: readonly string[],
): Promise<Page<Row>> {
  const run = <R>(build: (put: Bind) => string): Promise<R[]> => {
    const { put, values } = valuesIn(scope);
    return ask<R>(build(put), values);
  };
  const total = list.total;
  const totalOf = (put: Bind, where: () => string) =>
    total?.(put) ?? `(select count(*) from ${list.from} where ${where()})`;
  const carried = list.carried === undefined ? '' : `, ${list.carried}`;
  const [age, id] = columns as [string, string];
  const place = request.sortBy === 'created_at' ? `, ${placedBy(age, id)}` : '';
  const select = (put: Bind, where: string, { direction, count, at, behind: last }: RowRange, more = '') => {
    const offset = at > 0 ? `offset ${put(at)}` : '';
    const sorted = `order by ${columns.map((column) => `${column} ${direction}`).join(', ')}`;
    const following = last ? ` and ${afterCursor(last, columns, direction, put)}` : '';
    const found = `select ${list.key} as key${carried} from ${list.from} where ${where}${following} ${sorted} limit ${limitFor(count)} ${offset}`;
    return `select ${list.select(put)}${place}${more} from (${found}) found join ${list.shownBy} ${sorted}`;
  };
  const totalAlone = async () => {
    // A total may leave a value of the scope unused, whose type PostgreSQL could not infer otherwise.
    const [row] = await run<{ total: string }>(
      (put) => `select ${totalOf(put, () => list.where(put))} as total from (select $1::uuid, $2::uuid) scope`,
    );
    return Number(row!.total);
  };
  if (request.page === 1 || isFollowing(request)) {
    const range = forwardRange(request);
    const rows = await run<Row & RowPlace & { itemCount: string }>((put) => {
      const where = list.where(put);
      return select(put, where, range, `, ${totalOf(put, () => where)} as "itemCount"`);
    });
    const [first] = rows;
    const total = first ? Number(first.itemCount) : isFollowing(request) ? await totalAlone() : 0;
    return pageOf(request, total, range, rows);
  }
  const itemCount = await totalAlone();
  const range = rangeOf(itemCount, request);
  const rows = range.count === 0 ? [] : await run<Row & RowPlace>((put) => select(put, list.where(put), range));
  return pageOf(request, itemCount, range, rows);
}

function valuesIn({ accountId, environmentId }: AccountScope): { put: Bind; values: unknown[] } {
  const values: unknown[] = [accountId, environmentId ?? null];
  return { values, put: bindInto(values) };
}

/**
 * Returns the limit, which is part of the text, since PostgreSQL only plans for few rows if it knows that they are few;
 * in steps, so that there are few texts.
 */
export const limitFor = (count: number): number => steps.find((step) => count <= step) as number;
/** Each also with one row more, which shows whether anything follows. */
const steps = [20, 21, 50, 51, 100, 101];

/** One statement for each list, and each way to sort and limit it. */
const statements = new Map<string, Statement>();

/** Returns the statement for a text, always the same object, so that its plan is kept. */
export function statementOf(text: string): Statement {
  const known = statements.get(text);
  if (known) return known;
  const made = { name: `list_rows_${statements.size + 1}`, text };
  statements.set(text, made);
  return made;
}
