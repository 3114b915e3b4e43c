import { outcomeOf } from '../support/answers.js';
import { newAccount, startApi, type TestApi } from '../support/api.js';
import { callsWith } from '../support/nodes.js';
import { rowsOf } from '../support/rows.js';

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

/** Creates an Environment; returns calls of its Owner that read and change its settings. */
async function place() {
  const account = await newAccount(api);
  const call = callsWith(api, await account.as('owner'), account.portalPath(''));
  const read = async () => (await call('GET', '/settings')).json().data;
  const change = async (allowed_origins: string[]) =>
    call('PATCH', '/settings', { allowed_origins }, (await read()).version);
  return { account, read, change };
}

test('origins are accepted as browsers send them', async () => {
  const { read, change } = await place();
  const sent = ['https://a.example', 'http://localhost:3000', 'https://xn--mnchen-3ya.example', 'http://[::1]:8080'];
  expect(outcomeOf(await change(sent))).toBe('200');
  expect((await read()).allowed_origins).toEqual(sent);
});

test.each([
  ['https://B.example', 'https://b.example'],
  ['HTTPS://b.example', 'https://app.example.com'],
  ['https://a.example:443', 'https://a.example'],
  ['https://münchen.example', 'https://xn--mnchen-3ya.example'],
  ['https://user:pw@d.example', 'https://d.example'],
  ['https://:99999', 'https://app.example.com'],
  ['https://a.example/', 'https://app.example.com'],
  ['https://*.example.com', 'without a path or wildcard'],
])('%s, which no browser sends, is refused with the right spelling', async (value, right) => {
  const { read, change } = await place();
  const refused = await change(['https://ok.example', value]);
  expect(outcomeOf(refused)).toBe('400 validation.failed');
  const [detail] = refused.json().error.details;
  expect(detail.field).toBe('allowed_origins[1]');
  expect(detail.message).toContain(right);
  expect((await read()).allowed_origins).toEqual([]);
});

test('an origin that was stored in another spelling may be sent back, and stays while others change', async () => {
  const { account, read, change } = await place();
  const text = `update environment_settings set allowed_origins = '{https://B.example}' where environment_id = $1 returning 1`;
  expect(await rowsOf(api, text, [account.scope.environmentId])).toHaveLength(1);
  expect(outcomeOf(await change(['https://B.example']))).toBe('200');
  expect(outcomeOf(await change(['https://B.example', 'https://a.example']))).toBe('200');
  expect((await read()).allowed_origins).toEqual(['https://B.example', 'https://a.example']);
  expect(outcomeOf(await change(['https://C.example', 'https://B.example']))).toBe('400 validation.failed');
});
