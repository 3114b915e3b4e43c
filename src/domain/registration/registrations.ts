import { LessThanOrEqual } from 'typeorm';
import { PendingRegistration, type PendingRegistrationStatus } from '../../../entities/pending-registration.js';
import type { Clock } from '../../platform/clock.js';
import { hashSecret, newSecret } from '../../platform/crypto/one-time-secret.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import { violates } from '../../platform/database/postgres-errors.js';
import type { ProcessInput } from '../../platform/process-kinds.js';
import { type QueuedEmail, queueEmail } from '../emails/queue.js';
import { DomainError } from '../errors.js';
import type { EventAction } from '../events/catalogue.js';
import { recordEvent } from '../events/record.js';
import { mostLinkTries } from '../link-proof.js';
import { ended, registrationStatusAt } from './ended.js';
import { park, type RegistrationRequest } from './park.js';
import { type Durations, registrationInput, registrationReminder, verificationEmail } from './process.js';
import { type ProvisionedRegistration, provision } from './provision.js';
import { tellDiscarded } from './rivals.js';

export interface RegistrationsDeps extends Durations {
  db: Db;
  sealing: Sealing;
  now: Clock;
}

/** What a link stands for. Once it has ended, names and address are null; of one that is confirmed they are the Account's and the User's. */
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
  /** What was chosen; of one that is confirmed the User's own by now. */
  passwordHash: string | null;
  /** As it is now: an expired one says so, whether or not a worker has noticed. */
  status: PendingRegistrationStatus;
  /** Whether the link still works: nothing has come of it yet, or the answer to whoever confirmed was lost on its way. */
  isOpen: boolean;
  /** When whoever confirmed was signed in; null where nobody was. */
  signedInAt: Date | null;
  /** Of the Account that came of it. */
  accountSlug: string | null;
  /** What its process is started with where the relay has not done so yet. */
  process: ProcessInput<'registrationVerification'>;
}

/** What the browser that registered gets, whatever came of it. */
export interface ParkedRegistration {
  /** The value of the cookie with which it confirms by one click. */
  browser: string;
  /** Milliseconds that the cookie lives, as the link does. */
  livesMs: number;
}

// Counted before it is looked at, so that parallel tries are as many as they are.
const countTry = {
  name: 'try_registration',
  text: `update pending_registrations set attempts = attempts + 1 where id = $1 and attempts < ${mostLinkTries} returning id`,
};
const giveTryBack = {
  name: 'give_back_try_of_registration',
  text: 'update pending_registrations set attempts = attempts - 1 where id = $1 and attempts > 0',
};

/** What came of one that is confirmed. */
interface Made {
  email: string;
  passwordHash: string | null;
  accountName: string;
  accountSlug: string;
  /** When whoever confirmed was signed in: that session has the registration's id. */
  signedInAt: Date | null;
}
const madeText = `
select u.email::text, u.password_hash as "passwordHash", a.name as "accountName", a.slug as "accountSlug",
  (select s.authenticated_at from user_sessions s where s.id = $1) as "signedInAt"
from users u join accounts a on a.id = $3 where u.id = $2`;

export type Registrations = ReturnType<typeof createRegistrations>;

/** Registrations of platform admins, from the form to the Account (spec, "Pending registration"). */
export function createRegistrations({ db, sealing, now, ...durations }: RegistrationsDeps) {
  /** Ends one that waits, and answers how it has ended or `pending`. Repeating it is harmless. */
  const end = (
    id: string,
    { status, reason, due }: { status: 'expired' | 'cancelled' | 'discarded'; reason: string; due: boolean },
  ): Promise<PendingRegistrationStatus> =>
    db.transaction('system', async (tx) => {
      const at = now();
      const open = { id, status: 'pending' as const, ...(due && { expiresAt: LessThanOrEqual(at) }) };
      const { affected } = await tx.update(PendingRegistration, open, ended(status, reason, at));
      const action: EventAction = `auth.registration_${status}`;
      if (affected) await recordEvent(tx, action, { resourceId: id, metadata: { reason } });
      const registration = await tx.findOneBy(PendingRegistration, { id });
      if (affected && registration && status === 'discarded') await tellDiscarded(tx, registration);
      return statusOf(registration);
    });

  const queue = (id: string, mail: (registration: PendingRegistration) => QueuedEmail) =>
    db.transaction('system', async (tx): Promise<PendingRegistrationStatus> => {
      const registration = await tx.findOneBy(PendingRegistration, { id });
      if (registration?.status === 'pending') await queueEmail(tx, mail(registration), now());
      return statusOf(registration);
    });

  return {
    /** Takes a registration in. It answers the same, in the same time, for an address that has a User already. */
    async park(request: RegistrationRequest): Promise<ParkedRegistration> {
      const browser = newSecret();
      const parked = { ...request, browserHash: hashSecret(browser) };
      await db.transaction('system', (tx) => park(tx, parked, { sealing, now: now(), ...durations }));
      return { browser, livesMs: durations.ttlMs };
    },

    /** What the link with this token stands for, or null. */
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

    /** Counts a try of its password; false where there were too many. A right one is given back. */
    countTry: async (id: string): Promise<boolean> => (await db.statement(countTry, [id])).length > 0,

    /** Counts a try no more: it was right, or could not be looked at. */
    async giveTryBack(id: string): Promise<void> {
      await db.statement(giveTryBack, [id]);
    },

    /**
     * Creates User, Account and what belongs to it, in one transaction; a second run answers the same ids.
     * @throws DomainError `registration.link_invalid`
     */
    async provision(id: string): Promise<ProvisionedRegistration> {
      const run = () => db.transaction('system', (tx) => provision(tx, id, now()));
      const made = await run().catch((error) => {
        // Somebody else made a User of the address at this moment; looking again tells the rest.
        if (violates(error, 'users_email')) return run();
        throw error;
      });
      if (!made) throw new DomainError('registration.link_invalid');
      return made;
    },

    /** Ends one whose time is over and deletes its personal data. Answers `pending` when its time is not over. */
    expire: (id: string) => end(id, { status: 'expired', reason: 'not_confirmed_in_time', due: true }),

    /** Ends one that waits, as whoever reads the mail did not register, and deletes its personal data. Answers how it has ended. */
    decline: (id: string) => end(id, { status: 'discarded', reason: 'declined_by_mailbox', due: false }),

    /** Ends one that waits, for an operator's reason, and deletes its personal data. Answers how it has ended. */
    cancel: (id: string, reason: string) => end(id, { status: 'cancelled', reason, due: false }),

    /** Sends the mail with the link, once; answers whether it still waits or how it has ended. */
    queueVerificationEmail: (id: string) => queue(id, verificationEmail),

    /** Sends the reminder, once; answers whether it still waits or how it has ended. */
    queueReminderEmail: (id: string) => queue(id, registrationReminder),
  };
}

/** One that was deleted meanwhile is over as well. */
const statusOf = (registration: PendingRegistration | null): PendingRegistrationStatus =>
  registration?.status ?? 'discarded';
