import type { PendingRegistration, PendingRegistrationStatus } from '../../../entities/pending-registration.js';
import { maxLinkTries } from '../one-time/link-proof.js';

/** Returns the columns of a registration that has ended, without personal data; a confirmed one's is with the User. */
export const ended = (status: Exclude<PendingRegistrationStatus, 'pending'>, reason: string | null, now: Date) =>
  ({
    status,
    endedReason: reason,
    endedAt: now,
    email: null,
    passwordHash: null,
    firstName: null,
    lastName: null,
    accountName: null,
    applicationName: null,
  }) satisfies Partial<PendingRegistration>;

/** The status at a time: `expired` after its end or too many wrong passwords, even if no worker has noticed yet. */
export const registrationStatusAt = (
  { status, expiresAt, attempts }: Pick<PendingRegistration, 'status' | 'expiresAt' | 'attempts'>,
  now: Date,
): PendingRegistrationStatus =>
  status === 'pending' && (expiresAt <= now || attempts >= maxLinkTries) ? 'expired' : status;
