import { createHash } from 'node:crypto';
import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';
import type { Db } from './db.js';

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
  /** Takes one use back, for what turned out not to count. */
  giveBack(key: string): Promise<void>;
  reset(key: string): Promise<void>;
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
  const hashed = (key: string) => createHash('sha256').update(key).digest('base64url');
  const stateOf = (result: RateLimiterRes, allowed: boolean): LimitState => ({
    allowed,
    remaining: result.remainingPoints,
    resetSeconds: Math.ceil(result.msBeforeNext / 1000),
  });
  return {
    policy,
    async consume(key) {
      try {
        return stateOf(await store.consume(hashed(key)), true);
      } catch (error) {
        if (error instanceof RateLimiterRes) return stateOf(error, false);
        throw error;
      }
    },
    async giveBack(key) {
      await store.reward(hashed(key));
    },
    async reset(key) {
      await store.delete(hashed(key));
    },
  };
}
