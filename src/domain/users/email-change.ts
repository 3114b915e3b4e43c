import { after, type Clock } from '../../platform/clock.js';
import { hashSecret, isSecret, newSecret } from '../../platform/crypto/one-time-secret.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import { violates } from '../../platform/database/postgres-errors.js';
import { assertSpeaksForAll } from '../admin-mfa/other-sign-in.js';
import { createProof } from '../admin-mfa/proof.js';
import { applyEmailChange } from '../email-changes/apply.js';
import { withdrawPending } from '../email-changes/end.js';
import { findEmailChange, type UsableEmailChange } from '../email-changes/link.js';
import { emailChangeLife, storeEmailChange } from '../email-changes/request.js';
import { DomainError } from '../errors.js';
import { isBrowserOf } from '../one-time/link-proof.js';
import { sentTwiceWithin } from '../one-time/sent-twice.js';
import { lockForPassword } from '../passwords/administrator-password.js';
import { createLinkTries } from '../passwords/link-tries.js';
import type { Passwords } from '../passwords/passwords.js';
import type { AdminSubject } from './admin-tokens.js';
import type { UserGuesses } from './guesses.js';

/** The link to a new address, with what proves that its user opens it. */
export interface PresentedEmailChangeLink {
  token: string;
  /** Value of the `admin_email_change` cookie. */
  browser: string | null;
  password: string | null;
}

export interface EmailChanges {
  /**
   * Mails a link to the new address, and tells the present one. The result and the time are the same for an address
   * with which somebody else signs in.
   * @returns the value of the cookie with which this browser confirms by one click, and its life in milliseconds
   * @throws DomainError auth.reauthentication_required, account.other_sign_in_required, email_change.unchanged,
   *   auth.invalid_credentials
   */
  request(
    subject: AdminSubject,
    wanted: { email: string; locale: 'en' | 'de' },
  ): Promise<{ browser: string; livesMs: number }>;
  /** The new address that waits to be confirmed; null if none does. */
  pending(userId: string): Promise<Pick<UsableEmailChange, 'email' | 'createdAt' | 'expiresAt'> | null>;
  /** Keeps the present address. It is no error if no other one waits. */
  withdraw(userId: string): Promise<void>;
  /** Changes nothing, so mail scanners may open the link. @throws DomainError email_change.link_invalid */
  preview(presented: Omit<PresentedEmailChangeLink, 'password'>): Promise<{
    email: string;
    locale: 'en' | 'de';
    asksPassword: boolean;
  }>;
  /**
   * Gives the user the new address. One click suffices in the browser that requested it; any other browser also needs
   * the user's password, so that nobody confirms what a stranger requested with their address (docs/decisions/0107).
   * @throws DomainError email_change.password_required, password.wrong, email_change.address_taken;
   *   email_change.link_invalid, also after ten wrong passwords
   */
  confirm(presented: PresentedEmailChangeLink): Promise<{ email: string }>;
  /**
   * Returns what the same proof has confirmed within the last minute, for a form that was sent twice; else null.
   * Changes nothing.
   */
  justConfirmed(presented: PresentedEmailChangeLink): Promise<{ email: string } | null>;
}

export interface EmailChangesDeps {
  db: Db;
  sealing: Pick<Sealing, 'derive'>;
  passwords: Pick<Passwords, 'verify'>;
  guesses: Pick<UserGuesses, 'signIn'>;
  now: Clock;
}

const confirmedText = `
select c.id, c.browser_hash as "browserHash", u.password_hash as "passwordHash", u.email::text
from email_changes c join users u on u.id = c.user_id
where c.token_hash = $1 and c.status = 'confirmed' and c.ended_at > $2`;

type Proved = Pick<UsableEmailChange, 'id' | 'browserHash' | 'passwordHash'>;

/** Changes the addresses with which platform admins sign in. */
export function createEmailChanges({ db, sealing, passwords, guesses, now }: EmailChangesDeps): EmailChanges {
  const proof = createProof({ db, now });
  const tryPassword = createLinkTries({ db, passwords, links: 'email_changes' });

  async function usable(token: string): Promise<UsableEmailChange> {
    const found = isSecret(token)
      ? await db.transaction('system', (tx) => findEmailChange(tx, ['token_hash', hashSecret(token)], now()))
      : null;
    if (!found) throw new DomainError('email_change.link_invalid');
    return found;
  }

  async function prove({ id, browserHash, passwordHash }: Proved, presented: Omit<PresentedEmailChangeLink, 'token'>) {
    const { browser, password } = presented;
    if (isBrowserOf(browserHash, browser)) return;
    if (!password) throw new DomainError('email_change.password_required');
    const tried = await tryPassword(id, { hash: passwordHash, typed: password });
    if (tried === 'over') throw new DomainError('email_change.link_invalid');
    if (tried === 'wrong') throw new DomainError('password.wrong');
  }

  /** For somebody who proves nothing, the link does not work. */
  const isProved = (change: Proved, presented: Omit<PresentedEmailChangeLink, 'token'>): Promise<boolean> =>
    prove(change, presented).then(
      () => true,
      (error: unknown) => {
        if (error instanceof DomainError && error.code !== 'service.unavailable') return false;
        throw error;
      },
    );

  return {
    async request(subject, wanted) {
      const browser = newSecret();
      await db.transaction('system', async (tx) => {
        await proof.lockRecent(tx, subject);
        await assertSpeaksForAll(tx, subject);
        await storeEmailChange(tx, sealing, {
          ...wanted,
          admin: subject,
          browserHash: hashSecret(browser),
          now: now(),
        });
      });
      return { browser, livesMs: emailChangeLife };
    },

    pending: (userId) => db.transaction('system', (tx) => findEmailChange(tx, ['user_id', userId], now())),

    withdraw: (userId) =>
      db.transaction('system', async (tx) => {
        await lockForPassword(tx, userId);
        await withdrawPending(tx, userId, { reason: 'withdrawn', now: now() });
      }),

    async preview({ token, browser }) {
      const { email, locale, browserHash } = await usable(token);
      return { email, locale, asksPassword: !isBrowserOf(browserHash, browser) };
    },

    async confirm({ token, ...presented }) {
      const change = await usable(token);
      await prove(change, presented);
      await db
        .transaction('system', (tx) => applyEmailChange(tx, change, now))
        .catch((error: unknown) => {
          throw violates(error, 'users_email') ? new DomainError('email_change.address_taken') : error;
        });
      // Strangers may have used up the limit of an address that was nobody's.
      await guesses.signIn.forget(change.email);
      return { email: change.email };
    },

    async justConfirmed({ token, ...presented }) {
      if (!isSecret(token)) return null;
      const since = after(now(), -sentTwiceWithin);
      const [done] = await db.transaction('system', (tx) =>
        tx.query<(Proved & { email: string })[]>(confirmedText, [hashSecret(token), since]),
      );
      return done && (await isProved(done, presented)) ? { email: done.email } : null;
    },
  };
}
