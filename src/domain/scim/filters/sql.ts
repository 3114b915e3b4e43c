import { isStorable } from '../../../platform/database/storable.js';
import { isUuid } from '../../../platform/uuid.js';
import { asBoolean } from '../booleans.js';
import { ScimRefused } from '../refusal.js';
import type { Comparison, Filter, FilterValue } from './syntax.js';

/** An attribute as it is read in SQL. */
export type Column =
  | { type: 'id' | 'text' | 'exact' | 'boolean' | 'instant'; sql: string }
  /**
   * Several values: SQL for a set of rows `e`, and what `of` says of their sub-attributes. `isOfSub`: a path to one
   * sub-attribute of all of them (`ofSub`).
   */
  | { type: 'several'; rows: string; of(sub: string): Column | null; isOfSub?: boolean }
  /**
   * One value of several parts: it is present if one of them is (RFC 7644 §3.4.2.2, `pr`), and is compared by its
   * parts.
   */
  | { type: 'complex'; parts: readonly Column[] };

/** The column for the path of an attribute; null if there is none. */
export type ColumnOf = (path: string) => Column | null;

type Several = Extract<Column, { type: 'several' }>;

/** The column of `emails.value`: any of the values, as for `emails[value …]`. */
export const ofSub = (several: Several, sub: string): Several => ({
  ...several,
  of: () => several.of(sub),
  isOfSub: true,
});

/** Collects the values of a statement, so that none of them becomes part of its text. */
export interface Values {
  put(value: unknown): string;
}

/**
 * A filter as an SQL condition that is never null.
 * @throws ScimRefused invalidFilter for an unknown attribute, or one that cannot be compared like this
 */
export function conditionOf(filter: Filter, columnOf: ColumnOf, values: Values): string {
  const inner = (one: Filter) => conditionOf(one, columnOf, values);
  if (filter.op === 'and' || filter.op === 'or') return `(${filter.filters.map(inner).join(` ${filter.op} `)})`;
  if (filter.op === 'not') return `not ${inner(filter.filter)}`;
  const column = known(columnOf(filter.path), filter.path);
  if (filter.op === '[]') {
    if (column.type !== 'several') throw invalid(`${filter.path} has no values to choose from`);
    return anyOf(column.rows, conditionOf(filter.filter, column.of, values));
  }
  if (filter.op === 'pr') return presence(column, filter.path);
  if (column.type === 'complex') throw invalid(`${filter.path} can only be compared by its sub-attributes`);
  if (column.type !== 'several') return comparison(filter.op, column, filter.value, values);
  // Without a sub-attribute, `value` is meant (RFC 7644 §3.4.2.2).
  return anyOf(column.rows, conditionOf({ ...filter, path: 'value' }, column.of, values));
}

const anyOf = (rows: string, condition: string) => `exists (select from ${rows} where ${condition})`;
const invalid = (problem: string) =>
  new ScimRefused('invalidFilter', `The filter is not valid: ${problem.slice(0, 300)}`);

function known(column: Column | null, path: string): Column {
  if (!column) throw invalid(`there is no attribute ${path}`);
  return column;
}

function presence(column: Column, path: string): string {
  if (column.type === 'several')
    return anyOf(column.rows, column.isOfSub ? presence(known(column.of('value'), path), path) : 'true');
  if (column.type === 'complex') return `(${column.parts.map((part) => presence(part, path)).join(' or ')})`;
  const isText = column.type === 'text' || column.type === 'exact';
  return isText ? `coalesce(${column.sql}, '') <> ''` : `${column.sql} is not null`;
}

type Single = Exclude<Column, { type: 'several' | 'complex' }>;

function comparison(op: Comparison, column: Single, value: FilterValue, values: Values): string {
  if (value === null) {
    if (op !== 'eq' && op !== 'ne') throw invalid('null can only be compared with eq and ne');
    return `${column.sql} is ${op === 'eq' ? '' : 'not '}null`;
  }
  if (column.type === 'boolean') {
    const meant = asBoolean(value);
    if (typeof meant !== 'boolean' || (op !== 'eq' && op !== 'ne'))
      throw invalid('a boolean can only be compared with eq and ne');
    return `(${column.sql}) is ${op === 'eq' ? 'not ' : ''}distinct from ${meant}`;
  }
  if (typeof value !== 'string') throw invalid(`${String(value)} cannot be compared with a string`);
  if (!isStorable(value)) throw invalid('a value contains a character that is not allowed');
  if (column.type === 'id') return sameId(op, column.sql, value, values);
  return column.type === 'instant' ? instant(op, column.sql, value, values) : text(op, column, value, values);
}

/** An id is compared as a UUID, so that an index can find it. */
function sameId(op: Comparison, sql: string, value: string, values: Values): string {
  if (op !== 'eq' && op !== 'ne') throw invalid('IDs can only be compared with eq and ne');
  // Ids are answered in lower case (RFC 7643 §3.1, `caseExact`).
  if (!isUuid(value) || value !== value.toLowerCase()) return String(op === 'ne');
  return `${sql} ${op === 'eq' ? '=' : '<>'} ${values.put(value)}::uuid`;
}

const signs = { gt: '>', ge: '>=', lt: '<', le: '<=' } as const;

function instant(op: Comparison, sql: string, value: string, values: Values): string {
  const at = new Date(value);
  if (Number.isNaN(at.getTime())) throw invalid(`${value} is not a date and time`);
  if (op === 'co' || op === 'sw' || op === 'ew') throw invalid(`dates and times cannot be compared with ${op}`);
  const sign = op === 'eq' ? '=' : op === 'ne' ? '<>' : signs[op];
  // To the millisecond, as moments are written.
  return `coalesce(date_trunc('milliseconds', ${sql}) ${sign} ${values.put(at)}::timestamptz, ${op === 'ne'})`;
}

function text(op: Comparison, { type, sql }: Single, value: string, values: Values): string {
  const folds = type === 'text';
  const left = folds ? `lower(${sql})` : sql;
  const given = `${values.put(value)}::text`;
  const right = folds ? `lower(${given})` : given;
  if (op === 'ne') return `${left} is distinct from ${right}`;
  const conditions: Record<Exclude<Comparison, 'ne'>, string> = {
    eq: `${left} = ${right}`,
    co: `strpos(${left}, ${right}) > 0`,
    sw: `starts_with(${left}, ${right})`,
    ew: `right(${left}, length(${right})) = ${right}`,
    gt: `${left} collate "C" > ${right}`,
    ge: `${left} collate "C" >= ${right}`,
    lt: `${left} collate "C" < ${right}`,
    le: `${left} collate "C" <= ${right}`,
  };
  return `coalesce(${conditions[op]}, false)`;
}
