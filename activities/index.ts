import { createAccessActivities } from './access.js';
import { createAccountIntentActivities } from './account-intents.js';
import { createEmailChangeActivities } from './email-changes.js';
import { createEmailActivities } from './emails.js';
import { createErasureActivities } from './erasures.js';
import { createHousekeepingActivities } from './housekeeping.js';
import { createInviteActivities } from './invites.js';
import { createMfaActivities } from './mfa.js';
import { createReconcilerActivities } from './reconciler.js';
import { createRegistrationActivities } from './registration.js';
import { createRemovalActivities } from './removals.js';
import { createSigningKeyActivities } from './signing-keys.js';
import { createSsoDomainActivities } from './sso-domains.js';
import { createWebhookActivities } from './webhooks.js';

type Needs = Parameters<typeof createEmailActivities>[0] &
  Parameters<typeof createAccessActivities>[0] &
  Parameters<typeof createAccountIntentActivities>[0] &
  Parameters<typeof createEmailChangeActivities>[0] &
  Parameters<typeof createInviteActivities>[0] &
  Parameters<typeof createErasureActivities>[0] &
  Parameters<typeof createHousekeepingActivities>[0] &
  Parameters<typeof createMfaActivities>[0] &
  Parameters<typeof createReconcilerActivities>[0] &
  Parameters<typeof createRegistrationActivities>[0] &
  Parameters<typeof createRemovalActivities>[0] &
  Parameters<typeof createSigningKeyActivities>[0] &
  Parameters<typeof createSsoDomainActivities>[0] &
  Parameters<typeof createWebhookActivities>[0];

const registrations = (services: Needs) => ({
  ...createAccountIntentActivities(services),
  ...createEmailChangeActivities(services),
  ...createRegistrationActivities(services),
});
const removals = (services: Needs) => ({ ...createErasureActivities(services), ...createRemovalActivities(services) });

/** The activities by task queue. Each queue has a worker of its own, so that a slow mail server delays no sign-up. */
export const createActivities = (services: Needs) => ({
  processes: {
    ...createAccessActivities(services),
    ...createInviteActivities(services),
    ...createHousekeepingActivities(services),
    ...createMfaActivities(services),
    ...createReconcilerActivities(services),
    ...createSigningKeyActivities(services),
    ...registrations(services),
    ...removals(services), // for removals that began here, before they had a queue of their own
  },
  registrations: registrations(services),
  removals: removals(services),
  email: createEmailActivities(services),
  'awaited-email': createEmailActivities(services),
  dns: createSsoDomainActivities(services),
  webhooks: createWebhookActivities(services),
});
