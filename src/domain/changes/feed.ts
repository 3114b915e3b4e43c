import type { Db } from '../../platform/database/db.js';
import type { NotificationWaiters } from '../../platform/database/notifications.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { maxUuid } from '../../platform/uuid.js';
import { DomainError, nullIf } from '../errors.js';
import type { EventAction } from '../events/catalogue.js';
import { endOf, type Position, readFeedCursor, writeFeedCursor } from './cursor.js';

export interface Change {
  /** For reading on after this change. */
  cursor: string;
  type: string;
  resourceType: string;
  resourceId: string | null;
  occurredAt: Date;
  data: object;
}
export interface Changes {
  items: Change[];
  nextCursor: string;
  /**
   * Whether there is more to read at once. With `types`, this can be true even if no event of these types was found
   * yet.
   */
  hasMore: boolean;
}
export interface ChangesWanted {
  /** `latestCursor`, or one that was answered; null: from the oldest event that is kept. */
  cursor: string | null;
  limit: number;
  /** Null: all. */
  types: readonly EventAction[] | null;
  /** How long to wait for the first change. */
  waitMs: number;
}

interface Found {
  transaction_id: string;
  id: string;
  action: string;
  resource_type: string;
  resource_id: string | null;
  metadata: object;
  created_at: Date;
}
interface Looked {
  /** Nothing more can become visible of transactions below this one. */
  settled: string;
  dropped: string;
  looked: number;
  last: { transaction_id: string; id: string } | null;
  found: Found[] | null;
}

// Reads rows in the order of their places, and only those before the oldest running transaction: between two of them no
// row can appear any more, however late a transaction commits (docs/decisions/0027). A cursor contains no time: its
// time is that of its event, or, if the event's month was dropped, before all remaining rows. Without one, reading
// begins after the dropped rows, where every cursor is still valid.
const lookStatement = {
  name: 'look_at_changes',
  text: `
with bound as materialized (
  select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as settled, dropped_through as dropped,
    coalesce($2::bigint, dropped_through) as place, gatehouse_events_since(coalesce($2::bigint, dropped_through)) as since
  from event_state
),
beginning as materialized (
  select case when $3::uuid = '${maxUuid}' then 'infinity' else coalesce((
    select created_at from events where id = $3 and created_at >= (select since from bound)), '-infinity') end as created_at
),
looked as materialized (
  select transaction_id, id, action, resource_type, resource_id, metadata, created_at from events
  where environment_id = $1 and is_domain_event
    and (transaction_id, created_at, id) > ((select place from bound), (select created_at from beginning), $3::uuid)
    and transaction_id < (select settled from bound) and created_at >= (select since from bound)
  order by transaction_id, created_at, id limit $4
),
found as (
  select * from looked where $5::text[] is null or action = any($5) order by transaction_id, created_at, id limit $6
)
select bound.settled::text, bound.dropped::text, (select count(*)::int from looked) as looked,
  (select json_build_object('transaction_id', transaction_id::text, 'id', id) from looked
    order by transaction_id desc, created_at desc, id desc limit 1) as last,
  (select json_agg(json_build_object('transaction_id', transaction_id::text, 'id', id, 'action', action, 'resource_type', resource_type,
    'resource_id', resource_id, 'metadata', metadata, 'created_at', created_at) order by transaction_id, created_at, id) from found) as found
from bound`,
};

const readerStatement = {
  name: 'wait_for_changes',
  text: `insert into feed_readers (environment_id, until) values ($1, clock_timestamp() + make_interval(secs => $2 / 1000.0))
    on conflict (environment_id) do update set until = excluded.until where feed_readers.until < excluded.until`,
};

/** Instead of a cursor: begins after everything that has happened so far. */
export const latestCursor = 'latest';

const settledStatement = {
  name: 'settled_changes',
  text: `select pg_snapshot_xmin(pg_current_snapshot())::text as settled`,
};

/** The most events that one response looks through for some types. */
const lookedThrough = 10_000;
/** How long writers send notifications after a reader has begun to wait. */
const announcedMs = 90_000;
/** Pauses between two looks without a notification: a change that was under way when its reader came sends none. */
const pauses = [100, 900, 5_000];
/** Pauses after a notification: the change may still have to wait for an older transaction. */
const pausesOnceNotified = [10, 20, 50, 100, 250, 500, 1_000];

export type ChangeFeed = ReturnType<typeof createChangeFeed>;

/**
 * The changes of an Environment, in an order in which a reader who keeps the cursor misses none, and reads each change
 * after those that it builds on (contract §5, §10).
 */
export function createChangeFeed({
  db,
  notifications,
}: {
  db: Pick<Db, 'statement'>;
  notifications: Pick<NotificationWaiters, 'wait'>;
}) {
  const announcedUntil = new Map<string, number>();

  async function haveItAnnounced(environmentId: string): Promise<void> {
    const now = performance.now();
    if ((announcedUntil.get(environmentId) ?? 0) > now + announcedMs / 2) return;
    if (announcedUntil.size > 10_000) announcedUntil.clear();
    announcedUntil.set(environmentId, now + announcedMs); // at once, so that of many readers one does it
    await db.statement(readerStatement, [environmentId, announcedMs]).catch((error) => {
      announcedUntil.delete(environmentId);
      throw error;
    });
  }

  /** @param from null: from the oldest event that is kept */
  async function look(environmentId: string, from: Position | null, { limit, types }: ChangesWanted): Promise<Changes> {
    const depth = types ? lookedThrough : limit + 1;
    const place = from?.transactionId.toString() ?? null;
    const values = [environmentId, place, from?.eventId ?? maxUuid, depth, types, limit + 1];
    const [row] = await db.statement<Looked>(lookStatement, values);
    const { settled, dropped, looked, last, found } = row as Looked;
    if (from && from.transactionId < BigInt(dropped)) throw new DomainError('changes.cursor_expired');
    const all = found ?? [];
    const items = all.slice(0, limit);
    const isFull = all.length > limit;
    const hasMore = isFull || looked === depth;
    const next = isFull ? positionOf(items.at(-1)!) : hasMore && last ? positionOf(last) : endOf(BigInt(settled) - 1n);
    return {
      items: items.map((item) => presentIn(environmentId, item)),
      nextCursor: writeFeedCursor(environmentId, from && next.transactionId < from.transactionId ? from : next),
      hasMore,
    };
  }

  /**
   * Returns the position of a reader who knows all that is visible now. What an open transaction writes comes behind it.
   */
  async function latest(): Promise<Position> {
    const [row] = await db.statement<Pick<Looked, 'settled'>>(settledStatement, []);
    return endOf(BigInt((row as Pick<Looked, 'settled'>).settled) - 1n);
  }

  async function positionIn(environmentId: string, cursor: string): Promise<Position> {
    if (cursor === latestCursor) return latest();
    const position = readFeedCursor(environmentId, cursor);
    if (!position) throw new DomainError('changes.cursor_invalid');
    return position;
  }

  return {
    /**
     * Returns the changes after a cursor, oldest first.
     * @throws DomainError changes.cursor_invalid, changes.cursor_expired
     */
    async read({ environmentId }: EnvironmentScope, wanted: ChangesWanted): Promise<Changes> {
      const from = wanted.cursor === null ? null : await positionIn(environmentId, wanted.cursor);
      const deadline = performance.now() + wanted.waitMs;
      let changes = await look(environmentId, from, wanted);
      let left = deadline - performance.now();
      if (changes.items.length > 0 || changes.hasMore || left <= 0) return changes;
      await haveItAnnounced(environmentId);
      let next = pauses.slice();
      do {
        const pause = next.length > 1 ? (next.shift() as number) : (next[0] as number);
        const result = await notifications.wait(environmentId, Math.min(pause, left));
        if (result === 'stopped') return changes;
        if (result === 'notified') next = [...pausesOnceNotified, ...pauses.slice(-1)];
        // Many that wait are notified at once: for one that gets no connection then, nothing has happened yet.
        changes = (await look(environmentId, from, wanted).catch(nullIf('service.unavailable'))) ?? changes;
        left = deadline - performance.now();
      } while (changes.items.length === 0 && !changes.hasMore && left > 0);
      return changes;
    },
  };
}

const positionOf = ({ transaction_id: transactionId, id }: Pick<Found, 'transaction_id' | 'id'>): Position => ({
  transactionId: BigInt(transactionId),
  eventId: id,
});

const presentIn = (environmentId: string, row: Found): Change => ({
  cursor: writeFeedCursor(environmentId, positionOf(row)),
  type: row.action,
  resourceType: row.resource_type,
  resourceId: row.resource_id,
  occurredAt: new Date(row.created_at),
  data: row.metadata,
});
