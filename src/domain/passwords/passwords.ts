import { DomainError, invalidField } from '../errors.js';
import { type BreachOptions, createBreachCheck } from './breaches.js';
import { isOfContext } from './context.js';
import {
  createHashing,
  type Hashing,
  type HashingOptions,
  maxTypedLength,
  needsRehash,
  normalized,
} from './hashing.js';

/** The least and the greatest length that a setting may require of a password, in code points (contract §3). */
export const passwordLength = { min: 8, max: 128 } as const;

export interface PasswordRule {
  /** The Environment's `password_min_length`; the contract's bounds apply in any case. */
  minLength: number;
  /** Names and addresses that it must not consist of: those of the person, the Account and the Application. */
  context: readonly (string | null | undefined)[];
  /** The place of the password in the request, for the error's details. */
  field: string;
}

export interface Passwords extends Hashing {
  needsRehash(hash: string): boolean;
  /**
   * @throws DomainError `validation.failed` for its length, `password.context_specific` if it is little more than words
   *   of its context, `password.breached` if it is known
   */
  assertAcceptable(password: string, rule: PasswordRule): Promise<void>;
}

export interface PasswordsOptions extends BreachOptions {
  hashing?: HashingOptions;
}

/** How passwords are stored, compared and chosen. No password is ever logged, stored or sent. */
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

function assertLength(password: string, min: number, field: string) {
  const isTyped = password.length <= maxTypedLength; // anything longer is not even normalized
  const length = isTyped ? [...normalized(password)].length : Number.POSITIVE_INFINITY; // code points: an emoji is one character to the person who types it
  if (length < min) {
    throw invalidField(field, 'password.too_short', `must have at least ${min} characters`);
  }
  if (length > passwordLength.max) {
    throw invalidField(field, 'password.too_long', `must have at most ${passwordLength.max} characters`);
  }
}

/** Somebody without a password came in another way. */
export const passwordRequired = () => invalidField('password', 'password.required', 'is required');
