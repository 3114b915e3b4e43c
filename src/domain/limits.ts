import type { Limiter } from '../platform/limiter.js';
import { DomainError } from './errors.js';

/** Counts one use of `key`; nothing where limits are off. @throws DomainError rate_limit.exceeded */
export async function countUse(limiter: Limiter | null, key: string): Promise<void> {
  if (!limiter) return;
  const { allowed, resetSeconds } = await limiter.consume(key);
  if (!allowed) throw new DomainError('rate_limit.exceeded', { retryAfter: resetSeconds, limit: limiter.policy });
}
