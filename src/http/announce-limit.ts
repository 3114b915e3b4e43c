import type { FastifyReply } from 'fastify';
import type { LimitPolicy, LimitState } from '../platform/limiter.js';

/** Sets `RateLimit` and `RateLimit-Policy` as in the IETF's rate-limit header draft. */
export function announceLimit(
  reply: FastifyReply,
  { name, points, windowSeconds }: LimitPolicy,
  { remaining, resetSeconds }: Pick<LimitState, 'remaining' | 'resetSeconds'>,
): void {
  reply.header('ratelimit-policy', `"${name}";q=${points};w=${windowSeconds}`);
  reply.header('ratelimit', `"${name}";r=${remaining};t=${resetSeconds}`);
}
