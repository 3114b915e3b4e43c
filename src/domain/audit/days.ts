import { after, days as daysOfMs } from '../../platform/clock.js';
import type { Ask } from '../lists/row-pages.js';
import type { Bind } from '../lists/sql-parameters.js';
import { type AuditFilters, type AuditPlace, conditionsOf, parameters, timesOf } from './conditions.js';

/** The number of rows of a day, in UTC. */
export interface Day {
  /** Its first moment. */
  day: Date;
  count: number;
}

const dayMs = daysOfMs(1);
const dayOf = `(created_at at time zone 'UTC')::date`;
const settledCounts = 'counted';

/**
 * Returns how many rows each day has, latest first, without days that have none. The numbers are exact: settled rows
 * are counted already, and the others are counted now, as are those of days that `from` or `to` cut
 * (docs/decisions/0027).
 */
export async function countDays(ask: Ask, place: AuditPlace, filters: AuditFilters): Promise<Day[]> {
  const { values, put } = parameters();
  const { common, ofRows, own, isSelective } = conditionsOf(place, filters, put);
  const rows = (...more: string[]) =>
    `select ${dayOf} as day, count(*) as count from events where ${[...ofRows, ...own, ...more].join(' and ')} group by 1`;
  const times = timesOf(filters, put);
  const parts = isSelective ? [rows(...times)] : countedParts(common, rows, times, filters, put);
  const found = await ask<{ day: string; count: string }>(
    `with ${settledCounts} as materialized (
       select counted_below as below, gatehouse_events_since(counted_below) as since, 'infinity'::timestamptz as ever from event_state)
     select day::text, sum(count)::text as count from (${parts.join(' union all ')}) as days group by day order by days.day desc`,
    values,
  );
  return found.map(({ day, count }) => ({ day: new Date(`${day}T00:00:00Z`), count: Number(count) }));
}

function countedParts(
  common: string[],
  rows: (...more: string[]) => string,
  times: string[],
  { from, to }: AuditFilters,
  put: Bind,
): string[] {
  const isSettled = `transaction_id < (select below from ${settledCounts})`;
  const cut = (start: Date, end: Date) => rows(isSettled, ...timesOf({ from: start, to: end }, put));
  const unsettled = rows(
    `transaction_id >= (select below from ${settledCounts})`,
    // With an upper bound, too, PostgreSQL expects as few rows as there are, and uses an index of the place's own rows.
    // Without one it expects a third of all rows, and reads what anybody has written since.
    `created_at >= (select since from ${settledCounts})`,
    `created_at <= (select ever from ${settledCounts})`,
    ...times,
  );
  const [fullFrom, fullTo] = [from && ceiling(from), to && floor(to)];
  // Within one day no day is whole. A value that the text does not use must not be put: PostgreSQL could not tell its
  // type.
  if (from && to && ceiling(from) > floor(to)) return [cut(from, to), unsettled];
  const full = [
    ...common,
    ...(fullFrom ? [`day >= (${put(fullFrom)}::timestamptz at time zone 'UTC')::date`] : []),
    ...(fullTo ? [`day < (${put(fullTo)}::timestamptz at time zone 'UTC')::date`] : []),
  ];
  return [
    `select day, sum(value) as count from event_counts where ${full.join(' and ')} group by day`,
    ...(from && fullFrom && from < fullFrom ? [cut(from, fullFrom)] : []),
    ...(to && fullTo && fullTo < to ? [cut(fullTo, to)] : []),
    unsettled,
  ];
}

const floor = (moment: Date) => new Date(Math.floor(moment.getTime() / dayMs) * dayMs);
const ceiling = (moment: Date) => new Date(Math.ceil(moment.getTime() / dayMs) * dayMs);

/** Where to begin reading for a page. It follows from the days' numbers, so that the rows before it are not read. */
export interface Start {
  /** All rows of the page are between `from` and `to`. */
  from: Date;
  to: Date;
  direction: 'asc' | 'desc';
  skip: number;
  /** Whether the rows come in the opposite of the requested order. */
  reversed: boolean;
}

/**
 * Returns where the rows `offset` to `offset + count` of the days' rows are.
 * @param days latest first
 */
export function locate(days: readonly Day[], order: 'asc' | 'desc', offset: number, count: number): Start {
  const ordered = order === 'desc' ? days : days.toReversed();
  let before = 0;
  let first = 0;
  while (before + ordered[first]!.count <= offset) before += ordered[first++]!.count;
  let last = first;
  let through = before + ordered[first]!.count;
  while (through < offset + count) through += ordered[++last]!.count;
  const [one, other] = [ordered[first]!.day, ordered[last]!.day];
  const [from, latest] = one < other ? [one, other] : [other, one];
  const [skip, behind] = [offset - before, through - offset - count];
  const reversed = behind < skip;
  return {
    from,
    to: after(latest, dayMs),
    direction: (order === 'asc') === reversed ? 'desc' : 'asc',
    skip: reversed ? behind : skip,
    reversed,
  };
}

/**
 * Returns the days that hold the `count` rows after a moment in this order: its own day, and further ones until those
 * alone have as many.
 * @param days latest first
 */
export function reach(
  days: readonly Day[],
  order: 'asc' | 'desc',
  moment: Date,
  count: number,
): Pick<Start, 'from' | 'to'> {
  const own = floor(moment);
  let [last, there] = [own, 0];
  for (const { day, count: rows } of order === 'desc' ? days : days.toReversed()) {
    if (order === 'desc' ? day >= own : day <= own) continue;
    last = day;
    there += rows;
    if (there >= count) break;
  }
  const [from, latest] = order === 'desc' ? [last, own] : [own, last];
  return { from, to: after(latest, dayMs) };
}
