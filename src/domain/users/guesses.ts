import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { countedAddress } from '../addresses/counted-address.js';
import { createGuesses, type Guesses } from '../limits/guesses.js';

/** Limits on guessing the password of a platform admin, one for each place that asks for it (docs/decisions/0036). */
export interface UserGuesses {
  /** At sign-in, counted by address, whether or not anybody has it. */
  signIn: Guesses<string>;
  /**
   * When users change their own password, counted by user id. Counted apart from sign-in, whose limit strangers can use
   * up: only somebody who is signed in can guess here.
   */
  passwordChange: Guesses<string>;
}

export interface UserGuessesDeps {
  db: Pick<Db, 'statement'>;
  /** Whether guesses are counted. */
  rateLimits: boolean;
  now: Clock;
}

export function createUserGuesses({ db, rateLimits: enabled, now }: UserGuessesDeps): UserGuesses {
  const counted = { db, enabled, now };
  return {
    // The route limits guesses by IP address before this (spec, "Limits").
    signIn: createGuesses<string>({
      ...counted,
      burst: 'admin-sign-in-address',
      day: 'admin-sign-in-day',
      accountOf: countedAddress,
    }),
    passwordChange: createGuesses<string>({
      ...counted,
      burst: 'admin-password-change',
      day: 'admin-password-change-day',
      accountOf: (userId) => userId,
    }),
  };
}
