import type { Limiter } from '../platform/limiter.js';
import { DomainError } from './errors.js';

/** Counts one use of `key`; nothing where limits are off. @throws DomainError rate_limit.exceeded */
export async function countUse(limiter: Limiter | null, key: string): Promise<void> {
  if (!limiter) return;
  const { allowed, resetSeconds } = await limiter.consume(key);
  if (!allowed) throw new DomainError('rate_limit.exceeded', { retryAfter: resetSeconds, limit: limiter.policy });
}

/**
 * Does what something was counted or spent for before. What overload or an outage keeps from being done tells nobody anything and is
 * nobody's failure: that is given back. A refusal that the work itself comes to leaves it.
 * @throws whatever the work throws
 */
export async function givingBack<T>(work: () => Promise<T>, giveBack: () => Promise<unknown>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isRefusal = error instanceof DomainError && error.code !== 'service.unavailable';
    // In an outage that lasts there is nobody to give it back; what went wrong first is what is told.
    if (!isRefusal) await giveBack().catch(() => {});
    throw error;
  }
}
