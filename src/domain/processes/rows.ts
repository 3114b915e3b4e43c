import { after } from '../../platform/clock.js';
import { isUuid } from '../../platform/uuid.js';
import { containing } from '../lists/paging.js';
import type { Bind } from '../lists/sql-parameters.js';
import type { Kind, KindName } from './kind.js';
import type { Kinds } from './kinds.js';

/** The filters of a list, aside from a kind. */
export interface Filters {
  q?: string | undefined;
  state?: string | undefined;
  subjectId?: string | undefined;
  /** The least age, in milliseconds since it began. */
  olderThanMs?: number | undefined;
  /** Whether it is still open. */
  open?: boolean | undefined;
}

/** The kinds that match the filter, and can be in the wanted state. */
export const kindsIn = (
  kinds: Kinds,
  { kind, state }: { kind?: KindName | undefined; state?: string | undefined } = {},
): Kind[] =>
  Object.entries<Kind>(kinds).flatMap(([name, one]) => {
    const isAsked =
      (kind ?? name) === name && (state === undefined || Object.hasOwn(one.open, state) || one.ended.includes(state));
    return isAsked ? [one] : [];
  });

/** SQL: excludes rows of an Environment that is being deleted, since they are deleted with it. */
export const standsIn = (environmentId: string) =>
  `not exists (select from environments e where e.id = ${environmentId} and e.account_id is null)`;

/**
 * SQL: excludes the same rows by one look-up by key for each, whatever the plan: a cached plan does not know how many
 * rows there are.
 */
export const standsByKey = (environmentId: string) =>
  `(select e.account_id is null from environments e where e.id = ${environmentId}) is not true`;

/** SQL: all rows of one or more kinds; `$1` is the Account and `$2` is now. @param each the rows of one kind */
export const union = (kinds: readonly Kind[], each: (kind: Kind) => string = (kind) => rowsOf(kind, [])): string =>
  kinds.map(each).join('\nunion all\n');

/** SQL: the rows of a kind that meet conditions, which may or may not use the time. */
export const rowsOf = ({ sql }: Kind, where: readonly string[], stands = standsIn): string =>
  `select * from (${sql}) listed where ${['$2::timestamptz is not null', stands('listed."environmentId"'), ...where].join(' and ')}`;

/** SQL: the conditions of the filters, for rows of any kind. */
export function conditions({ state, subjectId, olderThanMs, open, q }: Filters, now: Date, put: Bind): string[] {
  const all: string[] = [];
  if (state !== undefined) all.push(`state = ${put(state)}`);
  if (subjectId !== undefined) all.push(`"subjectId" = ${put(subjectId)}`);
  if (olderThanMs !== undefined) all.push(`"createdAt" <= ${put(after(now, -olderThanMs))}`);
  if (open !== undefined) all.push(`"endedAt" is ${open ? '' : 'not '}null`);
  if (q && isUuid(q)) {
    const id = put(q); // found by index, while a part of an id would be searched in every row
    all.push(`(id = ${id} or "subjectId" = ${id})`);
  } else if (q) {
    const pattern = put(containing(q));
    all.push(`(id::text ilike ${pattern} or "subjectId"::text ilike ${pattern} or kind ilike ${pattern})`);
  }
  return all;
}

/** SQL: the additional condition for rare states, in the form of the indexes that contain just those. */
export function fewOf(kind: Kind, { state, open }: Filters): string[] {
  if (open || (state !== undefined && Object.hasOwn(kind.open, state))) {
    return [`stored in (${Object.keys(kind.open).map((one) => `'${one}'`)})`];
  }
  return state === undefined || state === kind.usualEnd ? [] : unusual(kind);
}

/** SQL: not in the state in which nearly all end. */
export const unusual = ({ usualEnd }: Kind): string[] => (usualEnd === undefined ? [] : [`stored <> '${usualEnd}'`]);
