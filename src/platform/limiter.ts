import { createHash } from 'node:crypto';
import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';
import type { Db, Statement } from './db.js';
import { throttled } from './metrics.js';
import { activeTracing } from './tracing.js';

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
  /** Takes one use back, for what turned out not to count; none that was counted in a window that is over by now. */
  giveBack(key: string): Promise<void>;
}

/** A limit that is counted in PostgreSQL, so that all processes share it. Keys are hashed: they hold addresses. */
export function createLimiter(db: Pick<Db, 'pool'>, policy: LimitPolicy): Limiter {
  const store = new RateLimiterPostgres({
    storeClient: db.pool,
    storeType: 'pool',
    tableName: 'rate_limits',
    tableCreated: true,
    keyPrefix: policy.name,
    points: policy.points,
    duration: policy.windowSeconds,
  });
  const stateOf = (result: RateLimiterRes, allowed: boolean): LimitState => ({
    allowed,
    remaining: result.remainingPoints,
    resetSeconds: Math.ceil(result.msBeforeNext / 1000),
  });
  return tracedLimiter({
    policy,
    async consume(key) {
      try {
        return stateOf(await store.consume(hashed(key)), true);
      } catch (error) {
        if (!(error instanceof RateLimiterRes)) throw error;
        throttled.inc({ limit: policy.name });
        return stateOf(error, false);
      }
    },
    async giveBack(key) {
      // By the store's own `reward`, a use of a window that is over would leave the next one with a use too many.
      const values = [[`${policy.name}:${hashed(key)}`], [false], Date.now(), [policy.points]];
      await db.pool.query({ ...takeBackStatement, values });
    },
  });
}

/** A limit with a span for each use, since its statements are not those of `Db`. Whose it is stays out. */
function tracedLimiter(limiter: Limiter): Limiter {
  const tracing = activeTracing();
  if (!tracing) return limiter;
  const { name } = limiter.policy;
  const spanned = <T>(summary: string, work: () => Promise<T>): Promise<T> => {
    const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': `${summary} ${name}` };
    return tracing.current() ? tracing.run({ name: `${summary} ${name}`, kind: 'client', attributes }, work) : work();
  };
  return {
    ...limiter,
    consume: (key) => spanned('consume', () => limiter.consume(key)),
    giveBack: (key) => spanned('give back', () => limiter.giveBack(key)),
  };
}

const hashed = (key: string) => createHash('sha256').update(key).digest('base64url');

/** Of a policy that was reached: how it stands. Null where one before it refused. */
export type StatesInTurn = (LimitState | null)[];

export interface LimitsInTurn {
  /** Counts one use under each policy, by its key; a policy counts only what all before it have let through. */
  consume(keys: readonly string[]): Promise<StatesInTurn>;
  /** How each policy stands, without a use being counted: whether it would allow one more. */
  look(keys: readonly string[]): Promise<LimitState[]>;
  /** Under each policy takes one use back, or forgets them all. */
  takeBack(keys: readonly string[], how: readonly ('one' | 'all')[]): Promise<void>;
}

/**
 * Several limits in one round trip, where each is asked of the same attempt. They are the rows that `createLimiter` counts in,
 * taken in the order of the policies everywhere, so that two attempts never wait for each other.
 */
export function createLimitsInTurn(db: Pick<Db, 'statement'>, policies: readonly LimitPolicy[]): LimitsInTurn {
  const keyed = (keys: readonly string[]) => keys.map((key, i) => `${policies[i]?.name}:${hashed(key)}`);
  const consuming = consumingStatement(policies);
  return {
    async consume(keys) {
      const at = Date.now();
      const [row] = await db.statement<Record<string, string | null>>(consuming, [at, ...keyed(keys)]);
      return policies.map(({ name, points }, i) => {
        const used = row?.[`points_${i}`];
        if (used == null) return null;
        const left = Number(row?.[`expire_${i}`]) - at;
        const allowed = Number(used) <= points;
        if (!allowed) throttled.inc({ limit: name });
        return {
          allowed,
          remaining: Math.max(0, points - Number(used)),
          resetSeconds: Math.ceil(left / 1000),
        };
      });
    },
    async look(keys) {
      const at = Date.now();
      const stored = keyed(keys);
      const rows = await db.statement<{ key: string; points: number; expire: string }>(lookStatement, [stored, at]);
      return policies.map(({ points }, i) => {
        const row = rows.find(({ key }) => key === stored[i]);
        const remaining = Math.max(0, points - (row?.points ?? 0));
        const resetSeconds = row ? Math.ceil((Number(row.expire) - at) / 1000) : 0;
        return { allowed: remaining > 0, remaining, resetSeconds };
      });
    },
    async takeBack(keys, how) {
      const values = [keyed(keys), how.map((each) => each === 'all'), Date.now(), policies.map(({ points }) => points)];
      await db.statement(takeBackStatement, values);
    },
  };
}

const lookStatement: Statement = {
  name: 'limits_as_they_stand',
  text: 'select key, points, expire from rate_limits where key = any ($1) and expire > $2::bigint',
};

/** $1 is the time in milliseconds, $2 and on the keys. */
function consumingStatement(policies: readonly LimitPolicy[]): Statement {
  const counting = policies.map(({ windowSeconds }, i) => {
    const before = policies[i - 1];
    const allowed = before ? `where (select points from limit_${i - 1}) <= ${before.points}` : '';
    return `limit_${i} as (
  insert into rate_limits as l (key, points, expire) select $${i + 2}, 1, $1::bigint + ${windowSeconds * 1000} ${allowed}
  on conflict (key) do update set points = case when l.expire <= $1 then 1 else l.points + 1 end,
    expire = case when l.expire <= $1 then excluded.expire else l.expire end
  returning points, expire)`;
  });
  const columns = policies.map(
    (_, i) => `(select points from limit_${i}) as points_${i}, (select expire from limit_${i}) as expire_${i}`,
  );
  const name = `consume_${policies.map((policy) => policy.name).join('_')}`;
  return { name, text: `with ${counting.join(',\n')}\nselect ${columns.join(', ')}` };
}

/**
 * $1 are keys, $2 whether all uses of each are forgotten, $3 is the time in milliseconds, $4 are how many uses each allows: those that
 * were refused are in the row, too, and would stay there when what was let in is taken back.
 */
const takeBackStatement: Statement = {
  name: 'take_back_limits',
  text: `
with wanted as (
  select l.key, w.is_all, w.most from unnest($1::text[], $2::boolean[], $4::int[]) with ordinality as w (key, is_all, most, place)
    join rate_limits l on l.key = w.key order by w.place for no key update of l
),
forgotten as (delete from rate_limits where key in (select key from wanted where is_all))
update rate_limits l set points = least(l.points, w.most) - 1 from wanted w
where l.key = w.key and not w.is_all and l.points > 0 and l.expire > $3`,
};
