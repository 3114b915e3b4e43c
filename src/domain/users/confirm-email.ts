import type { Clock } from '../../platform/clock.js';
import { isSecret } from '../../platform/crypto/one-time-secret.js';
import type { Db } from '../../platform/database/db.js';
import { violates } from '../../platform/database/postgres-errors.js';
import type { ProcessInput } from '../../platform/process-kinds.js';
import { DomainError } from '../errors.js';
import { isBrowserOf } from '../one-time/link-proof.js';
import { wasJustDone } from '../one-time/sent-twice.js';
import { createLinkTries } from '../passwords/link-tries.js';
import type { Passwords } from '../passwords/passwords.js';
import { pollUntil } from '../poll-until.js';
import type { FoundRegistration, Registrations } from '../registration/registrations.js';
import type { Browser, SignedIn } from './outcomes.js';
import type { SignIn } from './sign-in.js';

/** The link of a registration, with the cookie of the browser that opens it. */
export interface PresentedRegistrationLink {
  token: string;
  /** Value of the `admin_registration` cookie. */
  browser: string | null;
}

export interface ConfirmEmail {
  /**
   * Returns what the link would create. Changes nothing, so mail scanners may open it.
   * @throws DomainError registration.link_invalid
   */
  preview(presented: PresentedRegistrationLink): Promise<{
    accountName: string;
    email: string;
    locale: FoundRegistration['locale'];
    asksPassword: boolean;
    canDecline: boolean;
  }>;
  /**
   * Creates the registered Account and signs its owner in. One click suffices in the browser that registered; any other
   * browser also needs the password that was chosen then, since it becomes the person's (docs/decisions/0011).
   * @throws DomainError registration.password_required, password.wrong; registration.link_invalid, also after ten wrong
   *   passwords; service.unavailable, with the link still valid
   */
  confirm(presented: PresentedRegistrationLink & { password: string | null }, browser: Browser): Promise<SignedIn>;
  /**
   * Returns what the same proof has confirmed within the last minute, for a form that was sent twice. Changes nothing.
   * Returns null if anything else is wrong with the link.
   * @throws DomainError registration.password_required, password.wrong, service.unavailable
   */
  justConfirmed(
    presented: PresentedRegistrationLink & { password: string | null },
  ): Promise<{ accountName: string; accountSlug: string } | null>;
  /** Discards a registration that the mailbox's owner did not ask for. @throws DomainError registration.link_invalid */
  decline(token: string): Promise<void>;
}

export interface ConfirmEmailDeps {
  db: Pick<Db, 'statement'>;
  registrations: Pick<Registrations, 'find' | 'provision' | 'decline'>;
  passwords: Pick<Passwords, 'verify'>;
  /** The waiting process does the work and returns what it created. */
  processes: {
    confirmRegistration(
      input: ProcessInput<'registrationVerification'>,
    ): Promise<{ userId: string; applicationId: string }>;
  };
  signIn: Pick<SignIn, 'signInConfirmed'>;
  now: Clock;
}

/** Handles the link in the mail to somebody who registered (spec, "Pending registration"). */
export function createConfirmEmail({
  db,
  registrations,
  passwords,
  processes,
  signIn,
  now,
}: ConfirmEmailDeps): ConfirmEmail {
  const tryPassword = createLinkTries({ db, passwords, links: 'pending_registrations' });
  const find = async (token: string) => (isSecret(token) ? await registrations.find(token) : null);

  /**
   * Returns a registration that is pending, or that is confirmed but has not signed anybody in yet, while its link is
   * valid: its process may finish after its caller was told to try again (no worker, a slow database).
   */
  async function confirmable(token: string): Promise<FoundRegistration> {
    const found = await find(token);
    if (!found?.isOpen) throw linkInvalid();
    return found;
  }

  /**
   * Requires both password and mailbox: somebody who registers with another person's address knows only the password,
   * and that person has only the mail.
   */
  async function prove({ id, browserHash, passwordHash }: FoundRegistration, { browser, password }: Proof) {
    if (isBrowserOf(browserHash, browser)) return;
    if (!password) throw new DomainError('registration.password_required');
    const tried = await tryPassword(id, { hash: passwordHash, typed: password });
    if (tried === 'over') throw linkInvalid();
    if (tried === 'wrong') throw new DomainError('password.wrong');
  }

  /** Returns what the process of a registration created; the same if the registration is already confirmed. */
  async function confirmed(token: string, found: FoundRegistration) {
    if (found.status === 'pending') {
      try {
        return await processes.confirmRegistration(found.process);
      } catch (error) {
        if (!isLinkInvalid(error)) throw error;
        // The process refuses a second confirmation while it works on the first one.
        const isDecided = (seen: FoundRegistration | null) => seen?.status !== 'pending';
        const since = await pollUntil(() => find(token), isDecided, { seconds: 5 });
        if (since?.status === 'pending') throw new DomainError('service.unavailable', { retryAfter: 5, cause: error });
        if (since?.status !== 'confirmed') throw error;
      }
    }
    return registrations.provision(found.id);
  }

  return {
    async preview({ token, browser }) {
      const { accountName, email, locale, status, browserHash } = await confirmable(token);
      return {
        accountName: accountName ?? '',
        email: email ?? '',
        locale,
        asksPassword: !isBrowserOf(browserHash, browser),
        canDecline: status === 'pending',
      };
    },
    async confirm({ token, ...proof }, browser) {
      const found = await confirmable(token);
      await prove(found, proof);
      const { userId, applicationId } = await confirmed(token, found);
      return signIn
        .signInConfirmed({ userId, applicationId, sessionId: found.id, ...browser })
        .catch((error: unknown) => {
          throw isAlreadyStarted(error) ? linkInvalid() : error;
        });
    },
    async justConfirmed({ token, ...proof }) {
      const found = await find(token);
      if (!found || !wasJustDone(found.signedInAt, now())) return null;
      await prove(found, proof);
      return { accountName: found.accountName ?? '', accountSlug: found.accountSlug ?? '' };
    },
    async decline(token) {
      const found = await find(token);
      if (found?.status !== 'pending') throw linkInvalid();
      if ((await registrations.decline(found.id)) !== 'discarded') throw linkInvalid();
    },
  };
}

interface Proof {
  browser: string | null;
  password: string | null;
}

const linkInvalid = () => new DomainError('registration.link_invalid');
export const isLinkInvalid = (error: unknown): boolean =>
  error instanceof DomainError && error.code === 'registration.link_invalid';
/** A link starts one session only: that session has the registration's id. */
const isAlreadyStarted = (error: unknown) => violates(error, 'user_sessions_pkey');
