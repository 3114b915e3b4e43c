import { type Passwords, passwordLength } from '../passwords/passwords.js';
import type { ParkedRegistration, Registrations } from '../registration/registrations.js';

export interface RegistrationRequest {
  email: string;
  password: string;
  firstName: string;
  lastName: string;
  accountName: string;
  applicationName: string;
  locale: 'en' | 'de';
}

export interface RegisterDeps {
  passwords: Pick<Passwords, 'hash' | 'assertAcceptable'>;
  registrations: Pick<Registrations, 'park'>;
}

/**
 * Accepts a registration. Every path checks and hashes the password, so that the duration reveals nothing about the
 * address, and gives the browser a cookie to confirm with (docs/decisions/0011).
 * @throws DomainError validation.failed, password.breached, password.context_specific
 */
export const createRegister =
  ({ passwords, registrations }: RegisterDeps) =>
  async ({ password, ...request }: RegistrationRequest): Promise<ParkedRegistration> => {
    const { email, firstName, lastName, accountName, applicationName } = request;
    const context = [email, firstName, lastName, accountName, applicationName];
    await passwords.assertAcceptable(password, { minLength: passwordLength.min, context, field: 'password' });
    return registrations.park({ ...request, passwordHash: await passwords.hash(password) });
  };
