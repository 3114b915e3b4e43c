import { after } from '../../platform/clock.js';
import { isUuid } from '../../platform/uuid.js';
import { containing } from '../paging.js';
import type { Bind } from '../sql-parameters.js';
import type { Kind, KindName } from './kind.js';
import type { Kinds } from './kinds.js';

/** What a list can be narrowed to, aside from a kind. */
export interface Filters {
  q?: string | undefined;
  state?: string | undefined;
  subjectId?: string | undefined;
  /** Milliseconds since it began. */
  olderThanMs?: number | undefined;
  /** Whether it goes on. */
  open?: boolean | undefined;
}

/** Those that can be in a state that is asked for, and of a kind that is. */
export const kindsIn = (
  kinds: Kinds,
  { kind, state }: { kind?: KindName | undefined; state?: string | undefined } = {},
): Kind[] =>
  Object.entries<Kind>(kinds).flatMap(([name, one]) => {
    const isAsked =
      (kind ?? name) === name && (state === undefined || Object.hasOwn(one.open, state) || one.ended.includes(state));
    return isAsked ? [one] : [];
  });

/** Without what is in an Environment that is being removed: it goes with that. */
export const standsIn = (environmentId: string) =>
  `not exists (select from environments e where e.id = ${environmentId} and e.account_id is null)`;

/** The same as one look-up by key for each row, whatever the plan: a plan that is kept does not know how many rows there are. */
export const standsByKey = (environmentId: string) =>
  `(select e.account_id is null from environments e where e.id = ${environmentId}) is not true`;

/** SQL: all rows of some kinds, one at least, of which `$1` is the Account and `$2` is now. @param each those of a kind */
export const union = (kinds: readonly Kind[], each: (kind: Kind) => string = (kind) => rowsOf(kind, [])): string =>
  kinds.map(each).join('\nunion all\n');

/** SQL: the rows of a kind that meet conditions, of which not every one need ask for the time. */
export const rowsOf = ({ sql }: Kind, where: readonly string[], stands = standsIn): string =>
  `select * from (${sql}) listed where ${['$2::timestamptz is not null', stands('listed."environmentId"'), ...where].join(' and ')}`;

/** SQL: what rows of any kind are narrowed by. */
export function conditions({ state, subjectId, olderThanMs, open, q }: Filters, now: Date, put: Bind): string[] {
  const all: string[] = [];
  if (state !== undefined) all.push(`state = ${put(state)}`);
  if (subjectId !== undefined) all.push(`"subjectId" = ${put(subjectId)}`);
  if (olderThanMs !== undefined) all.push(`"createdAt" <= ${put(after(now, -olderThanMs))}`);
  if (open !== undefined) all.push(`"endedAt" is ${open ? '' : 'not '}null`);
  if (q && isUuid(q)) {
    const id = put(q); // is found by index, where a part of one is looked for in every row
    all.push(`(id = ${id} or "subjectId" = ${id})`);
  } else if (q) {
    const pattern = put(containing(q));
    all.push(`(id::text ilike ${pattern} or "subjectId"::text ilike ${pattern} or kind ilike ${pattern})`);
  }
  return all;
}

/** SQL: what those have to be as well that are few, in the words of the indexes that have just these. */
export function fewOf(kind: Kind, { state, open }: Filters): string[] {
  if (open || (state !== undefined && Object.hasOwn(kind.open, state))) {
    return [`stored in (${Object.keys(kind.open).map((one) => `'${one}'`)})`];
  }
  return state === undefined || state === kind.usualEnd ? [] : unusual(kind);
}

/** SQL: not having ended as nearly all do. */
export const unusual = ({ usualEnd }: Kind): string[] => (usualEnd === undefined ? [] : [`stored <> '${usualEnd}'`]);
