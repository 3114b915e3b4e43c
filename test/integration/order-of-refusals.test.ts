import { newMember, rolesByKey } from '../support/administrators.js';
import { outcomeOf } from '../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { callsOf } from '../support/calls.js';
import { everyOperation } from '../support/operations/declared.js';
import { denialsIn, key as idempotencyKey } from '../support/retries.js';

let api: TestApi;
let account: TestAccount;
beforeAll(async () => {
  api = await startApi();
  account = await newAccount(api);
});
afterAll(() => api.stop());

const slugs = /\{(accountSlug|appSlug|envSlug)\}/g;
const missing = '01890000-0000-7000-8000-000000000000';

/** Every operation of both APIs whose path names a resource. */
const withIds = async () =>
  (await everyOperation(api.app)).filter(
    ({ surface, url }) => ['portal', 'public'].includes(surface) && url.replace(slugs, '').includes('{'),
  );

function pathWith(url: string, id: string): string {
  const named: Record<string, string> = {
    accountSlug: account.accountSlug,
    appSlug: account.applicationSlug,
    envSlug: 'development',
    domain: 'nobody.example',
  };
  return url.replace(/\{(\w+)\}/g, (_, one: string) => named[one] ?? id);
}

test('a missing object in the path is 404, whatever else is wrong with the request (contract §10)', async () => {
  const [portal, key] = [await account.as('owner'), await account.apiKey()];
  const operations = await withIds();
  const wrong: string[] = [];
  for (const { name, method, surface, url } of operations) {
    const headers = { ...(surface === 'portal' ? portal : key), 'idempotency-key': 'not one' };
    const sent = method === 'GET' ? { query: { nonsense: '1' } } : { payload: { nonsense: 1 } };
    const { statusCode } = await api.app.inject({ method, url: pathWith(url, missing), headers, ...sent });
    if (statusCode !== 404) wrong.push(`${name} ${statusCode}`);
  }
  expect(operations.length).toBeGreaterThan(150);
  expect(wrong).toEqual([]);
});

/** Bodies that are refused while they are read, before it is known what they are about. */
const unreadable = {
  'no JSON': { type: 'application/json', payload: '{' },
  'another type': { type: 'text/plain', payload: 'text' },
  'nested too deeply': { type: 'application/json', payload: `${'['.repeat(200)}${']'.repeat(200)}` },
  'text that cannot be stored': { type: 'application/json', payload: '{"name":"\\ud800"}' },
};

test.each(Object.entries(unreadable))('so it is if the body is %s', async (_, { type, payload }) => {
  const [portal, key] = [await account.as('owner'), await account.apiKey()];
  const operations = (await withIds()).filter(({ method }) => method !== 'GET');
  const wrong: string[] = [];
  for (const { name, method, surface, url } of operations) {
    for (const id of [missing, 'no-id']) {
      const headers = { ...(surface === 'portal' ? portal : key), 'content-type': type };
      const { statusCode } = await api.app.inject({ method, url: pathWith(url, id), headers, payload });
      if (statusCode !== 404) wrong.push(`${name} ${id} ${statusCode}`);
    }
  }
  expect(operations.length).toBeGreaterThan(100);
  expect(wrong).toEqual([]);
});

test('so it is if the body is too long', async () => {
  const headers = { ...(await account.apiKey()), 'content-type': 'application/json' };
  const change = async (id: string) => {
    const payload = JSON.stringify({ first_name: 'x'.repeat(1024 * 1024) });
    const answer = await api.app.inject({ method: 'PATCH', url: `/api/v1/identities/${id}`, headers, payload });
    return `${answer.statusCode} ${answer.json().error.code}`;
  };
  expect(await change(missing)).toBe('404 identity.not_found');
  const created = await api.app.inject({
    method: 'POST',
    url: '/api/v1/identities',
    headers,
    payload: { email: 'long@example.com' },
  });
  expect(await change(created.json().data.id)).toBe('413 body.too_large');
});

test('a missing right is refused and recorded also if the body of what may be a retry cannot be read', async () => {
  const owner = callsOf(api, account.accountSlug, await account.as('owner'));
  const roles = await rolesByKey(owner);
  const member = await newMember(api, account, 'admin');
  const path = `/members/${member.membershipId}`;
  const change = { roles: [{ role_id: roles.viewer, limits: null }] };
  expect(outcomeOf(await member.call('PATCH', path, change, idempotencyKey))).toBe('200');
  const before = await denialsIn(api, account.scope.accountId);
  const answer = await api.app.inject({
    method: 'PATCH',
    url: `/portal/v1/accounts/${account.accountSlug}${path}`,
    headers: { ...member.headers, ...idempotencyKey, 'content-type': 'application/json' },
    payload: '{',
  });
  expect(outcomeOf(answer)).toBe('403 account.capability_required');
  expect(await denialsIn(api, account.scope.accountId)).toBe(before + 1);
});

test.each([
  ['', 'account.not_found'],
  ['/applications/%00', 'application.not_found'],
  ['/applications/here/environments/%00', 'environment.not_found'],
])('a slug that nothing can have is 404 in the Portal, like an unknown one (%s)', async (below, code) => {
  const { accountSlug, applicationSlug } = account;
  const url = `/portal/v1/accounts/${below ? accountSlug : '%00'}${below.replace('here', applicationSlug)}`;
  const answer = await api.app.inject({ url, headers: await account.as('owner') });
  expect([answer.statusCode, answer.json().error.code]).toEqual([404, code]);
  expect((await api.app.inject({ url })).statusCode).toBe(401);
});
