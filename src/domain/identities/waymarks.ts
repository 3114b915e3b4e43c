import { minutes } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { nilUuid } from '../../platform/uuid.js';
import { type CursorPlace, placedBy, placeIn, type RowPlace } from '../cursors.js';
import type { PageRequest, Stretch } from '../paging.js';
import type { Ask } from '../row-pages.js';

/** A stretch that may begin at a place instead of at an end of the list. */
export interface Waymarked extends Stretch {
  /** The first that is skipped, or read; nothing before it. */
  from?: CursorPlace;
}

/** As many are skipped as soon as a waymark is found. */
const few = 1_000;

// Its rank is how many came before it when it was set; who has come or gone before it since has left a shift. Somebody who was added at an
// earlier place moves all behind it on, so that many fewer are looked for at first: nothing that is found lies behind what is asked.
const nearestBefore = `
select ${placedBy('w.created_at', 'w.identity_id')}, $3::bigint - w.rank - coalesce((select sum(s.change) from member_shifts s
    where s.account_id = $1 and s.environment_id = $2 and (s.created_at, s.identity_id) < (w.created_at, w.identity_id)), 0) as skipped
from member_waymarks w
where w.account_id = $1 and w.environment_id = $2 and w.rank <= $3::bigint - (
  select count(*) from member_shifts s where s.account_id = $1 and s.environment_id = $2 and s.change > 0)
order by w.rank desc limit 1`;

/**
 * The shorter way to a stretch of an Environment's members by age: from the nearer end, or from the last waymark before it, which are
 * a thousand apart (docs/decisions/0090). Where there is none the page is as right, and takes longer.
 * @param of Account and Environment
 */
export async function fromWaymark(
  ask: Ask,
  of: readonly string[],
  stretch: Stretch,
  { itemCount, order }: Pick<PageRequest, 'order'> & { itemCount: number },
): Promise<Waymarked> {
  const { at, count, direction } = stretch;
  if (count === 0 || at <= few) return stretch;
  const before = direction === 'asc' ? at : itemCount - at - count;
  const [waymark] = await ask<RowPlace & { skipped: string }>(nearestBefore, [...of, before]);
  if (!waymark || Number(waymark.skipped) >= at) return stretch;
  return { at: Number(waymark.skipped), count, direction: 'asc', fromBack: order === 'desc', from: placeIn(waymark) };
}

/** Which Environments have waymarks, and where. */
export interface WaymarkRules {
  /** Of so many members and more. */
  fewest: number;
  /** Among so many members there is one. They are set anew when so many have left, or five times as many have come. */
  every: number;
  /** Milliseconds: whoever writes a member is through with it by then. Waymarks stand among older ones. */
  settledMs: number;
}

export const waymarkRules: WaymarkRules = { fewest: 10_000, every: 1_000, settledMs: minutes(10) };

const keep = {
  name: 'keep_waymarks',
  text: `select environment, placed::int from gatehouse_keep_waymarks($1, $2, $3, $4 * interval '1 millisecond')`,
};

/**
 * Sets the waymarks of one Environment anew, where they are far from what there is. One that has become large is told to note who leaves,
 * and gets them by a later run.
 * @param after the last Environment that was looked at
 * @returns how many were set; the Environment that was looked at now, null where there is none left
 */
export async function keepWaymarks(
  db: Pick<Db, 'statement'>,
  after: string | null,
  { fewest, every, settledMs }: WaymarkRules = waymarkRules,
): Promise<{ placed: number; next: string | null }> {
  const [kept] = await db.statement<{ environment: string; placed: number }>(keep, [
    after ?? nilUuid,
    fewest,
    every,
    settledMs,
  ]);
  return { placed: kept?.placed ?? 0, next: kept?.environment ?? null };
}
