import { type Clock, minutes } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { createLimiter } from '../../platform/limiter.js';
import { DomainError } from '../errors.js';
import { createGuesses } from '../limits/guesses.js';
import { countUse } from '../limits/rate-limits.js';

const codesMailed = { points: 10, windowSeconds: minutes(15) / 1000 } as const;

export interface MfaAttempts {
  /**
   * Counts a try before the answer is checked, so that parallel guesses cannot slip through; takes it back when the
   * answer was right, or could not be checked.
   * @param proves whether the answer that was found proves the factor: then the day's wrong tries are forgotten, too
   * @throws DomainError mfa.challenge_locked, and whatever `look` throws
   */
  counted<T>(personId: string, look: () => Promise<T | null>, proves?: (found: T) => boolean): Promise<T | null>;
  /**
   * Counts a code that is about to be mailed, so that nobody's mailbox is flooded.
   * @throws DomainError rate_limit.exceeded
   */
  mail(personId: string): Promise<void>;
  /** Forgets all counted tries of a person. Codes that were mailed stay counted. */
  forgive(personId: string): Promise<void>;
}

type Whose = 'identity' | 'user';

export interface MfaAttemptsDeps {
  db: Db;
  enabled: boolean;
  whose?: Whose;
  now: Clock;
}

/** Contract §3: ten wrong tries in a quarter of an hour lock the challenge, and fifty in a day, as for passwords. */
const guessesOf = (db: Pick<Db, 'statement'>, whose: Whose, { enabled, now }: { enabled: boolean; now: Clock }) =>
  createGuesses<string>({
    db,
    enabled,
    now,
    burst: `mfa-${whose}`,
    day: `mfa-${whose}-day`,
    accountOf: (personId) => personId,
  });

/** Limits on guessing a person's second factors, wherever the guesses come from. */
export function createMfaAttempts({ db, enabled, whose = 'identity', now }: MfaAttemptsDeps): MfaAttempts {
  const guesses = guessesOf(db, whose, { enabled, now });
  const mails = enabled ? createLimiter(db, { name: `mfa-mail-${whose}`, ...codesMailed }) : null;
  return {
    async counted(personId, look, proves = () => true) {
      await guesses.begin(personId).catch((error: unknown) => {
        const isLocked = error instanceof DomainError && error.code === 'rate_limit.exceeded';
        throw isLocked ? new DomainError('mfa.challenge_locked', error.options) : error;
      });
      const found = await guesses.look(personId, look);
      if (found !== null) await (proves(found) ? guesses.succeeded(personId) : guesses.withdrawn(personId));
      return found;
    },
    mail: (personId) => countUse(mails, personId),
    forgive: guesses.forget,
  };
}

/**
 * Forgets the tries of a person whose factors were removed, so that new ones can be enrolled and used at once. In a
 * transaction of the system.
 */
export const forgiveMfaTries = (on: Pick<Db, 'statement'>, whose: Whose, personId: string, now: Clock): Promise<void> =>
  guessesOf(on, whose, { enabled: true, now }).forget(personId);
