import { LessThanOrEqual } from 'typeorm';
import { PendingRegistration, type PendingRegistrationStatus } from '../../../entities/pending-registration.js';
import type { Clock } from '../../platform/clock.js';
import { hashSecret, newSecret } from '../../platform/crypto/one-time-secret.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import { violates } from '../../platform/database/postgres-errors.js';
import type { ProcessInput } from '../../platform/process-kinds.js';
import { cancelPlanned } from '../emails/cancel.js';
import { type QueuedEmail, queueEmail } from '../emails/queue.js';
import { DomainError } from '../errors.js';
import type { EventAction } from '../events/catalogue.js';
import { recordEvent } from '../events/record.js';
import { ended, registrationStatusAt } from './ended.js';
import { park, type RegistrationRequest } from './park.js';
import {
  type Durations,
  registrationInput,
  registrationReminder,
  verificationCause,
  verificationEmail,
} from './process.js';
import { type ProvisionedRegistration, provision } from './provision.js';
import { notifyDiscarded } from './rivals.js';

export interface RegistrationsDeps extends Durations {
  db: Db;
  sealing: Sealing;
  now: Clock;
}

/** The registration of a link. After its end, names and address are null; if confirmed, Account's and User's. */
export interface FoundRegistration
  extends Pick<
    PendingRegistration,
    | 'id'
    | 'email'
    | 'firstName'
    | 'lastName'
    | 'accountName'
    | 'applicationName'
    | 'locale'
    | 'expiresAt'
    | 'browserHash'
  > {
  /** Of the chosen password; once confirmed, of the User's present one. */
  passwordHash: string | null;
  /** The present status: `expired` after its end, even if no worker has noticed yet. */
  status: PendingRegistrationStatus;
  /** Whether the link still works: nobody has confirmed it, or the response to the confirmation was lost. */
  isOpen: boolean;
  /** When the person who confirmed was signed in; null if nobody was. */
  signedInAt: Date | null;
  /** The slug of the Account that was created. */
  accountSlug: string | null;
  /** The input to start the process with, if the relay has not done so yet. */
  process: ProcessInput<'registrationVerification'>;
}

/** What the browser that registered receives, whether or not the address is known. */
export interface ParkedRegistration {
  /** The value of the cookie with which this browser confirms by one click. */
  browser: string;
  /** The life of the cookie in milliseconds, equal to the link's. */
  livesMs: number;
}

/** What a confirmed registration has created. */
interface Made {
  email: string;
  passwordHash: string | null;
  accountName: string;
  accountSlug: string;
  /** When the person who confirmed was signed in: that session has the registration's id. */
  signedInAt: Date | null;
}
const madeText = `
select u.email::text, u.password_hash as "passwordHash", a.name as "accountName", a.slug as "accountSlug",
  (select s.authenticated_at from user_sessions s where s.id = $1) as "signedInAt"
from users u join accounts a on a.id = $3 where u.id = $2`;

export type Registrations = ReturnType<typeof createRegistrations>;

/** Registrations of platform admins, from the form to the Account (spec, "Pending registration"). */
export function createRegistrations({ db, sealing, now, ...durations }: RegistrationsDeps) {
  /** Ends a pending registration; returns how it has ended, or `pending`. Safe to repeat. */
  const end = (
    id: string,
    { status, reason, due }: { status: 'expired' | 'cancelled' | 'discarded'; reason: string; due: boolean },
  ): Promise<PendingRegistrationStatus> =>
    db.transaction('system', async (tx) => {
      const at = now();
      const open = { id, status: 'pending' as const, ...(due && { expiresAt: LessThanOrEqual(at) }) };
      const { affected } = await tx.update(PendingRegistration, open, ended(status, reason, at));
      const action: EventAction = `auth.registration_${status}`;
      if (affected) {
        await recordEvent(tx, action, { resourceId: id, metadata: { reason } });
        await cancelPlanned(tx, [verificationCause(id)], at);
      }
      const registration = await tx.findOneBy(PendingRegistration, { id });
      if (affected && registration && status === 'discarded') await notifyDiscarded(tx, registration);
      return statusOf(registration);
    });

  const queue = (id: string, mail: (registration: PendingRegistration) => QueuedEmail) =>
    db.transaction('system', async (tx): Promise<PendingRegistrationStatus> => {
      const registration = await tx.findOneBy(PendingRegistration, { id });
      if (registration?.status === 'pending') await queueEmail(tx, mail(registration), now());
      return statusOf(registration);
    });

  return {
    /** Stores a registration. The result and the time are the same for an address that has a User already. */
    async park(request: RegistrationRequest): Promise<ParkedRegistration> {
      const browser = newSecret();
      const parked = { ...request, browserHash: hashSecret(browser) };
      await db.transaction('system', (tx) => park(tx, parked, { sealing, now: now(), ...durations }));
      return { browser, livesMs: durations.ttlMs };
    },

    /** Returns the registration of the link with this token, or null. */
    async find(token: string): Promise<FoundRegistration | null> {
      return db.transaction('system', async (tx) => {
        const found = await tx.findOneBy(PendingRegistration, { tokenHash: hashSecret(token) });
        if (!found) return null;
        const { id, email, firstName, lastName, accountName, applicationName, locale, expiresAt, browserHash } = found;
        const [made = null] =
          found.status === 'confirmed' ? await tx.query<Made[]>(madeText, [id, found.userId, found.accountId]) : [];
        const names = { firstName, lastName, accountName: accountName ?? made?.accountName ?? null, applicationName };
        const proof = { browserHash, passwordHash: found.passwordHash ?? made?.passwordHash ?? null };
        const status = registrationStatusAt(found, now());
        const isUnanswered =
          made !== null &&
          made.signedInAt === null &&
          registrationStatusAt({ ...found, status: 'pending' }, now()) === 'pending';
        return {
          id,
          email: email ?? made?.email ?? null,
          ...names,
          locale,
          expiresAt,
          ...proof,
          status,
          isOpen: status === 'pending' || isUnanswered,
          signedInAt: made?.signedInAt ?? null,
          accountSlug: made?.accountSlug ?? null,
          process: registrationInput(found, durations),
        };
      });
    },

    /**
     * Creates User, Account and what belongs to it, in one transaction; a second run returns the same ids.
     * @throws DomainError `registration.link_invalid`
     */
    async provision(id: string): Promise<ProvisionedRegistration> {
      const run = () => db.transaction('system', (tx) => provision(tx, id, now()));
      const made = await run().catch((error) => {
        // Another transaction has just created a User with this address; a second run handles that.
        if (violates(error, 'users_email')) return run();
        throw error;
      });
      if (!made) throw new DomainError('registration.link_invalid');
      return made;
    },

    /** Ends a registration whose time is over and deletes its personal data. Returns `pending` before that. */
    expire: (id: string) => end(id, { status: 'expired', reason: 'not_confirmed_in_time', due: true }),

    /** Ends a pending one that the mailbox's owner declines, deletes its personal data, and returns how it ended. */
    decline: (id: string) => end(id, { status: 'discarded', reason: 'declined_by_mailbox', due: false }),

    /** Ends a pending one for an operator's reason, deletes its personal data, and returns how it ended. */
    cancel: (id: string, reason: string) => end(id, { status: 'cancelled', reason, due: false }),

    /** Sends the mail with the link, once; returns the registration's status. */
    queueVerificationEmail: (id: string) => queue(id, verificationEmail),

    /** Sends the reminder, once; returns the registration's status. */
    queueReminderEmail: (id: string) => queue(id, registrationReminder),
  };
}

/** A registration that was deleted meanwhile counts as discarded. */
const statusOf = (registration: PendingRegistration | null): PendingRegistrationStatus =>
  registration?.status ?? 'discarded';
