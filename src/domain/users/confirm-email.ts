import type { ProcessInput } from '../../platform/processes.js';
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
  registrations: Pick<Registrations, 'find'>;
  /** The waiting process does the work, and answers what it made. */
  processes: {
    confirmRegistration(
      input: ProcessInput<'registrationVerification'>,
    ): Promise<{ userId: string; applicationId: string }>;
  };
  signIn: Pick<SignIn, 'signInConfirmed'>;
}

/** The link in the mail to somebody who registered (spec, "Pending registration"). */
export function createConfirmEmail({ registrations, processes, signIn }: ConfirmEmailDeps): ConfirmEmail {
  async function pending(token: string) {
    // A token of ours is 256 bits in base64url; anything else need not be looked for.
    const found = /^[\w-]{43}$/.test(token) ? await registrations.find(token) : null;
    if (found?.status !== 'pending') throw new DomainError('registration.link_invalid');
    return found;
  }
  return {
    async preview(token) {
      const { accountName, email, locale } = await pending(token);
      return { accountName: accountName ?? '', email: email ?? '', locale };
    },
    async confirm(token, browser) {
      const { process } = await pending(token);
      return signIn.signInConfirmed({ ...(await processes.confirmRegistration(process)), ...browser });
    },
  };
}
