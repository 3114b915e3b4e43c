import type { Logger } from 'pino';
import { createActivities } from '../../activities/index.js';
import { composeShared } from '../compose-shared.js';
import type { Config } from '../config.js';
import { createRoleWindows } from '../domain/access/windows/windows.js';
import { createAdministratorInviteExpiry } from '../domain/administrator-invites/expiry.js';
import { createEmailChangeExpiry } from '../domain/email-changes/expiry.js';
import { createEmails } from '../domain/emails/emails.js';
import { createEnvironmentRemovals } from '../domain/environment-removals/removals.js';
import { createErasures } from '../domain/erasures/erasures.js';
import { createHousekeeping } from '../domain/housekeeping/housekeeping.js';
import { createIdentityInviteExpiry } from '../domain/identity-invites/expiry.js';
import { createLogoutTokens } from '../domain/oidc/tokens/logout-tokens.js';
import { openKinds } from '../domain/processes/open.js';
import { createReconciler } from '../domain/processes/reconciler.js';
import { createWebhookDeliveries } from '../domain/webhooks/deliveries.js';
import { systemClock } from '../platform/clock.js';
import type { Db } from '../platform/database/db.js';
import { faultOf } from '../platform/faults.js';
import type { Mailer } from '../platform/mail/mailer.js';
import type { Outbound } from '../platform/outbound/fetch.js';
import type { Processes } from '../temporal/processes.js';
import { mailSubjects } from './mails.js';
import { notAhead } from './not-ahead.js';

export interface WorkerParts {
  config: Config;
  db: Db;
  log: Logger;
  mailer: Mailer;
  outbound: Pick<Outbound, 'post'>;
  /** With these the reconciler restarts lost processes. */
  processes: Processes;
}

/** The services behind the activities. */
export function composeWorker({ config, db, log, mailer, outbound, processes }: WorkerParts) {
  const now = systemClock;
  const { adminAppUrl, baseUrl, registration, roleAssignmentNotices: notices } = config;
  const { sealing, keys, registrations, accountIntents, graces, domainChecks } = composeShared({ config, db, now });
  const subjects = mailSubjects({ sealing, now, baseUrl, adminAppUrl });
  return createActivities({
    accountIntents,
    domainChecks,
    registrations,
    invites: {
      administrator: createAdministratorInviteExpiry({ db, now }),
      identity: createIdentityInviteExpiry({ db, now }),
    },
    emailChanges: createEmailChangeExpiry({ db, now }),
    emails: createEmails({ db, mailer, subjects, now }),
    erasures: createErasures({ db, now }),
    housekeeping: createHousekeeping({
      db,
      now: () => notAhead(db, now),
      auditRetentionDays: config.auditRetentionDays,
    }),
    mfaGraces: graces,
    reconciler: createReconciler({ db, now, kinds: openKinds({ ...registration, now }), processes }),
    removals: createEnvironmentRemovals({ db, now }),
    roleWindows: createRoleWindows({ db, now, notices }),
    signingKeys: keys,
    webhookDeliveries: createWebhookDeliveries({
      db,
      sealing,
      outbound,
      signLogoutToken: createLogoutTokens({ keys, now }),
      now,
      schedule: config.webhookRetrySchedule,
      onFault: (error) => log.warn({ fault: faultOf(error) }, 'a delivery could not be sent'),
    }),
  });
}
