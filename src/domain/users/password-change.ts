import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { DomainError } from '../errors.js';
import { recordOfUser } from '../events/user-events.js';
import { lockForPassword, writePassword } from '../passwords/administrator-password.js';
import { contextOfUser } from '../passwords/context-rows.js';
import { type Passwords, passwordLength } from '../passwords/passwords.js';
import type { AdminSubject } from './admin-tokens.js';
import type { UserGuesses } from './guesses.js';

export interface PasswordChange {
  currentPassword: string;
  newPassword: string;
  locale: 'en' | 'de';
}

export interface PasswordChangeDeps {
  db: Db;
  passwords: Pick<Passwords, 'hash' | 'verify' | 'assertAcceptable'>;
  guesses: Pick<UserGuesses, 'passwordChange'>;
  now: Clock;
}

const readHash = {
  name: 'user_password_hash',
  text: 'select password_hash as "hash", password_changed_at as "changedAt" from users where id = $1',
};
const isAlive = `select from user_sessions where id = $1 and revoked_at is null and expires_at > $2`;

/**
 * Changes the password of the signed-in user, ends their other sessions and keeps the caller's. A user without a
 * password cannot prove one here, and sets one through a mailed link.
 * @throws DomainError password.wrong, rate_limit.exceeded, password.breached, password.context_specific,
 *   validation.failed, auth.invalid_credentials
 */
export function createPasswordChange({ db, passwords, guesses, now }: PasswordChangeDeps) {
  async function refuse(userId: string): Promise<never> {
    await db.transaction('system', (tx) =>
      recordOfUser(tx, 'auth.password_change_failed', { resourceId: userId, outcome: 'failure' }),
    );
    throw new DomainError('password.wrong');
  }

  return async ({ userId, sessionId }: AdminSubject, { currentPassword, newPassword, locale }: PasswordChange) => {
    await guesses.passwordChange.begin(userId);
    const { user, matches } = await guesses.passwordChange.look(userId, async () => {
      const [found] = await db.statement<{ hash: string | null; changedAt: Date | null }>(readHash, [userId]);
      return { user: found, matches: await passwords.verify(found?.hash ?? null, currentPassword) };
    });
    if (!matches) return refuse(userId);
    await guesses.passwordChange.succeeded(userId);
    const context = await db.transaction('system', (tx) => contextOfUser(tx, userId));
    await passwords.assertAcceptable(newPassword, { minLength: passwordLength.min, context, field: 'new_password' });
    const passwordHash = await passwords.hash(newPassword);
    await db.transaction('system', async (tx) => {
      const locked = await lockForPassword(tx, userId);
      const at = now();
      // The password may have been reset meanwhile, which ends this session.
      if ((await tx.query<unknown[]>(isAlive, [sessionId, at])).length === 0) {
        throw new DomainError('auth.invalid_credentials');
      }
      if (locked?.passwordChangedAt?.getTime() !== user?.changedAt?.getTime()) throw new DomainError('password.wrong');
      const action = 'auth.password_changed';
      await writePassword(tx, {
        userId,
        passwordHash,
        locale,
        keepSessionId: sessionId,
        provesEmail: false,
        action,
        now: at,
      });
    });
  };
}
