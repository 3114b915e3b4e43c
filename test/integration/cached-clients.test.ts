import { newAccount, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { authorizeUrl } from '../support/oauth/sign-in.js';
import { newPublicClient, publicClient } from '../support/public-client.js';
import { until } from '../support/until.js';

let api: TestApi;
/** Another process. No time passes in either, so nothing that they have cached becomes too old. */
let other: TestApi;
let account: TestAccount;
beforeAll(async () => {
  api = await startApi();
  other = await startApi({}, undefined, api.database);
  account = await newAccount(api);
});
afterAll(async () => {
  await other.stop();
  await api.stop();
});

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

async function change(method: Method, path: string, payload?: object, more: Record<string, string> = {}) {
  const headers = { ...(await account.as('owner')), ...more };
  const answer = await api.app.inject({ method, url: account.portalPath(path), headers, ...(payload && { payload }) });
  if (answer.statusCode >= 300) throw new Error(`${method} ${path}: ${answer.body}`);
  return answer;
}

async function changeSettings(settings: object) {
  const { etag } = (await change('GET', '/settings')).headers;
  await change('PATCH', '/settings', settings, { 'if-match': String(etag) });
}

test('a process forgets the clients that it has cached once one of them, its settings or its connections change', async () => {
  const { id, clientId } = await newPublicClient(api, account.scope);
  const page = () => other.app.inject(authorizeUrl({ clientId }, { redirect_uri: publicClient.redirectUris[0] }));
  const shows = async (text: string) => (await page()).body.includes(text);
  expect((await page()).statusCode).toBe(200);
  expect(await shows('/oauth/login/email-otp/start')).toBe(false);

  await changeSettings({ email_otp_login_enabled: true });
  await until('the changed settings apply', () => shows('/oauth/login/email-otp/start'));

  await change('PATCH', `/oauth-clients/${id}`, { name: 'Renamed' });
  await until('the changed client applies', () => shows('Renamed'));

  const made = await change('POST', '/sso-connections', {
    type: 'oidc',
    name: 'Provider',
    oidc_discovery_url: 'https://idp.example/.well-known/openid-configuration',
    oidc_client_id: 'gatehouse',
    oidc_client_secret: 'secret',
  });
  const connection = `/sso-connections/${made.json().data.connection.id}`;
  expect(await shows('action="/oauth/sso"')).toBe(false);
  await change('POST', `${connection}/activate`);
  await until('the active connection is offered', () => shows('action="/oauth/sso"'));
  await change('POST', `${connection}/disable`);
  await until('the disabled connection is not offered', async () => !(await shows('action="/oauth/sso"')));
  await change('POST', `${connection}/activate`);
  await until('the connection is offered again', () => shows('action="/oauth/sso"'));
  await change('DELETE', connection);
  await until('the deleted connection is not offered', async () => !(await shows('action="/oauth/sso"')));

  await change('DELETE', `/oauth-clients/${id}`);
  await until('the deleted client is unknown', async () => (await page()).statusCode === 400);
});

test('a process forgets a secret that was replaced', async () => {
  const made = await change('POST', '/oauth-clients', {
    name: 'Server',
    client_type: 'confidential',
    redirect_uris: publicClient.redirectUris,
  });
  const { id, client_id, client_secret } = made.json().data;
  const introspect = () =>
    other.app.inject({
      method: 'POST',
      url: '/oauth/introspect',
      payload: { client_id, client_secret, token: 'unknown' },
    });
  expect((await introspect()).statusCode).toBe(200);
  await change('POST', `/oauth-clients/${id}/rotate-secret`);
  await until('the old secret is refused', async () => (await introspect()).statusCode === 401);
});

test('a change applies to the next request to the process that made it', async () => {
  const { clientId } = await newPublicClient(api, account.scope);
  const page = () => api.app.inject(authorizeUrl({ clientId }, { redirect_uri: publicClient.redirectUris[0] }));
  for (const isOn of [false, true, false, true, false]) {
    await page();
    await changeSettings({ email_otp_login_enabled: isOn });
    expect((await page()).body.includes('/oauth/login/email-otp/start')).toBe(isOn);
  }
});
