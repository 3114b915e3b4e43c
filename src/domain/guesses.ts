import { after, type Clock, days, minutes, seconds } from '../platform/clock.js';
import type { Db } from '../platform/database/db.js';
import { createLimitsInTurn, type LimitPolicy, type StatesInTurn } from '../platform/limiter.js';
import { DomainError } from './errors.js';
import { givingBack } from './rate-limits.js';

/** Limits on guessing at one account: exact, shared by all processes, and counted alike whether or not anybody has it. */
export interface Guesses<Whose, Guess extends Whose = Whose> {
  /**
   * Counts a guess before it is looked at, so that parallel ones cannot slip through.
   * @returns when the next one is allowed, where this is the last that the day allows; else null
   * @throws DomainError rate_limit.exceeded
   */
  begin(guess: Guess): Promise<Date | null>;
  /** Counts nothing. @throws DomainError rate_limit.exceeded where a guess at them would not be looked at */
  assertOpen(whose: Whose): Promise<void>;
  /** Until when no guess at them is looked at; null where one would be. Counts nothing. */
  closedUntil(whose: Whose): Promise<Date | null>;
  /** Looks at one that was counted; what cannot be looked at is taken back. @throws whatever the look throws */
  look<T>(guess: Guess, look: () => Promise<T>): Promise<T>;
  /** Takes one back that was right, and forgets the day's wrong ones. */
  succeeded(guess: Guess): Promise<void>;
  /** Takes one back that is no failure and proves nothing either: the others stay. */
  withdrawn(guess: Guess): Promise<void>;
  /** It could not have been right, since there is no such secret to guess: it stays counted for the network, not for the account. */
  missed(guess: Guess): Promise<void>;
  /** Lets them be guessed at again, whatever was counted. */
  forget(whose: Whose): Promise<void>;
}

export interface GuessesOptions<Whose, Guess extends Whose = Whose> {
  db: Pick<Db, 'statement'>;
  /** Whether anything is counted. */
  enabled: boolean;
  now: Clock;
  /** Names of the two limits of each account: on a burst, and on what slow guessing amounts to. */
  burst: string;
  day: string;
  /** What is one account. */
  accountOf(whose: Whose): string;
  /** A limit on where guesses come from, whomever they are at; it comes first. */
  network?: LimitPolicy & { keyOf(guess: Guess): string };
}

/** Ten wrong ones of an account in a quarter of an hour, and fifty in a day. */
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
  // In this order, and only what the one before let through: who is refused for where they are locks nobody's account, and a
  // burst that is refused anyway locks it for no day.
  const policies = network ? [network, ...ofAccount] : ofAccount;
  const inTurn = createLimitsInTurn(db, policies);
  const account = createLimitsInTurn(db, ofAccount);
  const accountKeys = (whose: Whose) => [accountOf(whose), accountOf(whose)];
  const keysOf = (guess: Guess) => [...(network ? [network.keyOf(guess)] : []), ...accountKeys(guess)];
  const withdrawn = (guess: Guess) =>
    inTurn.takeBack(
      keysOf(guess),
      policies.map(() => 'one'),
    );
  const assertAllowed = (states: StatesInTurn, of: readonly LimitPolicy[]) =>
    states.forEach((state, i) => {
      if (state && !state.allowed)
        throw new DomainError('rate_limit.exceeded', { retryAfter: state.resetSeconds, limit: of[i] as LimitPolicy });
    });
  return {
    async begin(guess) {
      const states = await inTurn.consume(keysOf(guess));
      assertAllowed(states, policies);
      const last = states.at(-1);
      return last?.remaining === 0 ? after(now(), seconds(last.resetSeconds)) : null;
    },
    assertOpen: async (whose) => assertAllowed(await account.look(accountKeys(whose)), ofAccount),
    async closedUntil(whose) {
      // As the rows have it, so that whoever asks twice is told the same.
      const ends = (await account.look(accountKeys(whose))).flatMap(({ allowed, endsAt }) =>
        allowed || endsAt === null ? [] : [endsAt.getTime()],
      );
      return ends.length > 0 ? new Date(Math.max(...ends)) : null;
    },
    look: (guess, look) => givingBack(look, () => withdrawn(guess)),
    succeeded: (guess) => inTurn.takeBack(keysOf(guess), [...(network ? (['one'] as const) : []), 'one', 'all']),
    withdrawn,
    missed: (guess) => account.takeBack(accountKeys(guess), ['one', 'one']),
    forget: (whose) => account.takeBack(accountKeys(whose), ['all', 'all']),
  };
}
