import type { EntityManager } from 'typeorm';
import type { EmailTemplates } from '../../platform/mail/templates.js';

export interface EmailContent<N extends keyof EmailTemplates> {
  to: string;
  values: EmailTemplates[N];
}

/**
 * Content and recipient of each mail, looked up at the moment of sending, so that neither the queue nor Temporal holds
 * an address or a link. Null: there is nothing to send, because the mail's subject has ended.
 */
export type EmailSubjects = {
  [N in keyof EmailTemplates]: (
    tx: EntityManager,
    subjectId: string,
    locale: 'en' | 'de',
    recipientId: string | null,
  ) => Promise<EmailContent<N> | null>;
};
