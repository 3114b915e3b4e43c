import type { FastifyReply, FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { DomainError } from '../../domain/errors.js';
import type { Db } from '../../platform/database/db.js';
import { subscriberOf } from '../../platform/database/subscriber.js';
import { createLimiter, type LimitPolicy, type LimitState } from '../../platform/limiter.js';
import { throttled } from '../../platform/metrics/metrics.js';
import { announceLimit } from './limit-headers.js';

export interface RateLimits {
  /** A limit of the specification: exact, shared by all processes, counted per key (by default per subscriber). */
  exact(policy: LimitPolicy, keyOf?: (request: FastifyRequest) => string): onRequestAsyncHookHandler;
  /**
   * A general limit that protects this process, counted in its memory (contract §1). When a caller's credential is
   * checked again, the request is not counted again.
   */
  general(kind: keyof GeneralLimits, key: string, reply: FastifyReply): Promise<void>;
}

export interface GeneralLimits {
  apiKey: number;
  jwt: number;
  anonymous: number;
}

export interface RateLimitOptions {
  enabled: boolean;
  db: Pick<Db, 'statement'>;
  perMinute: GeneralLimits;
}

export function createRateLimits({ enabled, db, perMinute }: RateLimitOptions): RateLimits {
  const memory = (kind: keyof GeneralLimits) =>
    new RateLimiterMemory({ keyPrefix: kind, points: perMinute[kind], duration: 60 });
  const general = { apiKey: memory('apiKey'), jwt: memory('jwt'), anonymous: memory('anonymous') };
  return {
    exact(policy, keyOf = (request) => subscriberOf(request.ip)) {
      if (!enabled) return async () => {};
      const limiter = createLimiter(db, policy);
      return async (request, reply) => announce(reply, policy, await limiter.consume(keyOf(request)));
    },
    async general(kind, key, reply) {
      if (!enabled || reply.request.proof) return;
      try {
        await general[kind].consume(kind === 'anonymous' ? subscriberOf(key) : key);
      } catch (error) {
        if (!(error instanceof RateLimiterRes)) throw error;
        throttled.inc({ limit: kind });
        const resetSeconds = Math.ceil(error.msBeforeNext / 1000);
        announce(
          reply,
          { name: kind, points: perMinute[kind], windowSeconds: 60 },
          { allowed: false, remaining: 0, resetSeconds },
        );
      }
    },
  };
}

/** If several limits count a request, the headers describe the one that refuses it, or else the one with least left. */
function announce(reply: FastifyReply, policy: LimitPolicy, state: LimitState) {
  const least = /;r=(\d+)/.exec(String(reply.getHeader('ratelimit')))?.[1];
  if (!state.allowed || least === undefined || state.remaining < Number(least)) announceLimit(reply, policy, state);
  if (!state.allowed) throw new DomainError('rate_limit.exceeded', { retryAfter: state.resetSeconds });
}
