import { newAccount, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { everyOperation } from '../support/operations/declared.js';

let api: TestApi;
let account: TestAccount;
beforeAll(async () => {
  api = await startApi();
  account = await newAccount(api);
});
afterAll(() => api.stop());

const slugs = /\{(accountSlug|appSlug|envSlug)\}/g;

test('a missing object in the path is 404, whatever else is wrong with the request (contract §10)', async () => {
  const [portal, key] = [await account.as('owner'), await account.apiKey()];
  const operations = (await everyOperation(api.app)).filter(
    ({ surface, url }) => ['portal', 'public'].includes(surface) && url.replace(slugs, '').includes('{'),
  );
  const named: Record<string, string> = {
    accountSlug: account.accountSlug,
    appSlug: account.applicationSlug,
    envSlug: 'development',
    domain: 'nobody.example',
  };
  const wrong: string[] = [];
  for (const { name, method, surface, url } of operations) {
    const path = url.replace(/\{(\w+)\}/g, (_, one: string) => named[one] ?? '01890000-0000-7000-8000-000000000000');
    const headers = { ...(surface === 'portal' ? portal : key), 'idempotency-key': 'not one' };
    const sent = method === 'GET' ? { query: { nonsense: '1' } } : { payload: { nonsense: 1 } };
    const { statusCode } = await api.app.inject({ method, url: path, headers, ...sent });
    if (statusCode !== 404) wrong.push(`${name} ${statusCode}`);
  }
  expect(operations.length).toBeGreaterThan(150);
  expect(wrong).toEqual([]);
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
