import type { FastifyReply } from 'fastify';
import type { DomainError } from '../../domain/errors.js';
import type { LimitPolicy, LimitState } from '../../platform/limiter.js';

/** Sets when to try again, and which limit refused (contract §1); the HTTP layer's own limits have set theirs. */
export function setRetryHeaders(reply: FastifyReply, { options: { retryAfter, limit } }: DomainError): void {
  if (retryAfter === undefined) return;
  const inSeconds = Math.max(1, Math.ceil(retryAfter));
  reply.header('retry-after', inSeconds);
  if (limit) announceLimit(reply, limit, { remaining: 0, resetSeconds: inSeconds });
}

/** Sets `RateLimit` and `RateLimit-Policy` as in the IETF's rate-limit header draft. */
export function announceLimit(
  reply: FastifyReply,
  { name, points, windowSeconds }: LimitPolicy,
  { remaining, resetSeconds }: Pick<LimitState, 'remaining' | 'resetSeconds'>,
): void {
  reply.header('ratelimit-policy', `"${name}";q=${points};w=${windowSeconds}`);
  reply.header('ratelimit', `"${name}";r=${remaining};t=${resetSeconds}`);
}
