import type { EntityManager } from 'typeorm';
import type { EmailSubjects } from '../../src/domain/emails/subjects.js';
import type { EmailTemplates } from '../../src/platform/mail/templates.js';
import { mailSubjects } from '../../src/worker/mails.js';
import type { TestProvider } from './oauth/provider.js';

export interface WaitingMail {
  template: keyof EmailTemplates;
  locale: 'en' | 'de';
  to: string;
  values: Record<string, string | number>;
}

type Mailing = Pick<TestProvider, 'sealing' | 'now' | 'baseUrl' | 'db' | 'query'>;

/** Returns the mails of an Environment that would be sent now, oldest first, without those with nothing to say. */
export async function waitingMails(provider: Mailing, environmentId: string): Promise<WaitingMail[]> {
  const { sealing, now, baseUrl, db } = provider;
  const subjects = mailSubjects({ sealing, now, baseUrl, adminAppUrl: baseUrl });
  const rows = await provider.query<Pick<WaitingMail, 'template' | 'locale'> & { subject: string }>(
    'select template, locale, subject_id as subject from emails where environment_id = $1 order by created_at, ctid',
    [environmentId],
  );
  const mails: WaitingMail[] = [];
  for (const { template, locale, subject } of rows) {
    const content = await db.transaction('system', (tx) => say(subjects, template)(tx, subject, locale));
    if (content) mails.push({ template, locale, ...content });
  }
  return mails;
}

/** Returns what creates a mail's content: the subject of the template that a row names. */
const say = (subjects: EmailSubjects, template: WaitingMail['template']) =>
  subjects[template] as (
    tx: EntityManager,
    id: string,
    locale: 'en' | 'de',
  ) => Promise<Pick<WaitingMail, 'to' | 'values'> | null>;

/** Returns the path and query of the link in the newest mail. */
export async function lastLink(provider: TestProvider, environmentId: string, name = 'link'): Promise<string> {
  const mail = (await waitingMails(provider, environmentId)).at(-1);
  const url = new URL(String(mail?.values[name]));
  return `${url.pathname}${url.search}`;
}
