import { newAccount, send, startApi, type TestApi } from '../support/api.js';
import { newIdentityCaller } from '../support/identity-caller.js';
import { rowsOf } from '../support/rows.js';

/**
 * Blanks around `q` come from pasting: nothing that can be found begins or ends with one. A filter with an empty value
 * finds what has that value.
 */

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

test.each(['/v1/auth', '/v1/identity/auth'])("%s ignores them in the list of one's sessions", async (surface) => {
  const account = await newAccount(api);
  const isIdentity = surface.includes('identity');
  const headers = isIdentity ? (await newIdentityCaller(api, account)).headers : await account.as('owner');
  await rowsOf(
    api,
    isIdentity
      ? `update sessions set user_agent = 'Mozilla/5.0 (X11)' where account_id = $1`
      : `update user_sessions set user_agent = 'Mozilla/5.0 (X11)' where user_id = $1`,
    [isIdentity ? account.scope.accountId : account.userId],
  );
  const found = async (q: string) => {
    const url = `${surface}/sessions?q=${encodeURIComponent(q)}`;
    return (await send(api.app, 200, { url, headers })).json().pagination.item_count;
  };
  expect([await found(' mozilla'), await found('(X11) \t'), await found('  '), await found('opera')]).toEqual([
    1, 1, 1, 0,
  ]);
});

test('an empty type of node or event is a type that nothing has', async () => {
  const account = await newAccount(api);
  const headers = await account.apiKey();
  const ask = async (path: string) => (await send(api.app, 200, { url: `/api/v1${path}`, headers })).json();
  const post = (url: string, payload: object) =>
    send(api.app, url === '/webhooks' ? 201 : 200, { method: 'POST', url: `/api/v1${url}`, headers, payload });
  const { items } = await ask('/nodes');
  const webhook = { url: 'https://receiver.example/', event_types: ['node.created'] };
  const { id } = (await post('/webhooks', webhook)).json().data;
  await post(`/webhooks/${id}/test`, {});
  for (const list of [
    `/nodes?node_type=`,
    `/nodes/${items[0].id}/subtree?node_type=`,
    `/webhooks/${id}/deliveries?event_type=`,
  ]) {
    expect((await ask(list)).pagination.item_count).toBe(0);
    expect((await ask(list.split('?')[0] as string)).pagination.item_count).toBe(1);
  }
});
