import { createActivities } from '../../activities/index.js';
import { createRoleWindows } from '../../src/domain/access/windows/windows.js';
import { createEmailChangeExpiry } from '../../src/domain/email-changes/expiry.js';
import { createEnvironmentRemovals } from '../../src/domain/environment-removals/removals.js';
import { createErasures } from '../../src/domain/erasures/erasures.js';
import { createHousekeeping } from '../../src/domain/housekeeping/housekeeping.js';
import { createMfaGraces } from '../../src/domain/mfa/grace/grace.js';
import { createSigningKeys } from '../../src/domain/oidc/keys.js';
import { createLogoutTokens } from '../../src/domain/oidc/tokens/logout-tokens.js';
import { openKinds } from '../../src/domain/processes/open.js';
import { createReconciler } from '../../src/domain/processes/reconciler.js';
import { createDomainChecks } from '../../src/domain/sso-domains/checks.js';
import type { DomainSchedule } from '../../src/domain/sso-domains/schedule.js';
import { createWebhookDeliveries, type WebhookDeliveriesDeps } from '../../src/domain/webhooks/deliveries.js';
import { days, hours, seconds } from '../../src/platform/clock.js';
import { createDns, type DnsOptions } from '../../src/platform/dns.js';
import { loopback } from '../../src/platform/outbound/addresses.js';
import { createOutbound } from '../../src/platform/outbound/fetch.js';
import type { Processes } from '../../src/temporal/processes.js';
import type { TestDatabase } from './database.js';
import type { registrationServices } from './registration.js';

export interface Healing {
  reminderAfterMs?: number;
  /** The least age of rows that the reconciler examines. */
  settledMs?: number;
  /** How long before its end a role assignment is reported as expiring. */
  roleNotices?: readonly number[];
  /** Which name servers it asks about claimed domains, and when; by default none. */
  domains?: DomainSchedule & Pick<DnsOptions, 'servers'>;
  /** Waits between attempts to reach a webhook's receiver. */
  webhookRetries?: readonly number[];
  /** What the deliveries of webhooks have instead of the worker's. */
  webhooks?: Partial<WebhookDeliveriesDeps>;
}

const nobody = {
  servers: [{ address: '127.0.0.1', port: 1 }],
  pauses: [hours(1)],
  recheckMs: hours(24),
  lapseAfterMs: hours(72),
};

/** Returns all activities of a worker on a test's database; the keys are not rotated. */
export function workerActivities(
  { db }: TestDatabase,
  services: ReturnType<typeof registrationServices>,
  processes: Processes,
  {
    reminderAfterMs = hours(20),
    settledMs,
    roleNotices = [days(7), days(1)],
    domains = nobody,
    webhookRetries: schedule = [seconds(5)],
    webhooks,
  }: Healing = {},
) {
  const { now, sealing } = services;
  const outbound = createOutbound({ allowedNetworks: loopback });
  const keys = createSigningKeys({ db, sealing, issuer: 'http://localhost', now });
  return createActivities({
    ...services,
    domainChecks: createDomainChecks({ db, now, dns: createDns(domains), schedule: domains }),
    emailChanges: createEmailChangeExpiry({ db, now }),
    erasures: createErasures({ db, now }),
    housekeeping: createHousekeeping({ db, now, auditRetentionDays: 365 }),
    mfaGraces: createMfaGraces({ db, now, reminders: [days(3), days(1)] }),
    reconciler: createReconciler({
      db,
      now,
      kinds: openKinds({ reminderAfterMs, now }),
      processes,
      ...(settledMs !== undefined && { settledMs }),
    }),
    removals: createEnvironmentRemovals({ db, now }),
    roleWindows: createRoleWindows({ db, now, notices: roleNotices }),
    signingKeys: { rotate: async () => ({ created: null }) },
    webhookDeliveries: createWebhookDeliveries({
      db,
      sealing,
      outbound,
      signLogoutToken: createLogoutTokens({ keys, now }),
      now,
      schedule,
      onFault: () => {},
      ...webhooks,
    }),
  });
}
