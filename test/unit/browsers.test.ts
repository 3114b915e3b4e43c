import cookies from '@fastify/cookie';
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { isOriginOf, type Scripts } from '../../src/http/browsers/client-origins.js';
import {
  answerPreflights,
  answerPreflightsBelow,
  clientOfToken,
  letScriptsRead,
} from '../../src/http/browsers/cors.js';
import { assertOwnOrigin, isNoBrowser } from '../../src/http/browsers/origin.js';
import { leavingUrl, sendSignedOut } from '../../src/http/browsers/provider-sign-out.js';
import { secretCookie } from '../../src/http/browsers/secret-cookie.js';

let app: FastifyInstance;
beforeEach(async () => {
  app = fastify();
  await app.register(cookies);
});
afterEach(() => app.close());

const sending = (headers: Record<string, string>) => ({ headers }) as unknown as FastifyRequest;

describe('a secret cookie', () => {
  const secret = `${'a'.repeat(41)}-_`;
  const now = new Date('2026-11-29T12:00:00.000Z');
  const setBy = async (baseUrl: string, expiresAt: Date) => {
    const cookie = secretCookie(baseUrl, 'sso');
    app.get('/set', async (_, reply) => cookie.set(reply, secret, expiresAt, now).send());
    app.get('/clear', async (_, reply) => cookie.clear(reply).send());
    const [set, clear] = await Promise.all(['/set', '/clear'].map((url) => app.inject({ url })));
    return [set?.headers['set-cookie'], clear?.headers['set-cookie']];
  };

  test('is bound to the host over https', async () => {
    expect(await setBy('https://id.example', new Date('2026-11-29T12:00:01.001Z'))).toEqual([
      `__Host-sso=${secret}; Max-Age=2; Path=/; HttpOnly; Secure; SameSite=Lax`,
      '__Host-sso=; Max-Age=0; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT; HttpOnly; Secure; SameSite=Lax',
    ]);
  });

  test('is over at once if its time has passed', async () => {
    expect((await setBy('http://127.0.0.1:3000', new Date(now.getTime() - 5000)))[0]).toBe(
      `sso=${secret}; Max-Age=0; Path=/; HttpOnly; SameSite=Lax`,
    );
  });

  test.each([
    ['http://127.0.0.1', `sso=${secret}`, secret],
    ['https://id.example', `__Host-sso=${secret}`, secret],
    ['https://id.example', `sso=${secret}`, null],
    ['http://127.0.0.1', `sso=${secret}a`, null],
    ['http://127.0.0.1', `sso=.${secret.slice(1)}`, null],
    ['http://127.0.0.1', `sso=${secret.slice(1)}`, null],
    ['http://127.0.0.1', 'other=1', null],
  ])('at %s is read from %j: %j', async (baseUrl, cookie, value) => {
    const { read } = secretCookie(baseUrl, 'sso');
    app.get('/', async (request) => ({ read: read(request) }));
    expect((await app.inject({ url: '/', headers: { cookie } })).json()).toEqual({ read: value });
  });
});

test.each([
  [{}, true, true],
  [{ origin: 'https://id.example' }, true, false],
  [{ origin: 'https://id.example', 'sec-fetch-site': 'same-origin' }, true, false],
  [{ 'sec-fetch-site': 'none' }, true, false],
  [{ 'sec-fetch-site': 'same-site' }, false, false],
  [{ 'sec-fetch-site': 'cross-site' }, false, false],
  [{ origin: 'null' }, false, false],
  [{ origin: 'https://id.example.evil' }, false, false],
  [{ origin: 'https://id.example', 'sec-fetch-site': 'cross-site' }, false, false],
  [{ origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' }, false, false],
] as [Record<string, string>, boolean, boolean][])(
  'a form with %j is our own: %j; is no browser’s: %j',
  (headers, isOwn, isNone) => {
    const check = () => assertOwnOrigin(sending(headers), 'https://id.example');
    if (isOwn) check();
    else expect(check).toThrow(expect.objectContaining({ code: 'origin.foreign' }));
    expect(isNoBrowser(sending(headers))).toBe(isNone);
  },
);

test.each<[string, 'public' | 'confidential', boolean]>([
  ['https://allowed.example', 'confidential', true],
  ['https://app.example', 'public', true],
  ['https://app.example', 'confidential', false],
  ['https://app.example:8443', 'public', false],
  ['http://127.0.0.1:5173', 'public', true],
  ['http://127.0.0.1:5173', 'confidential', false],
  ['https://other.example', 'public', false],
  ['null', 'public', false],
])('scripts at %s are those of a %s client: %s', (origin, clientType, isIts) => {
  const redirectUris = ['https://app.example/cb', 'http://127.0.0.1/cb', 'com.example.app:/cb'];
  const settings = { allowedOrigins: ['https://allowed.example'] };
  expect(isOriginOf({ clientType, redirectUris, settings } as Scripts, origin)).toBe(isIts);
});

test.each(['onRequest', 'preValidation'] as const)(
  'answers are readable for scripts of known origins (%s)',
  async (at) => {
    letScriptsRead(app, at, async (_, origin) => origin === 'https://ours.example');
    app.get('/', async () => 'ok');
    const read = async (headers: Record<string, string>) => {
      const { headers: got } = await app.inject({ url: '/', headers });
      const { vary, ...others } = got;
      return [vary, Object.fromEntries(Object.entries(others).filter(([name]) => name.startsWith('access-control-')))];
    };
    expect(await read({ origin: 'https://ours.example' })).toEqual([
      'Origin',
      {
        'access-control-allow-origin': 'https://ours.example',
        'access-control-allow-credentials': 'true',
        'access-control-expose-headers': expect.stringMatching(/ETag.*Retry-After.*X-Request-Id/),
      },
    ]);
    const others: Record<string, string>[] = [{}, { origin: 'https://other.example' }];
    for (const headers of others) expect(await read(headers)).toEqual(['Origin', {}]);
  },
);

test.each([
  ['onRequest', 'https://ours.example'],
  ['preValidation', undefined],
] as const)('from %s on, the refusal of an unreadable body is readable for %s', async (at, allowed) => {
  letScriptsRead(app, at, () => true);
  app.post('/', async () => 'ok');
  const headers = { origin: 'https://ours.example', 'content-type': 'application/json' };
  const refused = await app.inject({ method: 'POST', url: '/', headers, payload: '{' });
  expect([refused.statusCode, refused.headers['access-control-allow-origin']]).toEqual([400, allowed]);
});

describe('a preflight', () => {
  const ask = async (url: string, headers: Record<string, string> = {}) => {
    const { statusCode, headers: got } = await app.inject({ method: 'OPTIONS', url, headers });
    return [statusCode, got['access-control-allow-origin'], got['access-control-allow-methods'], got.vary];
  };

  test('is answered with the methods of its path', async () => {
    answerPreflights(app);
    app.get('/things', { exposeHeadRoute: false }, async () => 'ok');
    app.route({ method: ['POST', 'PUT'], url: '/things', handler: async () => 'ok' });
    app.delete('/other', async () => 'ok');
    expect(await ask('/things', { origin: 'https://a.example' })).toEqual([
      204,
      'https://a.example',
      'GET, POST, PUT',
      'Origin',
    ]);
    expect(await ask('/other')).toEqual([204, '*', 'DELETE', 'Origin']);
    expect((await ask('/nothing'))[0]).toBe(404);
  });

  test('is answered below a prefix for any path, with what scripts may send', async () => {
    answerPreflightsBelow(app, '/v1');
    expect(await ask('/v1/any/thing')).toEqual([204, '*', 'GET, HEAD, POST, PUT, PATCH, DELETE', 'Origin']);
    expect((await ask('/v2/any'))[0]).toBe(404);
    const { headers } = await app.inject({ method: 'OPTIONS', url: '/v1/x' });
    expect(headers).toMatchObject({
      'access-control-allow-credentials': 'true',
      'access-control-allow-headers': expect.stringMatching(/authorization.*idempotency-key/),
      'access-control-max-age': '600',
    });
  });
});

test('the client of a token is looked up by what the token claims, and nobody else is', async () => {
  const find = jest.fn(async (clientId: string) => ({ clientId }));
  const of = (authorization?: string) =>
    clientOfToken({ clients: { find } as never }, sending(authorization === undefined ? {} : { authorization }));
  const token = `e30.${Buffer.from('{"client_id":"web"}').toString('base64url')}.AA`;
  expect(await of(`Bearer ${token}`)).toEqual({ clientId: 'web' });
  expect(await of(`bearer   ${token}`)).toEqual({ clientId: 'web' });
  for (const other of [undefined, token, `Basic ${token}`, `x Bearer ${token}`, 'Bearer e30.e30.AA'])
    expect(await of(other)).toBeNull();
  expect(find.mock.calls).toEqual([['web'], ['web']]);
});

test('a script that signs out gets the link to its provider, if there is one', async () => {
  app.get('/', async ({ query }, reply) =>
    sendSignedOut(reply, 'https://id.example', (query as { t?: string }).t ?? null),
  );
  const none = await app.inject({ url: '/' });
  expect([none.statusCode, none.body]).toEqual([204, '']);
  const one = await app.inject({ url: '/?t=x' });
  expect([one.statusCode, one.json()]).toEqual([200, { data: { redirect_to: leavingUrl('https://id.example', 'x') } }]);
});
