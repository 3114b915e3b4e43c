import { roleWindowMails } from '../domain/access/windows/mails.js';
import { accountIntentMails } from '../domain/account-intents/mails.js';
import { adminMfaMails } from '../domain/admin-mfa/mails.js';
import { administratorInviteMails } from '../domain/administrator-invites/mails.js';
import { emailChangeMails } from '../domain/email-changes/mails.js';
import type { EmailSubjects } from '../domain/emails/subjects.js';
import { identityInviteMails } from '../domain/identity-invites/mails.js';
import { loginMails } from '../domain/logins/mails.js';
import { mfaMails } from '../domain/mfa/mails.js';
import { registrationMails } from '../domain/registration/mails.js';
import { signUpMails } from '../domain/sign-ups/mails.js';
import { connectionMails } from '../domain/sso-connections/mails.js';
import { domainMails } from '../domain/sso-domains/mails.js';
import { passwordMails } from '../domain/users/password-mails.js';
import { webhookMails } from '../domain/webhooks/mails.js';
import { adminAppOf } from '../platform/admin-app.js';
import type { Clock } from '../platform/clock.js';
import type { Sealing } from '../platform/crypto/sealing.js';

export interface MailsDeps {
  sealing: Sealing;
  now: Clock;
  baseUrl: string;
  adminAppUrl: string;
}

/** Returns, for each kind of mail that can be waiting, how its text is composed. */
export const mailSubjects = ({ sealing, now, baseUrl, adminAppUrl }: MailsDeps): EmailSubjects => {
  const signInUrl = adminAppOf({ baseUrl, adminAppUrl });
  return {
    ...registrationMails({ sealing, now, baseUrl, signInUrl }),
    ...adminMfaMails({ signInUrl }),
    ...identityInviteMails({ sealing, now, baseUrl }),
    ...administratorInviteMails({ sealing, now, baseUrl }),
    ...accountIntentMails({ signInUrl }),
    ...loginMails({ sealing, now }),
    ...mfaMails({ now, baseUrl }),
    ...roleWindowMails({ now }),
    ...signUpMails({ sealing, now, baseUrl }),
    ...domainMails(),
    ...connectionMails(),
    ...passwordMails({ sealing, now, baseUrl, signInUrl }),
    ...emailChangeMails({ sealing, now, baseUrl, signInUrl }),
    ...webhookMails(),
  };
};
