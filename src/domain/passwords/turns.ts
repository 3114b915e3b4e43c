import { hashesRefused } from '../../platform/metrics.js';
import { DomainError } from '../errors.js';

export interface Turns {
  /** Does the work when its turn comes. @throws DomainError service.unavailable where too many wait already */
  <T>(work: () => Promise<T>): Promise<T>;
  /** Whether whoever came now would be refused. */
  isFull(): boolean;
  /** How many pieces of work run now, and how many wait. */
  line(): { running: number; waiting: number };
}

/**
 * Lets so many pieces of work run at once; the others wait, first come, first served.
 * @param longest how many may wait
 */
export function inTurns(most: number, longest = Number.POSITIVE_INFINITY): Turns {
  let running = 0;
  const waiting: (() => void)[] = [];
  const isFull = () => running >= most && waiting.length >= longest;
  const take = async <T>(work: () => Promise<T>): Promise<T> => {
    if (isFull()) {
      hashesRefused.inc();
      throw new DomainError('service.unavailable', { retryAfter: 1 });
    }
    if (running < most) running++;
    else await new Promise<void>((go) => waiting.push(go));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
  return Object.assign(take, { isFull, line: () => ({ running, waiting: waiting.length }) });
}
