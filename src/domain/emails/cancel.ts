import { Any, type EntityManager, type FindOptionsWhere, IsNull } from 'typeorm';
import { Email } from '../../../entities/email.js';
import { afterCommit } from '../../platform/database/scoped-runner.js';
import { mails } from '../../platform/metrics/metrics.js';
import { emailIdOf } from './queue.js';

/** Why a mail is cancelled whose subject has ended. */
export const nothingToSend = 'nothing to send any more';

/** Cancels pending mails, and counts them when the transaction is committed. */
export async function cancelPending(
  tx: EntityManager,
  which: FindOptionsWhere<Email>,
  failure: string,
  now: Date,
): Promise<void> {
  const cancelled = { status: 'cancelled', failure, endedAt: now } as const;
  const { affected } = await tx.update(Email, { ...which, status: 'pending' }, cancelled);
  if (affected) afterCommit(tx, () => mails.inc({ status: 'cancelled' }, affected));
}

/**
 * Cancels planned mails in the transaction that ends what they are about: their process would no longer ask for them, and
 * they would count as waiting until a process is missed. One that may have been handed to the mail server is ended by its
 * delivery.
 */
export async function cancelPlanned(tx: EntityManager, causes: readonly string[], now: Date): Promise<void> {
  if (causes.length === 0) return;
  await cancelPending(tx, { id: Any(causes.map(emailIdOf)), attemptedAt: IsNull() }, nothingToSend, now);
}
