import { createLogoutTokens } from '../../../src/domain/oidc/tokens/logout-tokens.js';
import { createWebhookDeliveries } from '../../../src/domain/webhooks/deliveries.js';
import { fanOutWebhooks } from '../../../src/domain/webhooks/fan-out.js';
import { minutes } from '../../../src/platform/clock.js';
import { loopback } from '../../../src/platform/outbound/addresses.js';
import type { Outbound } from '../../../src/platform/outbound/fetch.js';
import { createGuard } from '../../../src/platform/outbound/guard.js';
import { post } from '../../../src/platform/outbound/post.js';
import type { TestProvider } from './provider.js';

/** Takes the receiver for a public one, whose answers would be kept if they were those of a webhook. */
const guard = createGuard({ allowedNetworks: loopback, resolveName: async () => [], isPublic: () => true });
const asPublic: Pick<Outbound, 'post'> = { post: (url, message) => post(guard, url, message) };

type World = Pick<TestProvider, 'db' | 'sealing' | 'keys' | 'now' | 'faults' | 'query'>;

export interface LogoutDelivery {
  id: string;
  webhook_id: string;
  account_id: string;
  status: string;
  ended_reason: string | null;
}

/** What the workers do for clients that receive logout tokens. */
export function createLogoutDelivery(world: World) {
  const deliveries = (schedule: readonly number[] = [minutes(1)], outbound = asPublic) =>
    createWebhookDeliveries({
      db: world.db,
      sealing: world.sealing,
      outbound,
      signLogoutToken: createLogoutTokens({ keys: world.keys, now: world.now }),
      now: world.now,
      schedule,
      onFault: (error) => world.faults.push(error),
    });
  const rows = (accountId: string) =>
    world.query<LogoutDelivery>(
      'select id, webhook_id, account_id, status, ended_reason from webhook_deliveries where account_id = $1 order by created_at, id',
      [accountId],
    );
  async function fanOut(): Promise<void> {
    while ((await fanOutWebhooks(world.db, 100)).events > 0);
  }
  return {
    deliveries,
    rows,
    fanOut,
    /** Derives the deliveries of an Account, and attempts each once that has not ended. */
    async deliver(accountId: string, by = deliveries()): Promise<LogoutDelivery[]> {
      await fanOut();
      for (const { id, webhook_id, account_id, status } of await rows(accountId))
        if (status === 'pending') await by.attempt(id, webhook_id, account_id);
      return rows(accountId);
    },
  };
}
