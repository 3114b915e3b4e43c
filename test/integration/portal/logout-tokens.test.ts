import { randomUUID } from 'node:crypto';
import { fanOutWebhooks } from '../../../src/domain/webhooks/fan-out.js';
import { outcomeOf } from '../../support/answers.js';
import { newAccount, type TestAccount, type TestApi } from '../../support/api.js';
import { startApiBesideTemporal } from '../../support/api-beside-temporal.js';
import { type Call, callsOf } from '../../support/calls.js';
import { grantedSession } from '../../support/granted-session.js';
import { rowsOf } from '../../support/rows.js';

/** What administrators see of logout tokens, and do with them. */

let api: TestApi;
let account: TestAccount;
let call: Call;
let environment: string;
beforeAll(async () => {
  api = await startApiBesideTemporal();
});
beforeEach(async () => {
  account = await newAccount(api);
  call = callsOf(api, account.accountSlug, await account.as('owner'));
  environment = `/applications/${account.applicationSlug}/environments/development`;
});
afterAll(() => api.stop());

const fields = {
  name: 'Web',
  client_type: 'public',
  redirect_uris: [],
  backchannel_logout_uri: 'https://app.example/logout',
};

/** A person who has signed in to a client that receives logout tokens, and whose sessions an administrator has ended. */
async function signedOut() {
  const client = (await call('POST', `${environment}/oauth-clients`, fields)).json().data;
  const person = { email: `${randomUUID()}@example.com` };
  const { id } = (await call('POST', `${environment}/identities`, person)).json().data;
  const sessionId = await grantedSession(api.database, account.scope, { identityId: id, oauthClientId: client.id });
  expect(outcomeOf(await call('DELETE', `${environment}/identities/${id}/sessions`))).toMatch(/^20/);
  while ((await fanOutWebhooks(api.database.db, 100)).events > 0);
  return { client, identityId: id, sessionId };
}
const processes = async () => (await call('GET', '/processes?kind=webhook_delivery')).json().items;
const asked = () =>
  rowsOf<{ input: object }>(api, `select input from outbox where process = 'webhookDelivery' and account_id = $1`, [
    account.scope.accountId,
  ]);

test('a logout token is among the processes of its Account, about its client; it can be cancelled and retried', async () => {
  const { client, identityId, sessionId } = await signedOut();
  const [{ id, ...process }] = await processes();
  const subject = { subject_type: 'oauth_client', subject_id: client.id };
  expect(process).toMatchObject({ ...subject, state: 'pending', waits_for: 'receiver' });
  const { accountId, environmentId } = account.scope;
  const input = { deliveryId: id, webhookId: client.id, accountId, environmentId, receiver: 'client' };
  expect(await asked()).toEqual([{ input }]);
  const stored = 'select body, event_type from webhook_deliveries where id = $1';
  const [row] = await rowsOf<{ body: string; event_type: string }>(api, stored, [id]);
  expect([JSON.parse(row!.body), row!.event_type]).toEqual([{ sub: identityId, sid: sessionId }, 'backchannel_logout']);
  expect(outcomeOf(await call('POST', `/processes/${id}/cancel`, { reason: 'The client is down' }))).toBe('200');
  expect(await processes()).toMatchObject([{ state: 'cancelled', ended_reason: 'cancelled_by_operator' }]);
  expect(outcomeOf(await call('POST', `/processes/${id}/retry`))).toBe('200');
  expect(await processes()).toMatchObject([{ ...subject, state: 'pending' }]);
  expect(await asked()).toContainEqual({ input: { ...input, news: 'retryNow' } });
});

test('a logout token is not retried for a client without an address, and no list of a webhook has it', async () => {
  const { client } = await signedOut();
  const [{ id }] = await processes();
  await call('POST', `/processes/${id}/cancel`, { reason: 'The client is down' });
  await call('PATCH', `${environment}/oauth-clients/${client.id}`, { backchannel_logout_uri: null });
  expect(outcomeOf(await call('POST', `/processes/${id}/retry`))).toBe('409 oauth_client.without_logout_uri');
  expect(outcomeOf(await call('GET', `${environment}/webhooks/${client.id}/deliveries`))).toBe('404 webhook.not_found');
  const retry = `${environment}/webhooks/${client.id}/deliveries/${id}/retry`;
  expect(outcomeOf(await call('POST', retry))).toBe('404 webhook.not_found');
});
