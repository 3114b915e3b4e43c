import type { EntityManager } from 'typeorm';
import { v5 as uuidv5 } from 'uuid';
import { Email } from '../../../entities/email.js';
import { isAwaited } from '../../platform/mail/awaited.js';
import type { EmailTemplates } from '../../platform/mail/templates.js';
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
/** Returns the id of the mail for a cause. */
export const emailIdOf = (cause: string): string => uuidv5(cause, causes);

/** Stores the row of a mail that a process will ask to send. Safe to repeat. */
export async function planEmail(tx: EntityManager, email: QueuedEmail, now: Date): Promise<void> {
  await tx
    .createQueryBuilder()
    .insert()
    .into(Email)
    .values({
      id: emailIdOf(email.cause),
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

/** Has a mail sent after the commit, once per cause however often this is called. */
export async function queueEmail(tx: EntityManager, email: QueuedEmail, now: Date): Promise<void> {
  await planEmail(tx, email, now);
  const { accountId, environmentId, subjectId } = email;
  await startLater(tx, 'emailDelivery', {
    ...{ emailId: emailIdOf(email.cause), subjectId, accountId, environmentId },
    ...(isAwaited(email.template) && { isAwaited: true }),
  });
}
