import type { PendingRegistration, PendingRegistrationStatus } from '../../../entities/pending-registration.js';

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
