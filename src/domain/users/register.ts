import { type Passwords, passwordLength } from '../passwords/passwords.js';
import type { Registrations } from '../registration/registrations.js';

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

/** Takes a registration. Every path checks and hashes the password, so that the time says nothing about the address. */
export const createRegister =
  ({ passwords, registrations }: RegisterDeps) =>
  async ({ password, ...request }: RegistrationRequest): Promise<void> => {
    const { email, firstName, lastName, accountName, applicationName } = request;
    const context = [email, firstName, lastName, accountName, applicationName];
    await passwords.assertAcceptable(password, { minLength: passwordLength.min, context, field: 'password' });
    await registrations.park({ ...request, passwordHash: await passwords.hash(password) });
  };
