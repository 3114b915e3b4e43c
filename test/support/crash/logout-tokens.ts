import { decodeJwt } from 'jose';
import { createClientManagement } from '../../../src/domain/oidc/clients/management.js';
import { endSessions } from '../../../src/domain/sessions/end-sessions.js';
import { fanOutWebhooks } from '../../../src/domain/webhooks/fan-out.js';
import { webhookDeliveryId } from '../../../workflows/ids.js';
import { grantedSession } from '../granted-session.js';
import { aHolder, type TestHolder } from '../role-windows.js';
import { startReceiver } from '../webhooks.js';
import { outcomeOf } from './outcome.js';
import type { Begin, CrashWorld } from './world.js';

/** Registers a client that receives logout tokens, and gives it something in a session of the holder. */
async function usedClient({ database }: CrashWorld, { scope, identityId }: TestHolder, url: string) {
  const { client } = await createClientManagement({ db: database.db, now: () => new Date() }).create(scope, {
    name: 'Shop',
    clientType: 'public',
    redirectUris: [],
    postLogoutRedirectUris: [],
    tokenEndpointAuthMethod: 'none',
    requirePkce: true,
    rotateRefreshTokens: true,
    jwks: null,
    jwksUri: null,
    logoUrl: null,
    backchannelLogoutUri: url,
  });
  await grantedSession(database, scope, { identityId, oauthClientId: client.id });
  return client;
}

const path = '/logout?tenant=northwind';

const aLogoutToken: Begin = async (world) => {
  const { database, query } = world;
  let deliveryId: string | undefined;
  const receiver = await startReceiver(async (_, __, response) => {
    const answered = 'select from webhook_attempts where delivery_id = $1 and status_code is not null';
    const before = (await query(answered, deliveryId).catch(() => [])).length;
    response.writeHead(before === 0 ? 500 : 200).end();
  });
  const holder = await aHolder(database);
  const client = await usedClient(world, holder, receiver.url(path));
  const ending = { reason: 'ended_by_person', at: new Date() };
  await database.db.transaction(holder.scope, (tx) => endSessions(tx, holder.scope, holder.identityId, ending));
  while ((await fanOutWebhooks(database.db, 100)).events > 0);
  deliveryId = (await query('select id from webhook_deliveries where webhook_id = $1', client.id))[0]?.id as string;
  const workflowId = webhookDeliveryId(deliveryId);
  const row = { table: 'webhook_deliveries', id: deliveryId, columns: 'status, ended_reason' };
  return {
    workflowId,
    deaths: ['attemptWebhook'],
    async left() {
      const outcome = await outcomeOf(world, { workflowId, row });
      const tokens = receiver.at(path).map(({ body }) => decodeJwt(new URLSearchParams(body).get('logout_token')!));
      await receiver.stop();
      // At least once, each time as another token about the same session.
      const messages = new Set(tokens.map(({ aud, sub, sid }) => `${aud === client.clientId} ${sub} ${sid}`)).size;
      return { ...outcome, messages, isRepeated: new Set(tokens.map(({ jti }) => jti)).size < tokens.length };
    },
  };
};

export const logoutRuns = {
  'a logout token that its client accepts at the second attempt': aLogoutToken,
} satisfies Record<string, Begin>;
