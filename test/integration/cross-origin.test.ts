import { v7 as uuidv7 } from 'uuid';
import type { OpenApiDocument } from '../../src/http/openapi/document.js';
import { baseUrl, newAccount, send, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { newIdentityCaller } from '../support/identity-caller.js';

/** Where administrators sign in, and the origin of the end users' client (`newIdentityCaller`). */
const adminPages = 'https://admin.example.net';
const clientPages = 'https://app.example.com';

let api: TestApi;
let account: TestAccount;
beforeAll(async () => {
  api = await startApi({ ADMIN_APP_URL: `${adminPages}/start` });
  account = await newAccount(api);
});
afterAll(() => api.stop());

const allowed = ({ headers }: Awaited<ReturnType<typeof send>>) => headers['access-control-allow-origin'];
const preflight = (url: string, origin: string) =>
  api.app.inject({
    method: 'OPTIONS',
    url,
    headers: { origin, 'access-control-request-method': 'PATCH', 'access-control-request-headers': 'if-match' },
  });

describe('the Public API', () => {
  const url = '/api/v1/authorization/evaluate';

  test('can be read by the scripts of an end user’s token’s client, refusals too', async () => {
    const { headers, id } = await newIdentityCaller(api, account, [{ role: 'Administrator' }]);
    const at = (origin: string) => ({ ...headers, origin });
    const read = await send(api.app, 200, { url: `/api/v1/identities/${id}`, headers: at(clientPages) });
    expect(read.headers).toMatchObject({
      'access-control-allow-origin': clientPages,
      'access-control-expose-headers': expect.stringContaining('ETag'),
      vary: 'Origin',
    });
    expect(allowed(await send(api.app, 400, { method: 'POST', url, headers: at(clientPages), payload: {} }))).toBe(
      clientPages,
    );
    expect(allowed(await send(api.app, 200, { url: `/api/v1/identities/${id}`, headers: at(adminPages) }))).toBe(
      undefined,
    );
  });

  test('cannot be read by scripts with an API key or an invalid token', async () => {
    for (const credential of [await account.apiKey(), { authorization: 'Bearer x.y.z' }, {}]) {
      const answer = await api.app.inject({
        url: '/api/v1/identities',
        headers: { ...credential, origin: clientPages },
      });
      expect(allowed(answer)).toBeUndefined();
    }
  });

  test('answers preflight requests with what may be sent', async () => {
    const answer = await preflight('/api/v1/nodes/x', clientPages);
    expect([answer.statusCode, answer.body]).toEqual([204, '']);
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': clientPages,
      'access-control-allow-methods': expect.stringContaining('PATCH'),
      'access-control-allow-headers': expect.stringContaining('if-match'),
    });
  });
});

describe('the pages where administrators sign in', () => {
  test('may call the Portal API and admin authentication from their origin, with cookies', async () => {
    const headers = { ...(await account.as('owner')), origin: adminPages };
    const answers = [
      await send(api.app, 200, { url: `/portal/v1/accounts/${account.accountSlug}`, headers }),
      await send(api.app, 404, { url: '/portal/v1/accounts/nobody', headers }),
      await send(api.app, 200, { url: '/v1/auth/me', headers }),
    ];
    for (const answer of answers) {
      expect(answer.headers).toMatchObject({
        'access-control-allow-origin': adminPages,
        'access-control-allow-credentials': 'true',
      });
    }
    for (const url of ['/portal/v1/accounts/a', '/v1/auth/login'])
      expect((await preflight(url, adminPages)).statusCode).toBe(204);
  });

  const signIn = (headers: Record<string, string>) =>
    api.app.inject({
      method: 'POST',
      url: '/v1/auth/login',
      headers,
      payload: { email: 'a@b.example', password: 'x' },
    });

  test('may sign a person in, which no other page may', async () => {
    const crossSite = { 'sec-fetch-site': 'cross-site' };
    expect((await signIn({ origin: adminPages, ...crossSite })).statusCode).toBe(401);
    expect((await signIn({ origin: baseUrl, 'sec-fetch-site': 'same-origin' })).statusCode).toBe(401);
    for (const origin of ['https://evil.example', `${adminPages}.evil.example`, 'https://example.net', 'null']) {
      const refused = await signIn({ origin });
      expect([refused.json().error.code, allowed(refused)]).toEqual(['origin.foreign', undefined]);
    }
    expect((await signIn(crossSite)).json().error.code).toBe('origin.foreign');
  });

  test('are the service’s own by default: no other origin can read anything', async () => {
    const plain = await startApi({}, undefined, api.database);
    try {
      const url = `/portal/v1/accounts/${account.accountSlug}`;
      const headers = { ...(await account.as('owner')), origin: adminPages };
      expect(allowed(await plain.app.inject({ url, headers }))).toBeUndefined();
      expect((await plain.app.inject({ method: 'OPTIONS', url, headers: { origin: adminPages } })).statusCode).toBe(
        405,
      );
    } finally {
      await plain.stop();
    }
  });
});

/** Forms of applications may post there; tests elsewhere cover the parts that only our pages may use. */
const forOthersToo = new Set(['/oauth/authorize', '/oauth/logout']);

test('routes that refuse forms and scripts of other sites refuse all of them, whatever they send', async () => {
  const document: OpenApiDocument = (await send(api.app, 200, { url: '/openapi.json' })).json();
  const refusing = Object.entries(document.paths).flatMap(([path, { post }]) => {
    const says = JSON.stringify(post?.responses[403] ?? '');
    if (forOthersToo.has(path) || !/origin\.foreign|foreign origin/.test(says)) return [];
    const [type = 'application/json'] = Object.keys(post?.requestBody?.content ?? {});
    return { url: path.replace(/\{\w+\}/g, uuidv7()), type };
  });
  expect(refusing.length).toBeGreaterThan(50);
  for (const { url, type } of refusing)
    for (const from of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }]) {
      const headers = { ...from, 'content-type': type, accept: 'application/json' };
      const payload = type === 'application/json' ? '{}' : 'a=b';
      const { statusCode, body } = await api.app.inject({ method: 'POST', url, headers, payload });
      expect([url, from, statusCode, body]).toEqual([url, from, 403, expect.stringContaining('origin.foreign')]);
    }
});
