import type { EntityManager } from 'typeorm';
import type { EmailTemplates } from '../../platform/mail/templates.js';

export interface EmailContent<N extends keyof EmailTemplates> {
  to: string;
  values: EmailTemplates[N];
}

/**
 * What each mail says and to whom, looked up at the moment of sending, so that neither the queue nor Temporal holds an
 * address or a link. Null: there is nothing to send any more, because what the mail was about has ended.
 */
export type EmailSubjects = {
  [N in keyof EmailTemplates]: (
    tx: EntityManager,
    subjectId: string,
    locale: 'en' | 'de',
    recipientId: string | null,
  ) => Promise<EmailContent<N> | null>;
};
