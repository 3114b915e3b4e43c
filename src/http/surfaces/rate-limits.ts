import type { FastifyReply, FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { DomainError } from '../../domain/errors.js';
import type { Db } from '../../platform/database/db.js';
import { subscriberOf } from '../../platform/database/subscriber.js';
import { createLimiter, type LimitPolicy, type LimitState } from '../../platform/limiter.js';
import { throttled } from '../../platform/metrics/metrics.js';
import { announceLimit } from './limit-headers.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether a limit has counted it. */
    isCounted: boolean;
  }
}

export interface RateLimits {
  /** A limit of the specification: exact, shared by all processes, by default counted per subscriber. */
  exact(policy: LimitPolicy, counted?: Counted): CountingHook;
  /**
   * A general limit that protects this process, counted in its memory (contract §1). When a caller's credential is
   * checked again, the request is not counted again.
   */
  general(kind: keyof GeneralLimits, key: string, reply: FastifyReply): Promise<void>;
}

/** For whom, or for what, requests are counted. */
export interface Counted {
  /** Its name in the API's documentation, as in `5 per hour and IP address`. */
  name: string;
  keyOf(request: FastifyRequest): string;
}

/** A limit as the API's documentation names it, with the name of what is counted. */
export type DocumentedLimit = LimitPolicy & { counted: string };

/** Counts requests and refuses those beyond its limit, which the OpenAPI document reads from here. */
export type CountingHook = onRequestAsyncHookHandler & { limit: DocumentedLimit };

const bySubscriber: Counted = { name: 'IP address', keyOf: ({ ip }) => subscriberOf(ip) };

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

/** Returns the limits of all surfaces. If they are not enabled, nothing is counted. */
export function createRateLimits({ enabled, db, perMinute }: RateLimitOptions): RateLimits {
  const memory = (kind: keyof GeneralLimits) =>
    new RateLimiterMemory({ keyPrefix: kind, points: perMinute[kind], duration: 60 });
  const general = { apiKey: memory('apiKey'), jwt: memory('jwt'), anonymous: memory('anonymous') };
  return {
    exact(policy, { name, keyOf } = bySubscriber) {
      const limit = { ...policy, counted: name };
      if (!enabled) return Object.assign(async () => {}, { limit });
      const limiter = createLimiter(db, policy);
      const count: onRequestAsyncHookHandler = async (request, reply) => {
        request.isCounted = true;
        announce(reply, policy, await limiter.consume(keyOf(request)));
      };
      return Object.assign(count, { limit });
    },
    async general(kind, key, reply) {
      if (!enabled || reply.request.proof) return;
      reply.request.isCounted = true;
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
