import type { EntityManager } from 'typeorm';
import { Event } from '../../../entities/event.js';
import { User } from '../../../entities/user.js';
import type { UserMfaFactor } from '../../../entities/user-mfa-factor.js';
import { type TextKey, text } from '../../platform/mail/texts.js';
import { formatDateTime } from '../emails/format-date-time.js';
import { queueEmail } from '../emails/queue.js';
import type { EmailSubjects } from '../emails/subjects.js';
import { factorInMails } from '../mfa/factor-in-mails.js';

export interface AdminNotice {
  userId: string;
  /** The event that the mail is about; its text depends on it. */
  eventId: string;
  locale: 'en' | 'de';
  now: Date;
}

/** Mails a platform admin, after the commit, what happened to their second factors or to an Account of theirs. */
export async function noticeAdmin(tx: EntityManager, { userId, eventId, locale, now }: AdminNotice): Promise<void> {
  const cause = `admin-security-notice/${eventId}/${userId}`;
  await queueEmail(
    tx,
    { template: 'admin-security-notice', locale, subjectId: eventId, recipientId: userId, cause },
    now,
  );
}

/** The contents of these mails. */
export const adminMfaMails = ({ signInUrl }: { signInUrl: string | null }) =>
  ({
    'admin-security-notice': async (tx, id, locale, recipientId) => {
      const event = await tx.findOneBy(Event, { id });
      const user = recipientId && (await tx.findOneBy(User, { id: recipientId }));
      if (!event || !user) return null;
      const what = event.action.replace(/^(auth\.admin_|member\.|account\.)/, '');
      const { factor } = event.metadata as { factor?: UserMfaFactor['type'] };
      return {
        to: user.email,
        values: {
          first_name: user.firstName,
          what: text(locale, `email.security_notice.what_${what}` as TextKey, {
            factor: factorInMails(locale, factor ?? 'recovery_code'),
            account_name: event.resourceLabel ?? '',
          }),
          happened_at_text: formatDateTime(event.createdAt, locale),
          link: signInUrl,
        },
      };
    },
  }) satisfies Partial<EmailSubjects>;
