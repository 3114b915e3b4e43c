import type { EntityManager } from 'typeorm';
import { Email, type EmailStatus } from '../../../entities/email.js';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { afterCommit } from '../../platform/database/scoped-runner.js';
import type { Mailer } from '../../platform/mail/mailer.js';
import { MailRejected } from '../../platform/mail/rejected.js';
import type { EmailTemplates } from '../../platform/mail/templates.js';
import { mailDelay, mails } from '../../platform/metrics/metrics.js';
import { recordOfProcess } from '../events/process-events.js';
import { recordEvent } from '../events/record.js';
import { brandOf, environmentDeleted } from './brand.js';
import { nothingToSend } from './cancel.js';
import type { EmailSubjects } from './subjects.js';

export interface EmailsDeps {
  db: Db;
  mailer: Pick<Mailer, 'send'>;
  subjects: EmailSubjects;
  now: Clock;
}
type EndedStatus = Exclude<EmailStatus, 'pending'>;

/** Thrown for a mail that a newer version queued during a rolling update, to retry until a newer worker takes it. */
class OfNewerVersion extends Error {
  override name = 'OfNewerVersion';
}

export type Emails = ReturnType<typeof createEmails>;

/** Delivers the mails that `queueEmail` stored. */
export function createEmails({ db, mailer, subjects, now }: EmailsDeps) {
  const end = (id: string, status: EndedStatus, failure: string | null = null, byOperator = false) =>
    db.transaction('system', async (tx): Promise<EndedStatus> => {
      const { affected } = await tx.update(Email, { id, status: 'pending' }, { status, failure, endedAt: now() });
      if (!affected) return statusOf(tx, id);
      afterCommit(tx, () => mails.inc({ status }));
      if (status === 'failed') {
        const event = await about(tx, id, { reason: failure });
        await recordEvent(tx, 'email.failed', { ...event, outcome: 'failure' });
      }
      if (byOperator) await recordCancelled(tx, id);
      return status;
    });

  /** Returns how a mail has ended. A missing row, as after a restore to an earlier moment, counts as cancelled. */
  const statusOf = async (tx: EntityManager, id: string): Promise<EndedStatus> =>
    ((await tx.findOneBy(Email, { id }))?.status ?? 'cancelled') as EndedStatus;

  /** Records a mail that the server accepted as sent, even if it was cancelled or given up during the attempt. */
  const noteSent = async (id: string): Promise<EndedStatus> => {
    const status = await end(id, 'sent');
    if (status === 'sent') return status;
    return db.transaction('system', async (tx) => {
      const sent = { status: 'sent', failure: null, endedAt: now() } as const;
      const { affected } = await tx.update(Email, { id, status }, sent);
      if (affected) await recordEvent(tx, 'email.sent_after_all', await about(tx, id, { ended_as: status }));
      return statusOf(tx, id);
    });
  };

  return {
    /**
     * Sends one mail, unless it has ended already. A permanent refusal ends it as `failed`; any other failure of the
     * mail server is thrown, and the mail is tried again.
     *
     * If the process crashes between the server's acceptance and our commit, the next try sends the mail again. SMTP
     * offers no way around that; the Message-ID stays the same, so that the receiving side can drop the copy. A mail
     * that was cancelled or given up during the attempt, and was accepted all the same, is `sent`, with an event. A
     * mail of an Environment that has ended is `cancelled`: its processes queue mails until they notice
     * (docs/decisions/0042).
     */
    async send(id: string): Promise<EndedStatus> {
      const found = await db.transaction('system', async (tx) => {
        const row = await tx.findOneBy(Email, { id });
        if (!row) return null;
        const template = row.template as keyof EmailTemplates;
        const { subjectId, locale, recipientId } = row;
        const isPending = row.status === 'pending';
        // Before the subject, which is read as part of the Environment.
        const brand = isPending && row.environmentId ? await brandOf(tx, row.environmentId) : undefined;
        if (brand === null) return { email: { ...row, template }, content: null, brand };
        if (isPending && !Object.hasOwn(subjects, template)) throw new OfNewerVersion(template);
        const content = isPending ? await subjects[template](tx, subjectId, locale, recipientId) : null;
        // Before sending: while PostgreSQL accepts no writes, each try would otherwise send the mail and not record it.
        if (content) await tx.update(Email, { id }, { attemptedAt: now() });
        return { email: { ...row, template }, content, brand };
      });
      if (!found) return 'cancelled';
      const { email, content, brand } = found;
      if (email.status !== 'pending') return email.status;
      if (brand === null) return end(id, 'cancelled', environmentDeleted);
      if (!content) return end(id, 'cancelled', nothingToSend);
      try {
        await mailer.send(email.template, { ...content, brand, locale: email.locale, messageId: `email/${id}` });
      } catch (error) {
        if (error instanceof MailRejected) return end(id, 'failed', refusal(error));
        throw error;
      }
      mailDelay.observe((now().getTime() - email.createdAt.getTime()) / 1000);
      return noteSent(id);
    },

    /**
     * Ends a mail that could not be sent in time; returns how it has ended.
     * @param outage names and codes of the last failure (`faultOf`), if there was one
     */
    giveUp: (id: string, outage: string | null = null) => end(id, 'failed', tooLate(outage)),

    /** Ends a mail that an operator does not want sent; returns how it has ended. */
    cancel: (id: string) => end(id, 'cancelled', 'cancelled by an operator', true),
  };
}

/** Returns an event's details about a mail. */
async function about(tx: EntityManager, id: string, more: Record<string, unknown>) {
  const { accountId, environmentId, template, subjectId } = await tx.findOneByOrFail(Email, { id });
  return { accountId, environmentId, resourceId: id, metadata: { template, subject_id: subjectId, ...more } };
}

/** Records an operator's cancel, as the Portal does: a mail that has nothing to say any more is nobody's decision. */
async function recordCancelled(tx: EntityManager, id: string): Promise<void> {
  const { accountId, environmentId, subjectId } = await tx.findOneByOrFail(Email, { id });
  const process = { id, kind: 'email', accountId, environmentId, subjectId };
  await recordOfProcess(tx, 'process.cancelled', process, { reason: 'cancelled_by_operator' });
}

/** Names the code of the mail server's last reply (RFC 5321 §4.2.1): a full mailbox is no server that is away. */
function tooLate(outage: string | null): string {
  const [reply] = /\b[45]\d\d\b/.exec(outage ?? '') ?? [];
  return reply ? `the mail server did not accept it in time: ${reply}` : 'the mail server could not be reached in time';
}

/** Returns the reply's code only, since its text often quotes the address. */
function refusal({ response }: MailRejected): string {
  const code = /^\d{3}(?:[ -]\d\.\d{1,3}\.\d{1,3})?/.exec(response ?? '')?.[0];
  return code ? `the mail server refused it: ${code}` : 'its address is not one';
}
