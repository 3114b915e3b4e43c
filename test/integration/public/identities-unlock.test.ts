import { v7 as uuidv7 } from 'uuid';
import { createMfaAttempts } from '../../../src/domain/mfa/attempts.js';
import { newAccount, send, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { newPublicClient } from '../../support/public-client.js';
import { rowsOf } from '../../support/rows.js';

let api: TestApi;
let account: TestAccount;
let key: Record<string, string>;
let clientId: string;
beforeAll(async () => {
  api = await startApi({ RATE_LIMITS: 'on' });
  account = await newAccount(api);
  key = await account.apiKey();
  ({ clientId } = await newPublicClient(api, account.scope));
});
afterAll(() => api.stop());

const password = 'a passphrase of somebody';
async function person() {
  const email = `${uuidv7()}@example.com`;
  const payload = { email, password, email_verified: true };
  const made = await send(api.app, 201, { method: 'POST', url: '/api/v1/identities', headers: key, payload });
  return { id: made.json().data.id as string, email };
}
let networks = 0;
const login = (email: string, secret: string) =>
  api.app.inject({
    method: 'POST',
    url: '/v1/identity/auth/login',
    remoteAddress: `2001:db8:3:${(++networks).toString(16)}::1`,
    payload: { client_id: clientId, email, password: secret },
  });
/** Enters as many wrong passwords as a day allows. */
async function locked() {
  const { id, email } = await person();
  for (let i = 0; i < 50; i++) {
    if (i % 10 === 0) await rowsOf(api, `delete from rate_limits where key like 'sign-in-address:%'`);
    expect((await login(email, 'wrong')).statusCode).toBe(401);
  }
  const refused = await login(email, password);
  expect([refused.statusCode, refused.headers['ratelimit-policy']]).toEqual([429, '"sign-in-address";q=10;w=900']);
  return { id, email };
}
const lockOf = async (id: string) =>
  (await send(api.app, 200, { url: `/api/v1/identities/${id}/auth-state`, headers: key })).json().data.locked_until;
const events = (id: string) =>
  rowsOf<{ environment_id: string; actor_type: string }>(
    api,
    `select environment_id, actor_type from events where resource_id = $1 and action = 'identity.unlocked' order by created_at, id`,
    [id],
  );

test('a person whom strangers have locked out is let in at once, by the Public API and the Portal', async () => {
  const support = await account.as('support');
  for (const [url, headers, actor] of [
    ['/api/v1', key, 'api_key'],
    [account.portalPath(''), support, 'platform_admin'],
  ] as const) {
    const { id, email } = await locked();
    expect(await lockOf(id)).not.toBeNull();
    const unlocked = await send(api.app, 200, { method: 'POST', url: `${url}/identities/${id}/unlock`, headers });
    expect(unlocked.json().data).toMatchObject({ id, email, can_manage: true });
    expect(await lockOf(id)).toBeNull();
    expect((await login(email, password)).statusCode).toBe(200);
    expect(await events(id)).toEqual([{ environment_id: account.scope.environmentId, actor_type: actor }]);
  }
});

test('a lock of a quarter of an hour is shown as well, and can be ended', async () => {
  const { id, email } = await person();
  for (let i = 0; i < 10; i++) expect((await login(email, 'wrong')).statusCode).toBe(401);
  expect((await login(email, password)).statusCode).toBe(429);
  expect(new Date(await lockOf(id)).getTime()).toBeGreaterThan(api.clock.now.getTime());
  await send(api.app, 200, { method: 'POST', url: `/api/v1/identities/${id}/unlock`, headers: key });
  expect(await lockOf(id)).toBeNull();
  expect((await login(email, password)).statusCode).toBe(200);
});

test('a lock is on the address: a person with another one since is not locked, nor shown as locked', async () => {
  const { id, email } = await locked();
  const until = await lockOf(id);
  const moveTo = (to: string) => {
    const payload = { email: to, email_verified: true };
    return send(api.app, 200, { method: 'PATCH', url: `/api/v1/identities/${id}`, headers: key, payload });
  };
  await moveTo(email.toUpperCase());
  expect(await lockOf(id)).toBe(until);
  await moveTo(`new-${email}`);
  expect(await lockOf(id)).toBeNull();
  expect((await login(`new-${email}`, password)).statusCode).toBe(200);
  await moveTo(email);
  expect(await lockOf(id)).not.toBeNull();
  expect((await login(email, password)).statusCode).toBe(429);
});

test('a reset of second factors resets the wrong codes’ count: the next ones are asked for at once', async () => {
  const { id } = await person();
  const { counted } = createMfaAttempts({ db: api.database.db, enabled: true, now: () => api.clock.now });
  for (let i = 0; i < 10; i++) await counted(id, async () => null);
  await send(api.app, 200, { method: 'POST', url: `/api/v1/identities/${id}/mfa/reset`, headers: key });
  expect(await counted(id, async () => null)).toBeNull();
});

test('second factors are asked for again, with an event in each environment of the person', async () => {
  const { id, email } = await person();
  const url = account.portalPath('/identities', 'production');
  const owner = await account.as('owner');
  await send(api.app, 201, { method: 'POST', url, headers: owner, payload: { email } });
  const { counted } = createMfaAttempts({ db: api.database.db, enabled: true, now: () => api.clock.now });
  const wrong = () => counted(id, async () => null);
  for (let i = 0; i < 50; i++) {
    if (i % 10 === 0) await rowsOf(api, `delete from rate_limits where key like 'mfa-identity:%'`);
    await wrong();
  }
  await expect(wrong()).rejects.toMatchObject({ code: 'mfa.challenge_locked' });
  await send(api.app, 200, { method: 'POST', url: `${url}/${id}/unlock`, headers: owner });
  expect(await wrong()).toBeNull();
  const { scope, productionScope } = account;
  expect((await events(id)).map((event) => event.environment_id).sort()).toEqual(
    [scope.environmentId, productionScope.environmentId].sort(),
  );
});
