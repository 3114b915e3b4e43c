import { AccountIntent } from '../../../entities/account-intent.js';
import { User } from '../../../entities/user.js';
import { text } from '../../platform/mail/texts.js';
import type { EmailSubjects } from '../emails/subjects.js';

/** The contents of mails about parked intents, except the notice in `registration/mails.ts`. */
export const accountIntentMails = ({ signInUrl }: { signInUrl: string | null }) =>
  ({
    'account-creation-failed': async (tx, id, locale) => {
      const intent = await tx.findOneBy(AccountIntent, { id, status: 'failed' });
      if (!intent) return null; // support has retried it before the mail was sent
      const user = await tx.findOneByOrFail(User, { id: intent.userId });
      const why = intent.endedReason === 'account.slug_taken' ? 'slug_taken' : 'other';
      return {
        to: user.email,
        values: {
          first_name: user.firstName,
          account_name: intent.accountName,
          reason: text(locale, `email.account_creation_failed.reason_${why}`),
          link: signInUrl,
        },
      };
    },
  }) satisfies Partial<EmailSubjects>;
