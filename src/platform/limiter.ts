import { createHash } from 'node:crypto';
import type { Db, Statement } from './database/db.js';
import { throttled } from './metrics/metrics.js';

export interface LimitPolicy {
  /** Names what is counted; part of the stored key and of the `RateLimit` header. */
  name: string;
  points: number;
  windowSeconds: number;
}

export interface LimitState {
  allowed: boolean;
  remaining: number;
  /** Until the window ends and counting starts anew. */
  resetSeconds: number;
}

export interface Limiter {
  policy: LimitPolicy;
  /** Counts one use of `key`, exactly, over all processes. */
  consume(key: string): Promise<LimitState>;
  /** Takes one use back, for what turned out not to count: of the window that runs, if there is one. */
  giveBack(key: string): Promise<void>;
}

/** One limit that is counted in PostgreSQL, so that all processes share it. */
export function createLimiter(db: Pick<Db, 'statement'>, policy: LimitPolicy): Limiter {
  const limits = createLimitsInTurn(db, [policy]);
  return {
    policy,
    async consume(key) {
      const [state] = await limits.consume([key]);
      return state as LimitState; // the first is never passed over
    },
    giveBack: (key) => limits.takeBack([key], ['one']),
  };
}

/** Keys hold addresses. */
const hashed = (key: string) => createHash('sha256').update(key).digest('base64url');

/** Of a policy that was reached: how it stands. Null where one before it refused. */
export type StatesInTurn = (LimitState | null)[];

/** With the moment, by PostgreSQL's clock, at which its window ends; null where none runs. */
export type SeenLimit = LimitState & { endsAt: Date | null };

export interface LimitsInTurn {
  /** Counts one use under each policy, by its key; a policy counts only what all before it have let through. */
  consume(keys: readonly string[]): Promise<StatesInTurn>;
  /** How each policy stands, without a use being counted: whether it would allow one more. */
  look(keys: readonly string[]): Promise<SeenLimit[]>;
  /** Under each policy takes one use back, or forgets them all. */
  takeBack(keys: readonly string[], how: readonly ('one' | 'all')[]): Promise<void>;
}

/**
 * Several limits in one round trip, where each is asked of the same attempt. Their rows are taken in the order of the policies everywhere,
 * so that two attempts never wait for each other. The time is PostgreSQL's: by that of an api which is a day ahead, whoever asks it once
 * would be locked out everywhere for that day (docs/decisions/0078).
 */
export function createLimitsInTurn(db: Pick<Db, 'statement'>, policies: readonly LimitPolicy[]): LimitsInTurn {
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

/** In milliseconds, as the rows have the end of their windows. */
const now = '(extract(epoch from clock_timestamp()) * 1000)::bigint';

/**
 * Milliseconds that a window may end later than one that begins now. One that ends later still was begun before PostgreSQL's clock was set back, and would
 * keep people out for as long as that was ahead. In parallel one has begun later than its reader, by what that has waited for the row.
 */
const latestMs = 60_000;

const lookStatement: Statement = {
  name: 'limits_as_they_stand',
  text: `with now as materialized (select ${now} as at)
select l.key, points, expire - at as left, expire
from now cross join unnest($1::text[], $2::bigint[]) as w (key, window_ms)
  join rate_limits l on l.key = w.key and expire > at and expire <= at + window_ms + ${latestMs}`,
};

/** Its values are the keys, in the order of the policies. */
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
 * $1 are keys, $2 whether all uses of each are forgotten, $3 how many uses each allows: those that were
 * refused are in the row, too, and would stay there when what was let in is taken back.
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
