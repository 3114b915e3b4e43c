import { minutes } from '../../platform/clock.js';
import type { Db } from '../../platform/db.js';
import { createLimiter } from '../../platform/limiter.js';
import { DomainError } from '../errors.js';

export interface Attempt {
  environmentId: string;
  email: string;
  ipAddress: string;
}

export interface Attempts {
  /** Counts an attempt before it is looked at, so that parallel guesses cannot slip through. @throws DomainError rate_limit.exceeded */
  begin(attempt: Attempt): Promise<void>;
  /** Takes it back: only failures count. */
  succeeded(attempt: Attempt): Promise<void>;
}

export const attemptsByAddress = 10;
export const attemptWindowSeconds = minutes(15) / 1000;
const attemptsByIp = 100;

/** Limits on guessing passwords: by the address that is tried, and by where the guesses come from. */
export function createAttempts({ db, enabled }: { db: Db; enabled: boolean }): Attempts {
  if (!enabled) return { begin: async () => {}, succeeded: async () => {} };
  const byAddress = createLimiter(db, {
    name: 'sign-in-address',
    points: attemptsByAddress,
    windowSeconds: attemptWindowSeconds,
  });
  const byIp = createLimiter(db, { name: 'sign-in-ip', points: attemptsByIp, windowSeconds: attemptWindowSeconds });
  const addressOf = ({ environmentId, email }: Attempt) => `${environmentId} ${email.toLowerCase()}`;
  return {
    async begin(attempt) {
      const states = await Promise.all([byAddress.consume(addressOf(attempt)), byIp.consume(attempt.ipAddress)]);
      const refused = states.filter(({ allowed }) => !allowed);
      if (refused.length === 0) return;
      const retryAfter = Math.max(...refused.map(({ resetSeconds }) => resetSeconds));
      throw new DomainError('rate_limit.exceeded', { retryAfter });
    },
    async succeeded(attempt) {
      await Promise.all([byAddress.giveBack(addressOf(attempt)), byIp.giveBack(attempt.ipAddress)]);
    },
  };
}
