import { createHash } from 'node:crypto';
import type { Db, Statement } from './database/db.js';
import { throttled } from './metrics/metrics.js';

export interface LimitPolicy {
  /** The name of what is counted; part of the stored key and of the `RateLimit` header. */
  name: string;
  points: number;
  windowSeconds: number;
}

export interface LimitState {
  allowed: boolean;
  remaining: number;
  /** Seconds until the window ends and counting starts again. */
  resetSeconds: number;
}

export interface Limiter {
  policy: LimitPolicy;
  /** Counts one use of `key`, exactly, across all processes. */
  consume(key: string): Promise<LimitState>;
  /** Takes back one use in the running window, if there is one: for a use that turned out not to count. */
  giveBack(key: string): Promise<void>;
}

/** Creates one limit, counted in PostgreSQL so that all processes share it. */
export function createLimiter(db: Pick<Db, 'statement'>, policy: LimitPolicy): Limiter {
  const limits = createOrderedLimits(db, [policy]);
  return {
    policy,
    async consume(key) {
      const [state] = await limits.consume([key]);
      return state as LimitState; // the first policy is always reached
    },
    giveBack: (key) => limits.takeBack([key], ['one']),
  };
}

/** Keys are stored hashed, since they hold addresses. */
const hashed = (key: string) => createHash('sha256').update(key).digest('base64url');

/** The state of each policy; null where an earlier policy refused, so that this one was not reached. */
export type OrderedStates = (LimitState | null)[];

/** `endsAt`: when the window ends, by PostgreSQL's clock; null if none runs. */
export type SeenLimit = LimitState & { endsAt: Date | null };

export interface OrderedLimits {
  /** Counts one use under each policy, by its key; a policy counts only what all policies before it allowed. */
  consume(keys: readonly string[]): Promise<OrderedStates>;
  /** Returns the state of each policy without counting a use: whether it would allow one more. */
  look(keys: readonly string[]): Promise<SeenLimit[]>;
  /** Takes back one use under each policy, or all of them. */
  takeBack(keys: readonly string[], how: readonly ('one' | 'all')[]): Promise<void>;
}

/**
 * Creates several limits that are applied to the same attempt in one round trip. Their rows are always locked in the
 * order of the policies, so two attempts never deadlock. The time is PostgreSQL's: by the clock of an api that is a day
 * ahead, a caller that it throttles once would be locked out everywhere for that day (docs/decisions/0078).
 */
export function createOrderedLimits(db: Pick<Db, 'statement'>, policies: readonly LimitPolicy[]): OrderedLimits {
  const keyed = (keys: readonly string[]) => keys.map((key, i) => `${policies[i]?.name}:${hashed(key)}`);
  const consuming = consumingStatement(policies);
  return {
    async consume(keys) {
      const [row] = await db.statement<Record<string, string | null>>(consuming, keyed(keys));
      return policies.map(({ name, points }, i) => {
        const used = row?.[`points_${i}`];
        if (used == null) return null;
        const allowed = Number(used) <= points;
        if (!allowed) throttled.inc({ limit: name });
        return {
          allowed,
          remaining: Math.max(0, points - Number(used)),
          resetSeconds: Math.ceil(Number(row?.[`left_${i}`]) / 1000),
        };
      });
    },
    async look(keys) {
      const stored = keyed(keys);
      const windows = policies.map(({ windowSeconds }) => windowSeconds * 1000);
      const rows = await db.statement<LookedAt>(lookStatement, [stored, windows]);
      return policies.map(({ points }, i) => {
        const row = rows.find(({ key }) => key === stored[i]);
        const remaining = Math.max(0, points - (row?.points ?? 0));
        const resetSeconds = row ? Math.ceil(Number(row.left) / 1000) : 0;
        return { allowed: remaining > 0, remaining, resetSeconds, endsAt: row ? new Date(Number(row.expire)) : null };
      });
    },
    async takeBack(keys, how) {
      const values = [keyed(keys), how.map((each) => each === 'all'), policies.map(({ points }) => points)];
      await db.statement(takeBackStatement, values);
    },
  };
}

/** `left` and `expire` in milliseconds. */
interface LookedAt {
  key: string;
  points: number;
  left: string;
  expire: string;
}

/** SQL: the current time in milliseconds, the unit in which rows store the end of their windows. */
const now = '(extract(epoch from clock_timestamp()) * 1000)::bigint';

/**
 * How many milliseconds later a stored window may end than one that begins now. A window that ends later still was
 * begun before PostgreSQL's clock was set back, and would lock people out for as long as the clock was ahead. A window
 * may rightly end a little later: a concurrent attempt may have begun it while this statement waited for the row.
 */
const latestMs = 60_000;

const lookStatement: Statement = {
  name: 'limits_as_they_stand',
  text: `with now as materialized (select ${now} as at)
select l.key, points, expire - at as left, expire
from now cross join unnest($1::text[], $2::bigint[]) as w (key, window_ms)
  join rate_limits l on l.key = w.key and expire > at and expire <= at + window_ms + ${latestMs}`,
};

/** The statement's values are the keys, in the order of the policies. */
function consumingStatement(policies: readonly LimitPolicy[]): Statement {
  const counting = policies.map(({ windowSeconds }, i) => {
    const before = policies[i - 1];
    const isOver = `(l.expire <= (select at from now) or l.expire > excluded.expire + ${latestMs})`;
    const allowed = before ? `where (select points from limit_${i - 1}) <= ${before.points}` : '';
    return `limit_${i} as (
  insert into rate_limits as l (key, points, expire) select $${i + 1}, 1, at + ${windowSeconds * 1000} from now ${allowed}
  on conflict (key) do update set points = case when ${isOver} then 1 else l.points + 1 end,
    expire = case when ${isOver} then excluded.expire else l.expire end
  returning points, expire)`;
  });
  const columns = policies.map(
    (_, i) =>
      `(select points from limit_${i}) as points_${i}, (select expire from limit_${i}) - (select at from now) as left_${i}`,
  );
  const name = `consume_${policies.map((policy) => policy.name).join('_')}`;
  const text = `with now as materialized (select ${now} as at), ${counting.join(',\n')}\nselect ${columns.join(', ')}`;
  return { name, text };
}

/**
 * $1: the keys; $2: whether all uses of each are taken back; $3: how many uses each allows. The row counts refused uses
 * too; without $3 these would remain when an allowed one is taken back.
 */
const takeBackStatement: Statement = {
  name: 'take_back_limits',
  text: `
with wanted as (
  select l.key, w.is_all, w.most from unnest($1::text[], $2::boolean[], $3::int[]) with ordinality as w (key, is_all, most, place)
    join rate_limits l on l.key = w.key order by w.place for no key update of l
),
forgotten as (delete from rate_limits where key in (select key from wanted where is_all))
update rate_limits l set points = least(l.points, w.most) - 1 from wanted w
where l.key = w.key and not w.is_all and l.points > 0 and l.expire > ${now}`,
};
