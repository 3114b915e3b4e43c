import type { PendingRegistration } from '../../../entities/pending-registration.js';
import { after } from '../../platform/clock.js';
import type { ProcessInput } from '../../platform/process-kinds.js';
import type { QueuedEmail } from '../emails/queue.js';

export interface Durations {
  /** Milliseconds: the life of a registration's link, the time until its reminder, the life of an Account intent. */
  ttlMs: number;
  reminderAfterMs: number;
  intentTtlMs: number;
}

/** Returns the input of a registration's process. There is no reminder if it would come after the end. */
export function registrationInput(
  { id, createdAt, expiresAt }: Pick<PendingRegistration, 'id' | 'createdAt' | 'expiresAt'>,
  { reminderAfterMs }: Pick<Durations, 'reminderAfterMs'>,
): ProcessInput<'registrationVerification'> {
  const reminderAt = after(createdAt, reminderAfterMs);
  return {
    pendingRegistrationId: id,
    expiresAt: expiresAt.toISOString(),
    reminderAt: reminderAt < expiresAt ? reminderAt.toISOString() : null,
  };
}

type Addressed = Pick<PendingRegistration, 'id' | 'locale'>;

/** The cause of the mail that is planned with a registration. */
export const verificationCause = (id: string): string => `registration/${id}/verification`;

export const verificationEmail = ({ id, locale }: Addressed): QueuedEmail => ({
  template: 'registration-verification',
  locale,
  subjectId: id,
  cause: verificationCause(id),
});

export const registrationReminder = ({ id, locale }: Addressed): QueuedEmail => ({
  template: 'registration-reminder',
  locale,
  subjectId: id,
  cause: `registration/${id}/reminder`,
});
