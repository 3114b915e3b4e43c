import type { ServerResponse } from 'node:http';
import { afterAll, beforeEach, expect, test } from '@jest/globals';
import { createLocalJWKSet, decodeJwt, type JWTPayload, jwtVerify } from 'jose';
import { createErasures } from '../../../src/domain/erasures/erasures.js';
import { createClientManagement } from '../../../src/domain/oidc/clients/management.js';
import { endSessions } from '../../../src/domain/sessions/end-sessions.js';
import { minutes } from '../../../src/platform/clock.js';
import { createOutbound } from '../../../src/platform/outbound/fetch.js';
import type { Browser } from '../../support/oauth/browser.js';
import type { TestClient, TestEnvironment, TestIdentity } from '../../support/oauth/environment.js';
import { createLogoutDelivery } from '../../support/oauth/logout-tokens.js';
import { newProvider } from '../../support/oauth/provider.js';
import { tokensFor } from '../../support/oauth/tokens.js';
import { startReceiver } from '../../support/webhooks.js';

let environment: TestEnvironment;
let answer: (before: number, response: ServerResponse) => void;
let ana: TestIdentity;
let browser: Browser;
let paths = 0;

const world = await newProvider({ startsAt: new Date() });
const management = createClientManagement({ db: world.db, now: world.now });
const receiver = await startReceiver((_, before, response) => answer(before, response));
afterAll(async () => {
  await receiver.stop();
  await world.close();
});
beforeEach(async () => {
  environment = await world.newEnvironment();
  ana = await environment.newIdentity();
  browser = world.browser();
  answer = (_, response) => response.writeHead(200).end();
});

/** A client that receives logout tokens at a path of its own. */
async function clientWithLogout(of = environment) {
  const client = await of.newClient();
  const path = `/logout/${++paths}?tenant=acme`;
  await management.update(scopeOf(of), client.id, { backchannelLogoutUri: receiver.url(path) });
  return { ...client, path };
}

const { deliveries, fanOut, ...workers } = createLogoutDelivery(world);
const rows = () => workers.rows(environment.accountId);
const deliver = (by = deliveries()) => workers.deliver(environment.accountId, by);

/** What a relying party does with the request (§2.6): it has the client's id, the issuer and the published keys. */
async function verified({ path, clientId }: Pick<TestClient, 'clientId'> & { path: string }, at = 0) {
  const { headers, body } = receiver.at(path)[at]!;
  expect(headers['content-type']).toBe('application/x-www-form-urlencoded');
  const form = new URLSearchParams(body);
  expect([...form.keys()]).toEqual(['logout_token']);
  const keys = (await world.app.inject('/.well-known/jwks.json')).json();
  const { payload } = await jwtVerify(form.get('logout_token')!, createLocalJWKSet(keys), {
    issuer: world.baseUrl,
    audience: clientId,
    typ: 'logout+jwt',
    algorithms: ['RS256'],
    requiredClaims: ['iat', 'exp', 'jti', 'events'],
    currentDate: world.now(),
  });
  return payload;
}
const event = { 'http://schemas.openid.net/event/backchannel-logout': {} };
const sidOf = ({ id_token }: { id_token: string }) => decodeJwt(id_token).sid as string;
const signOut = ({ id_token }: { id_token: string }, client: TestClient) =>
  browser.get(`/oauth/logout?${new URLSearchParams({ id_token_hint: id_token, client_id: client.clientId })}`);

test('discovery says that logout tokens are sent, with the session', async () => {
  expect((await world.app.inject('/.well-known/openid-configuration')).json()).toMatchObject({
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
  });
});

test('a sign-out sends a token that a relying party accepts to each client that was used in the session', async () => {
  const [web, shop, unused] = [await clientWithLogout(), await clientWithLogout(), await clientWithLogout()];
  const silent = await environment.newClient();
  const tokens = await tokensFor(browser, web, ana.email);
  for (const client of [shop, silent]) expect(sidOf(await tokensFor(browser, client, ana.email))).toBe(sidOf(tokens));
  const elsewhere = await tokensFor(world.browser(), web, ana.email);
  expect(sidOf(elsewhere)).not.toBe(sidOf(tokens));
  await signOut(tokens, web);
  expect((await deliver()).map(({ status }) => status)).toEqual(['succeeded', 'succeeded']);
  for (const client of [web, shop]) {
    expect(receiver.at(client.path)).toHaveLength(1);
    const { iat, exp, jti, ...claims } = (await verified(client)) as Required<JWTPayload>;
    // Neither `nonce` (§2.4) nor anything about the person.
    expect(claims).toEqual({
      iss: world.baseUrl,
      aud: client.clientId,
      sub: ana.id,
      sid: sidOf(tokens),
      events: event,
    });
    expect([exp - iat, typeof jti]).toEqual([120, 'string']);
  }
  expect(receiver.at(unused.path)).toEqual([]);
  await expect(verified({ ...web, clientId: shop.clientId })).rejects.toThrow('aud');
});

test('a client that requires the session gets its `sid` alone', async () => {
  const client = await clientWithLogout();
  await management.update(scopeOf(environment), client.id, { backchannelLogoutSessionRequired: true });
  const tokens = await tokensFor(browser, client, ana.email);
  await signOut(tokens, client);
  await deliver();
  const { iss, aud, iat, exp, jti, ...claims } = await verified(client);
  expect(claims).toEqual({ sid: sidOf(tokens), events: event });
});

test('each attempt has a token of its own, and neither token nor address is stored', async () => {
  const client = await clientWithLogout();
  await signOut(await tokensFor(browser, client, ana.email), client);
  answer = (before, response) => response.writeHead(before === 0 ? 503 : 204).end('logout_token=echoed');
  const by = deliveries();
  expect(await deliver(by)).toMatchObject([{ status: 'pending' }]);
  expect(await deliver(by)).toMatchObject([{ status: 'pending' }]); // it is not due
  world.wait(minutes(5));
  expect(await deliver(by)).toMatchObject([{ status: 'succeeded' }]);
  expect(receiver.at(client.path)).toHaveLength(2);
  const first = decodeJwt(new URLSearchParams(receiver.at(client.path)[0]!.body).get('logout_token')!);
  const second = await verified(client, 1);
  expect(second.jti).not.toBe(first.jti);
  expect(second.iat! - first.iat!).toBeGreaterThanOrEqual(300);
  const stored = await world.query<{ text: string }>(
    `select d::text as text from webhook_deliveries d where account_id = $1
     union all select a::text from webhook_attempts a where account_id = $1
     union all select o::text from outbox o where account_id = $1 union all select e::text from events e where account_id = $1`,
    [environment.accountId],
  );
  expect(stored.length).toBeGreaterThan(4);
  const signatures = receiver.at(client.path).map(({ body }) => body.split('.')[2]!);
  for (const secret of [...signatures, 'echoed', 'tenant=acme'])
    expect([secret, stored.some(({ text }) => text.includes(secret))]).toEqual([
      secret,
      secret === 'tenant=acme', // the audit log says what a client's setting became
    ]);
});

const scopeOf = ({ accountId, applicationId, environmentId }: TestEnvironment) => ({
  accountId,
  applicationId,
  environmentId,
});
const inScope = <T>(work: Parameters<typeof world.db.transaction<T>>[1]) =>
  world.db.transaction(scopeOf(environment), work);

test.each<[string, (client: TestClient) => Promise<unknown>]>([
  [
    'somebody else signs in at the browser',
    async (client) => tokensFor(browser, client, (await environment.newIdentity()).email, { prompt: 'login' }),
  ],
  [
    'an administrator ends it',
    () =>
      inScope((tx) =>
        endSessions(tx, scopeOf(environment), ana.id, { reason: 'ended_by_administrator', at: world.now() }),
      ),
  ],
  [
    'its person is erased, which both its own event and the erasure report',
    async () => {
      const by = { reason: 'removed', at: world.now() };
      await inScope((tx) => endSessions(tx, scopeOf(environment), ana.id, by));
      await createErasures({ db: world.db, now: world.now }).request(scopeOf(environment), ana.id);
    },
  ],
  [
    'its person is erased, although the grants are deleted before the event is read',
    async () => {
      const erasures = createErasures({ db: world.db, now: world.now });
      const { id } = await erasures.request(scopeOf(environment), ana.id);
      while ((await erasures.deleteSessions(id)) === 'more');
      expect(await world.query('select from grants where identity_id = $1', [ana.id])).toEqual([]);
    },
  ],
])('a client is told once when a session ends because %s', async (_, end) => {
  const client = await clientWithLogout();
  const tokens = await tokensFor(browser, client, ana.email);
  await end(client);
  await inScope((tx) => endSessions(tx, scopeOf(environment), ana.id, { reason: 'ended_by_person', at: world.now() }));
  await deliver();
  expect(receiver.at(client.path)).toHaveLength(1);
  expect(await verified(client)).toMatchObject({ sub: ana.id, sid: sidOf(tokens) });
});

const failures = () =>
  world.query<{ resource_id: string; outcome: string; metadata: object; is_domain_event: boolean }>(
    `select resource_id, outcome, metadata, is_domain_event from events where account_id = $1 and action = 'oauth_client.logout_failed'`,
    [environment.accountId],
  );

test.each([
  ['refuses it three times', () => 400, [minutes(1), minutes(1), minutes(1), minutes(1)], 3, 'refused'],
  ['refuses it and then fails', (before: number) => (before < 2 ? 400 : 500), [1, 1, 1], 4, 'attempts_exhausted'],
  ['is gone', () => 410, [1], 2, 'attempts_exhausted'],
])('a client that %s is reported to its administrators', async (_, statusOf, schedule, calls, reason) => {
  const client = await clientWithLogout();
  const tokens = await tokensFor(browser, client, ana.email);
  await signOut(tokens, client);
  answer = (before, response) => response.writeHead(statusOf(before)).end();
  const by = deliveries(schedule);
  for (let i = 0; i < 6; i++) {
    await deliver(by);
    world.wait(minutes(5));
  }
  expect(await rows()).toMatchObject([{ status: 'failed', ended_reason: reason }]);
  expect(receiver.at(client.path)).toHaveLength(calls);
  const metadata = { identity_id: ana.id, session_id: sidOf(tokens), reason, attempts: calls };
  expect(await failures()).toEqual([{ resource_id: client.id, outcome: 'failure', metadata, is_domain_event: true }]);
});

test('a client that refuses it twice, as its own logout failed, is asked a third time', async () => {
  const client = await clientWithLogout();
  await signOut(await tokensFor(browser, client, ana.email), client);
  answer = (before, response) => response.writeHead(before < 2 ? 400 : 200).end();
  const by = deliveries([1, 1]);
  for (let i = 0; i < 3; i++) {
    await deliver(by);
    world.wait(minutes(1));
  }
  expect(await rows()).toMatchObject([{ status: 'succeeded' }]);
  expect(await failures()).toEqual([]);
});

test.each<[string, (client: TestClient) => Promise<unknown>]>([
  ['its address was removed', ({ id }) => management.update(scopeOf(environment), id, { backchannelLogoutUri: null })],
  ['it was deleted', ({ id }) => management.remove(scopeOf(environment), id)],
  [
    'its Environment is being deleted',
    () =>
      world.query('update environments set account_id = null, application_id = null where id = $1', [
        environment.environmentId,
      ]),
  ],
])('a client is not called any more when %s', async (what, end) => {
  const client = await clientWithLogout();
  await signOut(await tokensFor(browser, client, ana.email), client);
  await fanOut();
  await end(client);
  expect(await deliver()).toMatchObject([{ status: 'cancelled', ended_reason: 'client_without_logout_uri' }]);
  expect(receiver.at(client.path)).toEqual([]);
  if (!what.includes('Environment'))
    expect(await world.query('select from webhook_routes where webhook_id = $1', [client.id])).toEqual([]);
});

test('an address that is not public is not called', async () => {
  const client = await clientWithLogout();
  await signOut(await tokensFor(browser, client, ana.email), client);
  expect(await deliver(deliveries([1], createOutbound()))).toMatchObject([{ status: 'pending' }]);
  const attempts =
    'select a.error from webhook_attempts a join webhook_deliveries d on d.id = a.delivery_id where d.account_id = $1';
  expect(await world.query(attempts, [environment.accountId])).toEqual([{ error: 'address' }]);
  expect(receiver.at(client.path)).toEqual([]);
});

test('a session ends for the clients of its own Environment only, and queues nothing where no client wants it', async () => {
  const neighbours = await world.newEnvironment();
  const theirs = await clientWithLogout(neighbours);
  const client = await environment.newClient();
  const tokens = await tokensFor(browser, client, ana.email);
  // As if the tenant filter had been passed: a grant of this session that names a neighbour's client.
  await world.query('update grants set oauth_client_id = $2 where session_id = $1 returning id', [
    sidOf(tokens),
    theirs.id,
  ]);
  const other = await clientWithLogout();
  await tokensFor(browser, other, ana.email);
  await inScope((tx) => endSessions(tx, scopeOf(environment), ana.id, { reason: 'ended_by_person', at: world.now() }));
  expect((await deliver()).map(({ webhook_id }) => webhook_id)).toEqual([other.id]);
  expect(receiver.at(theirs.path)).toEqual([]);
  await management.update(scopeOf(environment), other.id, { backchannelLogoutUri: null });
  await tokensFor(browser, client, ana.email);
  await inScope((tx) => endSessions(tx, scopeOf(environment), ana.id, { reason: 'ended_by_person', at: world.now() }));
  expect(await world.query('select from webhook_queue')).toEqual([]);
});
