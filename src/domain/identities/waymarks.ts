import { minutes } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { nilUuid } from '../../platform/uuid.js';
import { type CursorPlace, placedBy, placeIn, type RowPlace } from '../lists/cursors.js';
import type { PageRequest, RowRange } from '../lists/paging.js';
import type { Ask } from '../lists/row-pages.js';

/** A range that may begin at a place instead of at an end of the list. */
export interface Waymarked extends RowRange {
  /** The first that is skipped or read; nothing before it counts. */
  from?: CursorPlace;
}

/** How many are skipped once a waymark is found. */
const few = 1_000;

// A waymark's rank is how many members came before it when it was set; a shift counts those who have come or gone
// before it since. Somebody who was added at an earlier place moves all behind it on, so at first it is looked for that
// many fewer: nothing that is found then lies behind the wanted place.
const nearestBefore = `
select ${placedBy('w.created_at', 'w.identity_id')}, $3::bigint - w.rank - coalesce((select sum(s.change) from member_shifts s
    where s.account_id = $1 and s.environment_id = $2 and (s.created_at, s.identity_id) < (w.created_at, w.identity_id)), 0) as skipped
from member_waymarks w
where w.account_id = $1 and w.environment_id = $2 and w.rank <= $3::bigint - (
  select count(*) from member_shifts s where s.account_id = $1 and s.environment_id = $2 and s.change > 0)
order by w.rank desc limit 1`;

/**
 * The shorter way to a range of an Environment's members by age: from the nearer end, or from the last waymark before
 * it; waymarks are a thousand apart (docs/decisions/0090). Without waymarks the page is the same, and takes longer.
 * @param of Account and Environment
 */
export async function fromWaymark(
  ask: Ask,
  of: readonly string[],
  range: RowRange,
  { itemCount, order }: Pick<PageRequest, 'order'> & { itemCount: number },
): Promise<Waymarked> {
  const { at, count, direction } = range;
  if (count === 0 || at <= few) return range;
  const before = direction === 'asc' ? at : itemCount - at - count;
  const [waymark] = await ask<RowPlace & { skipped: string }>(nearestBefore, [...of, before]);
  if (!waymark || Number(waymark.skipped) >= at) return range;
  return { at: Number(waymark.skipped), count, direction: 'asc', fromBack: order === 'desc', from: placeIn(waymark) };
}

/** Which Environments have waymarks, and where. */
export interface WaymarkRules {
  /** From this many members on. */
  fewest: number;
  /** One for this many members. They are set again once this many have left, or five times as many have joined. */
  every: number;
  /** Milliseconds in which any transaction that adds a member has ended. Waymarks are only set among older members. */
  settledMs: number;
}

export const waymarkRules: WaymarkRules = { fewest: 10_000, every: 1_000, settledMs: minutes(10) };

const renewStatement = {
  name: 'renew_waymarks',
  text: `select environment, placed::int from gatehouse_keep_waymarks($1, $2, $3, $4 * interval '1 millisecond')`,
};

/**
 * Sets the waymarks of one Environment anew, if they are outdated. An Environment that has become large begins to
 * record who leaves, and gets its waymarks by a later run.
 * @param after the last Environment that was checked
 * @returns how many were set; and the Environment that was checked now, null if there is none left
 */
export async function renewWaymarks(
  db: Pick<Db, 'statement'>,
  after: string | null,
  { fewest, every, settledMs }: WaymarkRules = waymarkRules,
): Promise<{ placed: number; next: string | null }> {
  const [checked] = await db.statement<{ environment: string; placed: number }>(renewStatement, [
    after ?? nilUuid,
    fewest,
    every,
    settledMs,
  ]);
  return { placed: checked?.placed ?? 0, next: checked?.environment ?? null };
}
