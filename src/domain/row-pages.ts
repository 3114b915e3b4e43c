import type { EntityManager } from 'typeorm';
import type { Db, Statement } from '../platform/database/db.js';
import { inSnakeCase } from '../platform/database/naming.js';
import type { AccountScope } from '../platform/scope.js';
import { afterCursor, type Placed, placedBy } from './cursors.js';
import { isFollowing, type Page, pageOf, type Sorted, type Stretch, stretchForwards, stretchOf } from './paging.js';
import { type Bind, bindInto } from './sql-parameters.js';

/**
 * A list of plain rows, as SQL: a page of fifty costs a fraction of what entities would. A page is found first and then read by
 * its keys, so that PostgreSQL sorts nothing but what is sorted by.
 */
export interface RowList {
  /** What rows are found in, by an alias. */
  from: string;
  /** Which of them, account (`$1`) and Environment (`$2`, null where the scope is the Account) among the conditions. */
  where(put: Bind): string;
  /** A column of the alias. */
  key: string;
  /** What else of the alias `found` has, so that the row is not read again. */
  carried?: string;
  /** What is joined to show a row, by the same alias, where `found.key` is that column. */
  shownBy: string;
  /** What is shown, each column as its property is called. */
  select(put: Bind): string;
}

/** Runs one statement in the scope of a list. */
export type Ask = <Row>(text: string, values: unknown[]) => Promise<Row[]>;

/** @returns columns for a select list, of a table's alias and by the names of properties */
export const columnsOf = (alias: string, properties: readonly string[]): string =>
  properties.map((property) => `${alias}.${inSnakeCase(property)} as "${property}"`).join(', ');

type Rows = Pick<RowList, 'select' | 'from' | 'where'>;

/** All of a list's rows, by an open transaction. @param ending how they are sorted, and how many may come at the most */
export function readRows<Row>(tx: EntityManager, scope: AccountScope, list: Rows, ending: string): Promise<Row[]> {
  const { text, values } = allOf(scope, list, ending);
  return tx.query(text, values);
}

/** Rows, and characters of what is long in them, of which the driver makes objects at once; some milliseconds of work. */
const portion = { rows: 1000, characters: 1_000_000 };
const firstPortion = 50; // which tells how long they are

export interface Many<Row> {
  /** How many characters a row has in what may be long. */
  lengthOf(row: Row): number;
  /** Of all of them together: no more is read. */
  longest: number;
}

/**
 * The same where they may be thousands: read in portions, between which other requests have their turns.
 * @returns null where they are too long together
 */
export async function readManyRows<Row>(
  tx: EntityManager,
  scope: AccountScope,
  list: Rows,
  ending: string,
  { lengthOf, longest }: Many<Row>,
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
    if (length > longest) return null;
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
 * One page of a list whose total is kept. What is asked is always the same but for how it is sorted, so that each statement
 * is one round trip with a plan that is kept.
 * @param total an expression for it
 * @param columns what to sort by, the id last
 */
export const readWhole = <Row>(
  db: Pick<Db, 'statementIn'>,
  scope: AccountScope,
  list: RowList & { total: Expression },
  page: Sorted,
  columns: readonly string[],
): Promise<Page<Row>> =>
  readSlice((text, values) => db.statementIn(scope, statementOf(text), values), scope, list, page, columns);

/**
 * One page of a list that is counted, by an open transaction. Ten rows and ten thousand ask for different plans, so that
 * PostgreSQL makes one for the values at hand.
 */
export const readPart = <Row>(
  tx: EntityManager,
  scope: AccountScope,
  list: RowList,
  page: Sorted,
  columns: readonly string[],
): Promise<Page<Row>> => readSlice((text, values) => tx.query(text, values), scope, list, page, columns);

type Expression = (put: Bind) => string;

/** The first page comes with the total, and so does one that follows another. */
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
  const select = (put: Bind, where: string, { direction, count, at, behind: last }: Stretch, more = '') => {
    // A number in the text has it planned anew each time, as a page of no prepared statement (src/platform/database/prepared-texts.ts).
    const offset = total === undefined ? `offset ${at}` : at > 0 ? `offset ${put(at)}` : '';
    const sorted = `order by ${columns.map((column) => `${column} ${direction}`).join(', ')}`;
    const following = last ? ` and ${afterCursor(last, columns, direction, put)}` : '';
    const found = `select ${list.key} as key${carried} from ${list.from} where ${where}${following} ${sorted} limit ${limitFor(count)} ${offset}`;
    return `select ${list.select(put)}${place}${more} from (${found}) found join ${list.shownBy} ${sorted}`;
  };
  const totalAlone = async () => {
    // A total need not name the scope's values, and PostgreSQL tells no type of one that nothing names.
    const [row] = await run<{ total: string }>(
      (put) => `select ${totalOf(put, () => list.where(put))} as total from (select $1::uuid, $2::uuid) scope`,
    );
    return Number(row!.total);
  };
  if (request.page === 1 || isFollowing(request)) {
    const stretch = stretchForwards(request);
    const rows = await run<Row & Placed & { itemCount: string }>((put) => {
      const where = list.where(put);
      return select(put, where, stretch, `, ${totalOf(put, () => where)} as "itemCount"`);
    });
    const [first] = rows;
    const total = first ? Number(first.itemCount) : isFollowing(request) ? await totalAlone() : 0;
    return pageOf(request, total, stretch, rows);
  }
  const itemCount = await totalAlone();
  const stretch = stretchOf(itemCount, request);
  const rows = stretch.count === 0 ? [] : await run<Row & Placed>((put) => select(put, list.where(put), stretch));
  return pageOf(request, itemCount, stretch, rows);
}

function valuesIn({ accountId, environmentId }: AccountScope): { put: Bind; values: unknown[] } {
  const values: unknown[] = [accountId, environmentId ?? null];
  return { values, put: bindInto(values) };
}

/** In the text, since PostgreSQL plans for few rows only when it knows that they are few; and in steps, so that texts are. */
export const limitFor = (count: number): number => steps.find((step) => count <= step) as number;
/** With one more each, which tells whether anything follows. */
const steps = [20, 21, 50, 51, 100, 101];

/** There are as many as there are lists, and ways to sort and limit each. */
const statements = new Map<string, Statement>();

/** The statement with a text, always the same one, so that its plan is kept. */
export function statementOf(text: string): Statement {
  const known = statements.get(text);
  if (known) return known;
  const made = { name: `list_rows_${statements.size + 1}`, text };
  statements.set(text, made);
  return made;
}
