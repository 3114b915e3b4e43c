import { DomainError, invalidField } from '../errors.js';
import { type BreachOptions, createBreachCheck } from './breaches.js';
import { createHashing, type Hashing, type HashingOptions, needsRehash, normalized } from './hashing.js';

/** The least and the most that any setting may ask of a password, in code points (contract §3). */
export const passwordLength = { min: 8, max: 128 } as const;

export interface PasswordRule {
  /** The Environment's `password_min_length`; the bounds of the contract hold whatever it says. */
  minLength: number;
  /** Where the password was in the request, for the error's details. */
  field: string;
}

export interface Passwords extends Hashing {
  needsRehash(hash: string): boolean;
  /** @throws DomainError `validation.failed` by the length, `password.breached` when the password is known. */
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
    async assertAcceptable(password, { minLength, field }) {
      assertLength(password, Math.min(Math.max(minLength, passwordLength.min), passwordLength.max), field);
      if (await isBreached(normalized(password))) throw new DomainError('password.breached');
    },
  };
}

function assertLength(password: string, least: number, field: string) {
  const length = [...normalized(password)].length; // code points: an emoji is one character to the person who types it
  if (length < least) {
    throw invalidField(field, 'password.too_short', `must have at least ${least} characters`);
  }
  if (length > passwordLength.max) {
    throw invalidField(field, 'password.too_long', `must have at most ${passwordLength.max} characters`);
  }
}
