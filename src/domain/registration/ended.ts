import type { PendingRegistration, PendingRegistrationStatus } from '../../../entities/pending-registration.js';
import { mostLinkTries } from '../link-proof.js';

/** The columns of a registration that has ended. Nobody's personal data stays: a confirmed one's is the User's now. */
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

/** As it is at a time: `expired` once its time is over or its password was guessed at too often, whether or not a worker has noticed. */
export const registrationStatusAt = (
  { status, expiresAt, attempts }: Pick<PendingRegistration, 'status' | 'expiresAt' | 'attempts'>,
  now: Date,
): PendingRegistrationStatus =>
  status === 'pending' && (expiresAt <= now || attempts >= mostLinkTries) ? 'expired' : status;
