import { newAccount, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { type Call, callsOf, databaseTime, eventsSince, outcomeOf, rowsOf } from './portal-setup.js';

let api: TestApi;
let account: TestAccount;
let call: Call;
let path: string;
beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  account = await newAccount(api);
  call = callsOf(api, account.accountSlug, await account.as('owner'));
  path = `/applications/${account.applicationSlug}/environments/development/oauth-clients`;
});
afterAll(() => api.stop());

const settings = { name: 'Web', client_type: 'confidential', redirect_uris: ['https://app.example/callback'] };
const create = async (more: object = {}) => (await call('POST', path, { ...settings, ...more })).json().data;
const change = async (id: string, changes: object) => (await call('PATCH', `${path}/${id}`, changes)).json().data;
const hashOf = async (id: string) =>
  (await rowsOf<{ hash: Buffer | null }>(api, 'select secret_hash as hash from oauth_clients where id = $1', [id]))[0]
    ?.hash;

test('who proves itself by a secret gets one, by either method, and nobody else', async () => {
  for (const method of ['client_secret_basic', 'client_secret_post']) {
    const { id, client_secret, has_client_secret } = await create({ token_endpoint_auth_method: method });
    expect([client_secret, has_client_secret]).toEqual([expect.stringMatching(/^[\w-]{43}$/), true]);
    expect(await hashOf(id)).not.toBeNull();
  }
  const spa = await create({ client_type: 'public' });
  expect([spa.client_secret, spa.has_client_secret, await hashOf(spa.id)]).toEqual([null, false, null]);
  expect(outcomeOf(await call('POST', `${path}/${spa.id}/rotate-secret`))).toBe('400 oauth_client.has_no_secret');
});

test('a secret stays while it is used, ends with the last method that uses one, and is given anew', async () => {
  const { id } = await create();
  const before = await hashOf(id);
  await change(id, { token_endpoint_auth_method: 'client_secret_post', name: 'Web 2' });
  expect(await hashOf(id)).toEqual(before);
  const keyed = { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: 'https://app.example/jwks' };
  expect((await change(id, keyed)).has_client_secret).toBe(false);
  expect(await hashOf(id)).toBeNull();
  const back = await change(id, { token_endpoint_auth_method: 'client_secret_basic', jwks_uri: null });
  expect(back.has_client_secret).toBe(false);
  const given = (await call('POST', `${path}/${id}/rotate-secret`)).json().data;
  expect(given).toMatchObject({ client_secret: expect.any(String), has_client_secret: true });
  const { client_secret: _, ...shown } = given;
  expect((await call('GET', `${path}/${id}`)).json().data).toEqual(shown);
});

test('a change is written, told of once, and what is asked for as it is changes nothing', async () => {
  const made = await create();
  const since = await databaseTime(api);
  const changed = await change(made.id, { name: 'Shop', require_pkce: true });
  expect(changed).toMatchObject({ name: 'Shop', client_id: made.client_id, redirect_uris: made.redirect_uris });
  expect(await change(made.id, { name: 'Shop' })).toEqual(changed);
  expect((await call('GET', `${path}/${made.id}`)).json().data).toEqual(changed);
  const events = await eventsSince(api, account.scope.accountId, since);
  expect(events).toMatchObject([{ action: 'oauth_client.updated', metadata: { changed: ['name'] } }]);
  expect(outcomeOf(await call('PATCH', `${path}/${made.id}`, { redirect_uris: ['https://app.example/#x'] }))).toBe(
    '400 validation.failed',
  );
});

test('a client may be given all scopes, or those that are listed', async () => {
  const all = ['openid', 'profile', 'email', 'org', 'permissions'];
  expect((await create()).scopes).toEqual(all);
  const made = await create({ scopes: ['email', 'openid'] });
  expect(made.scopes).toEqual(['openid', 'email']);
  expect((await change(made.id, { name: 'Shop' })).scopes).toEqual(['openid', 'email']);
  expect((await change(made.id, { scopes: ['openid'] })).scopes).toEqual(['openid']);
  expect((await call('GET', `${path}/${made.id}`)).json().data.scopes).toEqual(['openid']);
  for (const scopes of [[], ['openid', 'openid'], ['offline_access'], null])
    expect(outcomeOf(await call('PATCH', `${path}/${made.id}`, { scopes }))).toBe('400 validation.failed');
});

test('one that is deleted is gone, and the others stay', async () => {
  const [web, shop] = [await create(), await create({ name: 'Shop' })];
  expect(outcomeOf(await call('DELETE', `${path}/${web.id}`))).toBe('204');
  expect(outcomeOf(await call('DELETE', `${path}/${web.id}`))).toBe('404 oauth_client.not_found');
  expect(outcomeOf(await call('GET', `${path}/${web.id}`))).toBe('404 oauth_client.not_found');
  expect((await call('GET', path)).json().items.map(({ id }: { id: string }) => id)).toEqual([shop.id]);
});

test('the list has a search and both orders', async () => {
  for (const name of ['Beta', 'Alpha', 'Gamma 100%']) await create({ name });
  const names = async (query: string) =>
    (await call('GET', `${path}?${query}`)).json().items.map(({ name }: { name: string }) => name);
  expect(await names('sort_by=name&order=asc')).toEqual(['Alpha', 'Beta', 'Gamma 100%']);
  expect(await names('sort_by=created_at&order=asc')).toEqual(['Beta', 'Alpha', 'Gamma 100%']);
  expect(await names('sort_by=created_at&order=desc')).toEqual(['Gamma 100%', 'Alpha', 'Beta']);
  expect(await names('q=0%25')).toEqual(['Gamma 100%']);
  expect(await names('q=nobody')).toEqual([]);
});
