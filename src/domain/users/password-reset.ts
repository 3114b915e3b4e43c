import type { EntityManager } from 'typeorm';
import { PasswordLink } from '../../../entities/password-link.js';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { DomainError } from '../errors.js';
import { lockForPassword, writePassword } from '../passwords/administrator-password.js';
import { contextOfUser } from '../passwords/context-rows.js';
import { hasJustSet } from '../passwords/just-set.js';
import { findPasswordLink, findUsedPasswordLink, type UsablePasswordLink } from '../passwords/links.js';
import { type Passwords, passwordLength } from '../passwords/passwords.js';
import type { UserGuesses } from './guesses.js';

export interface PasswordReset {
  /**
   * Returns whose password the link sets. Changes nothing, so mail scanners may open it.
   * @throws DomainError password.link_invalid
   */
  preview(token: string): Promise<Pick<UsablePasswordLink, 'email' | 'purpose' | 'locale'>>;
  /**
   * Sets the password, ends every session of the user, marks the address as verified and resets the count of wrong
   * guesses at the old password.
   * @throws DomainError password.link_invalid; with the link still valid: validation.failed, password.breached,
   *   password.context_specific
   */
  reset(request: { token: string; password: string }): Promise<void>;
  /** Whether the link has set this very password within the last minute: a form may be sent twice. Changes nothing. */
  hasJustSet(request: { token: string; password: string }): Promise<boolean>;
}

export interface PasswordResetDeps {
  db: Db;
  passwords: Pick<Passwords, 'hash' | 'verify' | 'assertAcceptable'>;
  guesses: UserGuesses;
  now: Clock;
}

/** Handles the mailed link that sets a password. */
export function createPasswordReset({ db, passwords, guesses, now }: PasswordResetDeps): PasswordReset {
  const find = async (tx: EntityManager, token: string) => {
    const link = await findPasswordLink(tx, token, now());
    if (!link) throw new DomainError('password.link_invalid');
    return link;
  };
  const preview = (token: string) => db.transaction('system', (tx) => find(tx, token));
  const look = (token: string) =>
    db.transaction('system', async (tx) => {
      const { userId } = await find(tx, token);
      return { userId, context: await contextOfUser(tx, userId) };
    });
  return {
    preview,
    async reset({ token, password }) {
      const { userId, context } = await look(token);
      await passwords.assertAcceptable(password, { minLength: passwordLength.min, context, field: 'password' });
      const passwordHash = await passwords.hash(password);
      const email = await db.transaction('system', async (tx) => {
        await lockForPassword(tx, userId);
        const { id, purpose, locale, email: address } = await find(tx, token); // again, under the lock: it works once
        const at = now();
        await tx.update(PasswordLink, { id }, { usedAt: at });
        const action = purpose === 'set' ? 'auth.password_set' : 'auth.password_reset';
        await writePassword(tx, { userId, passwordHash, locale, provesEmail: true, action, now: at });
        return address;
      });
      await guesses.signIn.forget(email);
      await guesses.passwordChange.forget(userId);
    },

    async hasJustSet({ token, password }) {
      const used = await db.transaction('system', (tx) => findUsedPasswordLink(tx, token));
      return used !== null && hasJustSet(passwords, used, { password, now: now() });
    },
  };
}
