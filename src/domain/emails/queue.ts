import { Any, type EntityManager, IsNull } from 'typeorm';
import { v5 as uuidv5 } from 'uuid';
import { Email } from '../../../entities/email.js';
import { afterCommit } from '../../platform/database/scoped-runner.js';
import { isAwaited } from '../../platform/mail/awaited.js';
import type { EmailTemplates } from '../../platform/mail/templates.js';
import { mails } from '../../platform/metrics/metrics.js';
import { startLater } from '../outbox.js';

export interface QueuedEmail {
  template: keyof EmailTemplates;
  locale: 'en' | 'de';
  /** The id of what it is about; address and values are looked up by it when the mail is sent. */
  subjectId: string;
  /** The recipient, if the subject concerns several people. */
  recipientId?: string;
  /** One mail for one cause, such as `registration/{id}/verification`. */
  cause: string;
  accountId?: string;
  environmentId?: string;
}

// The id is derived from the cause, so that planning a mail twice needs no look-up. Any fixed UUID would do.
const causes = '5b0f5a2e-6c0c-4f0e-9d54-2f8a3b1c7e60';
const idOf = (cause: string) => uuidv5(cause, causes);

/** Stores the row of a mail that a process will ask to send. Safe to repeat. */
export async function planEmail(tx: EntityManager, email: QueuedEmail, now: Date): Promise<void> {
  await tx
    .createQueryBuilder()
    .insert()
    .into(Email)
    .values({
      id: idOf(email.cause),
      accountId: email.accountId ?? null,
      environmentId: email.environmentId ?? null,
      template: email.template,
      locale: email.locale,
      subjectId: email.subjectId,
      recipientId: email.recipientId ?? null,
      cause: email.cause,
      status: 'pending',
      failure: null,
      createdAt: now,
      endedAt: null,
    })
    .orIgnore()
    .updateEntity(false)
    .execute();
}

/**
 * Cancels planned mails in the transaction that ends what they are about: their process would no longer ask for them, and
 * they would count as waiting until a process is missed. One that may have been handed to the mail server is ended by its
 * delivery.
 */
export async function cancelPlanned(tx: EntityManager, causes: readonly string[], now: Date): Promise<void> {
  const { affected } = await tx.update(
    Email,
    { id: Any(causes.map(idOf)), status: 'pending', attemptedAt: IsNull() },
    { status: 'cancelled', failure: nothingToSend, endedAt: now },
  );
  countCancelled(tx, affected);
}

/** Counts mails that a transaction has cancelled, when it is committed. */
export function countCancelled(tx: EntityManager, count: number | null = 0): void {
  if (count) afterCommit(tx, () => mails.inc({ status: 'cancelled' }, count));
}

/** Why a mail is cancelled whose subject has ended. */
export const nothingToSend = 'nothing to send any more';

/** Has a mail sent after the commit, once per cause however often this is called. */
export async function queueEmail(tx: EntityManager, email: QueuedEmail, now: Date): Promise<void> {
  await planEmail(tx, email, now);
  const { accountId, environmentId, subjectId } = email;
  await startLater(tx, 'emailDelivery', {
    ...{ emailId: idOf(email.cause), subjectId, accountId, environmentId },
    ...(isAwaited(email.template) && { isAwaited: true }),
  });
}
