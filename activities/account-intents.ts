import type { AccountIntents } from '../src/domain/account-intents/account-intents.js';
import { settled } from './settled.js';

export type { ProvisionedIntent } from '../src/domain/account-intents/provision.js';
export type AccountIntentActivities = ReturnType<typeof createAccountIntentActivities>;

export const createAccountIntentActivities = ({ accountIntents }: { accountIntents: AccountIntents }) => ({
  announceIntent: (id: string) => settled(() => accountIntents.announce(id)),
  claimIntent: (id: string, claimId: string) => settled(() => accountIntents.claim(id, claimId)),
  provisionIntent: (id: string) => settled(() => accountIntents.provision(id)),
  failIntent: (id: string, reason: string) => settled(() => accountIntents.fail(id, reason)),
  expireIntent: (id: string) => settled(() => accountIntents.expire(id)),
  cancelIntent: (id: string) => settled(() => accountIntents.cancel(id, 'cancelled_by_operator')),
});
