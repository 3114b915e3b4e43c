import type { Clock } from '../../platform/clock.js';
import { violates } from '../../platform/postgres-errors.js';
import type { ProcessInput } from '../../platform/process-kinds.js';
import { DomainError } from '../errors.js';
import type { FoundRegistration, Registrations } from '../registration/registrations.js';
import type { Browser, SignedIn, SignIn } from './sign-in.js';

export interface ConfirmEmail {
  /** What the link would create. Looking changes nothing, so mail scanners may. @throws DomainError registration.link_invalid */
  preview(token: string): Promise<{ accountName: string; email: string; locale: FoundRegistration['locale'] }>;
  /**
   * Creates what was registered for, and signs its owner in.
   * @throws DomainError registration.link_invalid, or service.unavailable with the link still good
   */
  confirm(token: string, browser: Browser): Promise<SignedIn>;
}

export interface ConfirmEmailDeps {
  registrations: Pick<Registrations, 'find' | 'provision'>;
  /** The waiting process does the work, and answers what it made. */
  processes: {
    confirmRegistration(
      input: ProcessInput<'registrationVerification'>,
    ): Promise<{ userId: string; applicationId: string }>;
  };
  signIn: Pick<SignIn, 'signInConfirmed'>;
  now: Clock;
}

/** The link in the mail to somebody who registered (spec, "Pending registration"). */
export function createConfirmEmail({ registrations, processes, signIn, now }: ConfirmEmailDeps): ConfirmEmail {
  // A token of ours is 256 bits in base64url; anything else need not be looked for.
  const find = async (token: string) => (/^[\w-]{43}$/.test(token) ? await registrations.find(token) : null);

  /**
   * What the process of a registration made. It may finish after its caller was told to try again (no worker, a slow
   * database), so that a link whose registration is confirmed already answers the same, as long as it lives.
   */
  async function confirmed(token: string): Promise<{ id: string; userId: string; applicationId: string }> {
    const found = await find(token);
    if (found?.status === 'pending') {
      try {
        return { id: found.id, ...(await processes.confirmRegistration(found.process)) };
      } catch (error) {
        if (!isLinkInvalid(error)) throw error;
        const since = await find(token);
        // The process refuses a second confirmation while the first one is at work.
        if (since?.status === 'pending') throw new DomainError('service.unavailable', { retryAfter: 5, cause: error });
        if (since?.status !== 'confirmed') throw error;
      }
    } else if (found?.status !== 'confirmed' || found.expiresAt <= now()) {
      throw linkInvalid();
    }
    return { id: found.id, ...(await registrations.provision(found.id)) };
  }

  return {
    async preview(token) {
      const found = await find(token);
      if (found?.status !== 'pending') throw linkInvalid();
      return { accountName: found.accountName ?? '', email: found.email ?? '', locale: found.locale };
    },
    async confirm(token, browser) {
      const { id, userId, applicationId } = await confirmed(token);
      return signIn.signInConfirmed({ userId, applicationId, sessionId: id, ...browser }).catch((error: unknown) => {
        throw isAlreadyStarted(error) ? linkInvalid() : error;
      });
    },
  };
}

const linkInvalid = () => new DomainError('registration.link_invalid');
const isLinkInvalid = (error: unknown) => error instanceof DomainError && error.code === 'registration.link_invalid';
/** One link gives one session: that session has the registration's id. */
const isAlreadyStarted = (error: unknown) => violates(error, 'user_sessions_pkey');
