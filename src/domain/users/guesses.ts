import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { countedAddress } from '../counted-address.js';
import { createGuesses, type Guesses } from '../guesses.js';

/** Limits on guessing the password of a platform admin, each where it is asked for (docs/decisions/0036). */
export interface UserGuesses {
  /** At sign-in: by the address, known or not. */
  signIn: Guesses<string>;
  /**
   * At the change of the own password: by the user's id. Not together with those at sign-in, which strangers can use up: only
   * who is signed in guesses here.
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
    // Where they come from is limited by the route (spec, "Limits"), before anything else.
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
