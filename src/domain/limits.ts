import type { Limiter } from '../platform/limiter.js';
import { DomainError } from './errors.js';

/** Counts one use of `key`; nothing where limits are off. @throws DomainError rate_limit.exceeded */
export async function countUse(limiter: Limiter | null, key: string): Promise<void> {
  if (!limiter) return;
  const { allowed, resetSeconds } = await limiter.consume(key);
  if (!allowed) throw new DomainError('rate_limit.exceeded', { retryAfter: resetSeconds, limit: limiter.policy });
}

/**
 * Looks at a guess that was counted before. What overload or an outage keeps from being looked at tells nobody anything and is no
 * failure of anybody's: it is given back. A refusal that the look itself comes to stays counted.
 * @throws whatever the look throws
 */
export async function lookAt<T>(look: () => Promise<T>, giveBack: () => Promise<unknown>): Promise<T> {
  try {
    return await look();
  } catch (error) {
    const isRefusal = error instanceof DomainError && error.code !== 'service.unavailable';
    // In an outage that lasts there is nobody to give it back; what went wrong first is what is told.
    if (!isRefusal) await giveBack().catch(() => {});
    throw error;
  }
}
