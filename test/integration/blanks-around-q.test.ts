import { newAccount, send, startApi, type TestApi } from '../support/api.js';

/** Blanks around `q` come from pasting: nothing that can be found begins or ends with one. */

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

test.each(['/organizations', '/nodes', '/identities', '/roles'])('%s ignores blanks around q', async (list) => {
  const account = await newAccount(api);
  const headers = await account.apiKey();
  const post = (url: string, payload: object) =>
    send(api.app, 201, { method: 'POST', url: `/api/v1${url}`, headers, payload });
  await post('/organizations', { name: 'Acme Space' });
  await post('/identities', { email: 'a@example.com', first_name: 'Acme', last_name: 'Space' });
  await post('/identities', { email: 'nameless@example.com' });
  await post('/roles', { name: 'Acme Space', permission_keys: [] });
  const found = async (q: string) =>
    (await send(api.app, 200, { url: `/api/v1${list}?q=${encodeURIComponent(q)}`, headers })).json().pagination
      .item_count;
  const all = (await send(api.app, 200, { url: `/api/v1${list}`, headers })).json().pagination.item_count;
  expect([await found('acme space'), await found(' acme space'), await found('acme space \t')]).toEqual([1, 1, 1]);
  expect(await found('  ')).toBe(all);
});
