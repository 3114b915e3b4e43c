import { DomainError, invalidField } from '../errors.js';
import { type BreachOptions, createBreachCheck } from './breaches.js';
import { isOfContext } from './context.js';
import { createHashing, type Hashing, type HashingOptions, longestTyped, needsRehash, normalized } from './hashing.js';

/** The least and the most that any setting may ask of a password, in code points (contract §3). */
export const passwordLength = { min: 8, max: 128 } as const;

export interface PasswordRule {
  /** The Environment's `password_min_length`; the bounds of the contract hold whatever it says. */
  minLength: number;
  /** Names and addresses of which it must not consist: of the person, the Account, the Application. */
  context: readonly (string | null | undefined)[];
  /** Where the password was in the request, for the error's details. */
  field: string;
}

export interface Passwords extends Hashing {
  needsRehash(hash: string): boolean;
  /**
   * @throws DomainError `validation.failed` by the length, `password.context_specific` when it is little more than words of its
   * context, `password.breached` when it is known
   */
  assertAcceptable(password: string, rule: PasswordRule): Promise<void>;
}

export interface PasswordsOptions extends BreachOptions {
  hashing?: HashingOptions;
}

/** Rules for passwords: how they are kept, compared and chosen. None is ever logged, stored or sent. */
export function createPasswords({ hashing = { atOnce: 2 }, ...options }: PasswordsOptions): Passwords {
  const isBreached = createBreachCheck(options);
  return {
    ...createHashing(hashing),
    needsRehash,
    async assertAcceptable(password, { minLength, context, field }) {
      assertLength(password, Math.min(Math.max(minLength, passwordLength.min), passwordLength.max), field);
      if (isOfContext(password, context)) throw new DomainError('password.context_specific');
      if (await isBreached(normalized(password))) throw new DomainError('password.breached');
    },
  };
}

function assertLength(password: string, least: number, field: string) {
  const isTyped = password.length <= longestTyped; // in whatever form: what is longer is not looked at
  const length = isTyped ? [...normalized(password)].length : Number.POSITIVE_INFINITY; // code points: an emoji is one character to the person who types it
  if (length < least) {
    throw invalidField(field, 'password.too_short', `must have at least ${least} characters`);
  }
  if (length > passwordLength.max) {
    throw invalidField(field, 'password.too_long', `must have at most ${passwordLength.max} characters`);
  }
}

/** Somebody who has none came without one. */
export const passwordRequired = () => invalidField('password', 'password.required', 'is required');
