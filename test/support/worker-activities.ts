import { createActivities } from '../../activities/index.js';
import { createRoleWindows } from '../../src/domain/access/windows.js';
import { createErasures } from '../../src/domain/erasures/erasures.js';
import { createHousekeeping } from '../../src/domain/housekeeping/housekeeping.js';
import { createMfaGraces } from '../../src/domain/mfa/grace.js';
import { openKinds } from '../../src/domain/processes/open.js';
import { createReconciler } from '../../src/domain/processes/reconciler.js';
import { createWebhookDeliveries } from '../../src/domain/webhooks/deliveries.js';
import { days, hours, seconds } from '../../src/platform/clock.js';
import { loopback } from '../../src/platform/outbound/addresses.js';
import { createOutbound } from '../../src/platform/outbound/fetch.js';
import type { Processes } from '../../src/platform/processes.js';
import type { TestDatabase } from './database.js';
import type { registrationServices } from './registration.js';

export interface Healing {
  reminderAfterMs?: number;
  /** The least age of rows that the reconciler looks at. */
  settledMs?: number;
  /** How long before its end a role assignment is expiring. */
  roleNotices?: readonly number[];
  /** Waits between attempts at a webhook's receiver. */
  webhookRetries?: readonly number[];
}

/** All activities of a worker on a test's database; the keys are left alone. */
export function workerActivities(
  { db }: TestDatabase,
  services: ReturnType<typeof registrationServices>,
  processes: Processes,
  {
    reminderAfterMs = hours(20),
    settledMs,
    roleNotices = [days(7), days(1)],
    webhookRetries: schedule = [seconds(5)],
  }: Healing = {},
) {
  const { now, sealing } = services;
  const outbound = createOutbound({ allowedNetworks: loopback });
  return createActivities({
    ...services,
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
    roleWindows: createRoleWindows({ db, now, notices: roleNotices }),
    signingKeys: { rotate: async () => ({ created: null }) },
    webhookDeliveries: createWebhookDeliveries({ db, sealing, outbound, now, schedule }),
  });
}
