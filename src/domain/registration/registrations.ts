import { LessThanOrEqual } from 'typeorm';
import { PendingRegistration, type PendingRegistrationStatus } from '../../../entities/pending-registration.js';
import type { Clock } from '../../platform/clock.js';
import { hashSecret } from '../../platform/crypto/one-time-secret.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/db.js';
import { violates } from '../../platform/postgres-errors.js';
import type { ProcessInput } from '../../platform/process-kinds.js';
import { type QueuedEmail, queueEmail } from '../emails/queue.js';
import { DomainError } from '../errors.js';
import type { EventAction } from '../event-catalogue.js';
import { recordEvent } from '../events.js';
import { ended } from './ended.js';
import { park, type RegistrationRequest } from './park.js';
import { type Durations, processInput, reminderEmail, verificationEmail } from './process.js';
import { type ProvisionedRegistration, provision } from './provision.js';

export interface RegistrationsDeps extends Durations {
  db: Db;
  sealing: Sealing;
  now: Clock;
}

/** What a link stands for. Names and address are null once it has ended. */
export interface FoundRegistration
  extends Pick<
    PendingRegistration,
    'id' | 'email' | 'firstName' | 'lastName' | 'accountName' | 'applicationName' | 'locale' | 'expiresAt'
  > {
  /** As it is now: an expired one says so, whether or not a worker has noticed. */
  status: PendingRegistrationStatus;
  /** What its process is started with where the relay has not done so yet. */
  process: ProcessInput<'registrationVerification'>;
}

export type Registrations = ReturnType<typeof createRegistrations>;

/** Registrations of platform admins, from the form to the Account (spec, "Pending registration"). */
export function createRegistrations({ db, sealing, now, ...durations }: RegistrationsDeps) {
  /** Ends one that waits, and answers how it has ended or `pending`. Repeating it is harmless. */
  const end = (
    id: string,
    { status, reason, due }: { status: 'expired' | 'cancelled'; reason: string; due: boolean },
  ): Promise<PendingRegistrationStatus> =>
    db.transaction('system', async (tx) => {
      const at = now();
      const open = { id, status: 'pending' as const, ...(due && { expiresAt: LessThanOrEqual(at) }) };
      const { affected } = await tx.update(PendingRegistration, open, ended(status, reason, at));
      const action: EventAction = `auth.registration_${status}`;
      if (affected) await recordEvent(tx, action, { resourceId: id, metadata: { reason } });
      return statusOf(await tx.findOneBy(PendingRegistration, { id }));
    });

  const queue = (id: string, mail: (registration: PendingRegistration) => QueuedEmail) =>
    db.transaction('system', async (tx): Promise<PendingRegistrationStatus> => {
      const registration = await tx.findOneBy(PendingRegistration, { id });
      if (registration?.status === 'pending') await queueEmail(tx, mail(registration), now());
      return statusOf(registration);
    });

  return {
    /** Takes a registration in. It answers the same, in the same time, for an address that has a User already. */
    park: (request: RegistrationRequest): Promise<void> =>
      db.transaction('system', (tx) => park(tx, request, { sealing, now: now(), ...durations })),

    /** What the link with this token stands for, or null. */
    async find(token: string): Promise<FoundRegistration | null> {
      const found = await db.transaction('system', (tx) =>
        tx.findOneBy(PendingRegistration, { tokenHash: hashSecret(token) }),
      );
      if (!found) return null;
      const { id, email, firstName, lastName, accountName, applicationName, locale, expiresAt } = found;
      const status = found.status === 'pending' && expiresAt <= now() ? 'expired' : found.status;
      const process = processInput(found, durations);
      return { id, email, firstName, lastName, accountName, applicationName, locale, expiresAt, status, process };
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

    /** Ends one that waits, for an operator's reason, and deletes its personal data. Answers how it has ended. */
    cancel: (id: string, reason: string) => end(id, { status: 'cancelled', reason, due: false }),

    /** Sends the mail with the link, once; answers whether it still waits or how it has ended. */
    queueVerificationEmail: (id: string) => queue(id, verificationEmail),

    /** Sends the reminder, once; answers whether it still waits or how it has ended. */
    queueReminderEmail: (id: string) => queue(id, reminderEmail),
  };
}

/** One that was deleted meanwhile is over as well. */
const statusOf = (registration: PendingRegistration | null): PendingRegistrationStatus =>
  registration?.status ?? 'discarded';
