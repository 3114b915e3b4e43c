import { minutes } from '../../platform/clock.js';
import type { Db } from '../../platform/db.js';
import { createLimiter } from '../../platform/limiter.js';
import { DomainError } from '../errors.js';
import { countUse, lookAt } from '../limits.js';

/** Contract §3: ten failed tries in a quarter of an hour lock the challenge. */
export const mfaTries = { points: 10, windowSeconds: minutes(15) / 1000 } as const;
const codesMailed = { points: 10, windowSeconds: minutes(15) / 1000 } as const;

export interface MfaAttempts {
  /**
   * Counts a try before it is looked at, so that parallel guesses cannot slip through, and takes it back when it was right, or could
   * not be looked at.
   * @throws DomainError mfa.challenge_locked, and whatever the look throws
   */
  counted<T>(personId: string, look: () => Promise<T | null>): Promise<T | null>;
  /** Counts a code that is about to be mailed: nobody's mailbox is flooded. @throws DomainError rate_limit.exceeded */
  mail(personId: string): Promise<void>;
  /** Lets somebody try again, whatever tries were counted. Codes that were mailed stay counted. */
  forgive(personId: string): Promise<void>;
}

export interface MfaAttemptsDeps {
  db: Db;
  enabled: boolean;
  whose?: 'identity' | 'user';
}

/** Limits on guessing second factors, by whose they are, wherever the guesses come from. */
export function createMfaAttempts({ db, enabled, whose = 'identity' }: MfaAttemptsDeps): MfaAttempts {
  if (!enabled) return { counted: (_, look) => look(), mail: async () => {}, forgive: async () => {} };
  const tries = createLimiter(db, { name: `mfa-${whose}`, ...mfaTries });
  const mails = createLimiter(db, { name: `mfa-mail-${whose}`, ...codesMailed });
  return {
    async counted(personId, look) {
      const { allowed, resetSeconds } = await tries.consume(personId);
      if (!allowed) throw new DomainError('mfa.challenge_locked', { retryAfter: resetSeconds, limit: tries.policy });
      const found = await lookAt(look, () => tries.giveBack(personId));
      if (found !== null) await tries.giveBack(personId);
      return found;
    },
    mail: (personId) => countUse(mails, personId),
    forgive: (personId) => tries.reset(personId),
  };
}
