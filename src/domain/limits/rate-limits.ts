import type { Limiter } from '../../platform/limiter.js';
import { DomainError } from '../errors.js';

/** Counts one use of `key`; nothing where limits are off. @throws DomainError rate_limit.exceeded */
export async function countUse(limiter: Limiter | null, key: string): Promise<void> {
  if (!limiter) return;
  const { allowed, resetSeconds } = await limiter.consume(key);
  if (!allowed) throw new DomainError('rate_limit.exceeded', { retryAfter: resetSeconds, limit: limiter.policy });
}

/**
 * Does work for which something was counted or spent before, and gives that back if overload or an outage keeps the
 * work from being done: that is nobody's failure, and reveals nothing. After a refusal by the work itself it stays
 * counted.
 * @throws whatever the work throws
 */
export async function givingBack<T>(work: () => Promise<T>, giveBack: () => Promise<unknown>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isRefusal = error instanceof DomainError && error.code !== 'service.unavailable';
    // In a lasting outage it cannot be given back; the first error is the one to report.
    if (!isRefusal) await giveBack().catch(() => {});
    throw error;
  }
}
