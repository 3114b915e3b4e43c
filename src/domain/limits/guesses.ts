import { after, type Clock, days, minutes, seconds } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { createOrderedLimits, type LimitPolicy, type OrderedStates } from '../../platform/limiter.js';
import { DomainError } from '../errors.js';
import { givingBack } from './rate-limits.js';

/** Limits on guessing at one account: exact, shared by all processes, and the same whether or not it exists. */
export interface Guesses<Whose, Guess extends Whose = Whose> {
  /**
   * Counts a guess before it is checked, so that parallel ones cannot slip through.
   * @returns when the next guess is allowed, if this is the last that the day allows; else null
   * @throws DomainError rate_limit.exceeded
   */
  begin(guess: Guess): Promise<Date | null>;
  /** Counts nothing. @throws DomainError rate_limit.exceeded if a guess would not be checked now */
  assertOpen(whose: Whose): Promise<void>;
  /** Until when no guess would be checked; null if one would be. Counts nothing. */
  closedUntil(whose: Whose): Promise<Date | null>;
  /** Checks a guess that was counted; takes it back if it cannot be checked. @throws whatever `look` throws */
  look<T>(guess: Guess, look: () => Promise<T>): Promise<T>;
  /** The guess was right: takes it back, and forgets the day's wrong ones. */
  succeeded(guess: Guess): Promise<void>;
  /** The guess was not wrong, but proves nothing: takes it back, and keeps the others. */
  withdrawn(guess: Guess): Promise<void>;
  /**
   * The guess could not have been right, since there is no such secret: it stays counted for the network, but not for
   * the account.
   */
  missed(guess: Guess): Promise<void>;
  /** Forgets all guesses at an account. */
  forget(whose: Whose): Promise<void>;
}

export interface GuessesOptions<Whose, Guess extends Whose = Whose> {
  db: Pick<Db, 'statement'>;
  /** Whether guesses are counted at all. */
  enabled: boolean;
  now: Clock;
  /** The names of each account's two limits: for a burst of guesses, and for slow ones over a day. */
  burst: string;
  day: string;
  /** The key of an account. */
  accountOf(whose: Whose): string;
  /** A limit on where guesses come from, whichever account they are at; checked first. */
  network?: LimitPolicy & { keyOf(guess: Guess): string };
}

/** At most ten wrong guesses at an account in a quarter of an hour, and fifty in a day. */
export function createGuesses<Whose, Guess extends Whose = Whose>(
  options: GuessesOptions<Whose, Guess>,
): Guesses<Whose, Guess> {
  const { db, enabled, now, burst, day, accountOf, network } = options;
  const nothing = async () => {};
  if (!enabled) {
    return {
      begin: async () => null,
      assertOpen: nothing,
      closedUntil: async () => null,
      look: (_, look) => look(),
      succeeded: nothing,
      withdrawn: nothing,
      missed: nothing,
      forget: nothing,
    };
  }
  const ofAccount: LimitPolicy[] = [
    { name: burst, points: 10, windowSeconds: minutes(15) / 1000 },
    { name: day, points: 50, windowSeconds: days(1) / 1000 },
  ];
  // In this order, each limit counting only what the one before has let through: a guess that is refused for its
  // network address does not lock the account, nor does one that is refused as part of a burst lock it for the day.
  const policies = network ? [network, ...ofAccount] : ofAccount;
  const ordered = createOrderedLimits(db, policies);
  const account = createOrderedLimits(db, ofAccount);
  const accountKeys = (whose: Whose) => [accountOf(whose), accountOf(whose)];
  const keysOf = (guess: Guess) => [...(network ? [network.keyOf(guess)] : []), ...accountKeys(guess)];
  const withdrawn = (guess: Guess) =>
    ordered.takeBack(
      keysOf(guess),
      policies.map(() => 'one'),
    );
  const assertAllowed = (states: OrderedStates, of: readonly LimitPolicy[]) =>
    states.forEach((state, i) => {
      if (state && !state.allowed)
        throw new DomainError('rate_limit.exceeded', { retryAfter: state.resetSeconds, limit: of[i] as LimitPolicy });
    });
  return {
    async begin(guess) {
      const states = await ordered.consume(keysOf(guess));
      assertAllowed(states, policies);
      const last = states.at(-1);
      return last?.remaining === 0 ? after(now(), seconds(last.resetSeconds)) : null;
    },
    assertOpen: async (whose) => assertAllowed(await account.look(accountKeys(whose)), ofAccount),
    async closedUntil(whose) {
      // The end as it is stored, and not computed from now, so that asking twice gives the same moment.
      const ends = (await account.look(accountKeys(whose))).flatMap(({ allowed, endsAt }) =>
        allowed || endsAt === null ? [] : [endsAt.getTime()],
      );
      return ends.length > 0 ? new Date(Math.max(...ends)) : null;
    },
    look: (guess, look) => givingBack(look, () => withdrawn(guess)),
    succeeded: (guess) => ordered.takeBack(keysOf(guess), [...(network ? (['one'] as const) : []), 'one', 'all']),
    withdrawn,
    missed: (guess) => account.takeBack(accountKeys(guess), ['one', 'one']),
    forget: (whose) => account.takeBack(accountKeys(whose), ['all', 'all']),
  };
}
