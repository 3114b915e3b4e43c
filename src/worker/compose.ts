import { createActivities } from '../../activities/index.js';
import type { Config } from '../config.js';
import { createAccountIntents } from '../domain/account-intents/account-intents.js';
import { accountIntentMails } from '../domain/account-intents/mails.js';
import { createEmails } from '../domain/emails/emails.js';
import { createErasures } from '../domain/erasures/erasures.js';
import { createHousekeeping } from '../domain/housekeeping/housekeeping.js';
import { createAdministratorInviteExpiry } from '../domain/invites/expiry.js';
import { inviteMails } from '../domain/invites/mails.js';
import { createMfaGraces } from '../domain/mfa/grace.js';
import { mfaMails } from '../domain/mfa/mails.js';
import { createSigningKeys } from '../domain/oidc/keys.js';
import { openKinds } from '../domain/processes/open.js';
import { createReconciler } from '../domain/processes/reconciler.js';
import { registrationMails } from '../domain/registration/mails.js';
import { createRegistrations } from '../domain/registration/registrations.js';
import { passwordMails } from '../domain/users/password-mails.js';
import { systemClock } from '../platform/clock.js';
import { createSealing } from '../platform/crypto/sealing.js';
import type { Db } from '../platform/db.js';
import type { Mailer } from '../platform/mail/mailer.js';
import type { Processes } from '../platform/processes.js';

export interface WorkerParts {
  config: Config;
  db: Db;
  mailer: Mailer;
  /** With which the reconciler heals. */
  processes: Processes;
}

/** The services behind the activities. */
export function composeWorker({ config, db, mailer, processes }: WorkerParts) {
  const now = systemClock;
  const { adminAppUrl, baseUrl, intentTtlMs, registration } = config;
  const sealing = createSealing(config.masterKeys);
  const subjects = {
    ...registrationMails({ sealing, now, baseUrl, adminAppUrl }),
    ...inviteMails({ sealing, now, baseUrl }),
    ...accountIntentMails({ adminAppUrl }),
    ...mfaMails({ now, baseUrl }),
    ...passwordMails({ sealing, now, baseUrl, adminAppUrl }),
  };
  return createActivities({
    accountIntents: createAccountIntents({ db, sealing, now, intentTtlMs }),
    registrations: createRegistrations({ db, sealing, now, intentTtlMs, ...registration }),
    invites: { administrator: createAdministratorInviteExpiry({ db, now }) },
    emails: createEmails({ db, mailer, subjects, now }),
    erasures: createErasures({ db, now }),
    housekeeping: createHousekeeping({ db, now }),
    mfaGraces: createMfaGraces({ db, now, reminders: config.mfaGraceReminders }),
    reconciler: createReconciler({ db, now, kinds: openKinds({ ...registration, now }), processes }),
    signingKeys: createSigningKeys({ db, sealing, issuer: baseUrl, now }),
  });
}
