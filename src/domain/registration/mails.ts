import type { EntityManager } from 'typeorm';
import { AccountIntent } from '../../../entities/account-intent.js';
import { PendingRegistration } from '../../../entities/pending-registration.js';
import { User } from '../../../entities/user.js';
import { type Clock, hours, minutes } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import { formatDateTime } from '../emails/format-date-time.js';
import { greetingOf } from '../emails/greeting.js';
import type { EmailSubjects } from '../emails/subjects.js';
import { registrationStatusAt } from './ended.js';
import { registrationLink, registrationToken } from './link.js';

export interface RegistrationMailsDeps {
  sealing: Sealing;
  now: Clock;
  baseUrl: string;
  /** The page where administrators sign in; null if none is known. */
  signInUrl: string | null;
}

/** The contents of the mails about registrations; null once the registration, or the Account intent, has ended. */
export function registrationMails({ sealing, now, baseUrl, signInUrl }: RegistrationMailsDeps) {
  const open = async (tx: EntityManager, id: string) => {
    const found = await tx.findOneBy(PendingRegistration, { id });
    if (!found || registrationStatusAt(found, now()) !== 'pending') return null;
    const { accountName, expiresAt } = found;
    const email = found.email!;
    const link = registrationLink(baseUrl, registrationToken(sealing, found).token);
    // The person who typed the name need not be the owner of the mailbox, so the mail does not use it.
    const greeted = greetingOf({ firstName: null, email });
    return { to: email, expiresAt, values: { first_name: greeted, account_name: accountName!, link } };
  };
  return {
    'registration-verification': async (tx, id, locale) => {
      const found = await open(tx, id);
      return (
        found && { to: found.to, values: { ...found.values, expires_at_text: formatDateTime(found.expiresAt, locale) } }
      );
    },
    'registration-reminder': async (tx, id) => {
      const found = await open(tx, id);
      // The whole hours that remain; ten minutes are added, since the reminder itself comes a little late.
      const left = found && (found.expiresAt.getTime() - now().getTime() + minutes(10)) / hours(1);
      return found && { to: found.to, values: { ...found.values, hours_left: Math.max(1, Math.floor(left!)) } };
    },
    'registration-known-address': async (tx, id) => {
      const intent = await tx.findOneBy(AccountIntent, { id, status: 'parked' });
      if (!intent || intent.expiresAt <= now()) return null;
      const user = await tx.findOneByOrFail(User, { id: intent.userId });
      return {
        to: user.email,
        values: { first_name: user.firstName, account_name: intent.accountName, link: signInUrl },
      };
    },
  } satisfies Partial<EmailSubjects>;
}
