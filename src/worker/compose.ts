import { createActivities } from '../../activities/index.js';
import type { Config } from '../config.js';
import { createAccountIntents } from '../domain/account-intents/account-intents.js';
import { accountIntentMails } from '../domain/account-intents/mails.js';
import { createEmails } from '../domain/emails/emails.js';
import { createAdministratorInviteExpiry } from '../domain/invites/expiry.js';
import { inviteMails } from '../domain/invites/mails.js';
import { createSigningKeys } from '../domain/oidc/keys.js';
import { registrationMails } from '../domain/registration/mails.js';
import { createRegistrations } from '../domain/registration/registrations.js';
import { passwordMails } from '../domain/users/password-mails.js';
import { systemClock } from '../platform/clock.js';
import { createSealing } from '../platform/crypto/sealing.js';
import type { Db } from '../platform/db.js';
import type { Mailer } from '../platform/mail/mailer.js';

/** The services behind the activities. */
export function composeWorker({ config, db, mailer }: { config: Config; db: Db; mailer: Mailer }) {
  const now = systemClock;
  const { adminAppUrl, baseUrl, intentTtlMs, registration } = config;
  const sealing = createSealing(config.masterKeys);
  const subjects = {
    ...registrationMails({ sealing, now, baseUrl, adminAppUrl }),
    ...inviteMails({ sealing, now, baseUrl }),
    ...accountIntentMails({ adminAppUrl }),
    ...passwordMails({ sealing, now, baseUrl, adminAppUrl }),
  };
  return createActivities({
    accountIntents: createAccountIntents({ db, sealing, now, intentTtlMs }),
    registrations: createRegistrations({ db, sealing, now, intentTtlMs, ...registration }),
    invites: { administrator: createAdministratorInviteExpiry({ db, now }) },
    emails: createEmails({ db, mailer, subjects, now }),
    signingKeys: createSigningKeys({ db, sealing, issuer: baseUrl, now }),
  });
}
