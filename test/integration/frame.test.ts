import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { pino } from 'pino';
import { ageKeys } from '../support/age-keys.js';
import { newAccount, send, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { type IdentityCaller, newIdentityCaller } from '../support/identity-caller.js';
import { counted, interleaved } from '../support/interleaving.js';
import { newPublicClient } from '../support/public-client.js';
import { rowsOf } from '../support/rows.js';

let api: TestApi;
let account: TestAccount;
let key: Record<string, string>;
beforeAll(async () => {
  api = await startApi();
  account = await newAccount(api);
  key = await account.apiKey();
});
afterAll(() => api.stop());

const json = { 'content-type': 'application/json' };
const form = { 'content-type': 'application/x-www-form-urlencoded' };

describe('errors', () => {
  test('an unknown path is 404 in the envelope, without its query', async () => {
    const { error } = (await send(api.app, 404, { url: '/api/v1/nothing?token=secret' })).json();
    expect(error).toEqual({
      statusCode: 404,
      code: 'route.not_found',
      message: expect.any(String),
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      path: '/api/v1/nothing',
      method: 'GET',
    });
  });

  test('PostgreSQL lost in the middle of a write with an Idempotency-Key gets the usual envelope, and nothing more', async () => {
    const { db } = api.database;
    const { statement } = db;
    const words = 'pg_hba.conf rejects connection for host "10.0.0.7", user "service"';
    const lost = () => Promise.reject(Object.assign(new Error(words), { code: '28000', severity: 'FATAL' }));
    const mocks = [
      jest.spyOn(db, 'transaction').mockImplementation(lost),
      jest
        .spyOn(db, 'statement')
        .mockImplementation((what, values) =>
          what.name === 'release_idempotent_request' ? lost() : statement(what, values),
        ),
    ];
    try {
      const answer = await send(api.app, 503, {
        method: 'POST',
        url: '/api/v1/organizations',
        headers: { ...key, 'idempotency-key': randomUUID() },
        payload: { name: 'Acme' },
      });
      expect(answer.json().error).toMatchObject({ statusCode: 503, code: 'service.unavailable' });
      expect(answer.body).not.toContain('10.0.0.7');
      expect(
        mocks[1]?.mock.calls.some(([what]) => (what as { name: string }).name === 'release_idempotent_request'),
      ).toBe(true);
    } finally {
      for (const mock of mocks) mock.mockRestore();
    }
  });

  test('an absolute target, as proxies send it, is handled as its path: in errors and in links', async () => {
    await api.app.listen({ port: 0, host: '127.0.0.1' });
    const { port } = api.app.server.address() as AddressInfo;
    const asked = async (path: string, headers: OutgoingHttpHeaders = {}, method = 'GET') => {
      const sent = request({ port, path, method, headers, agent: false }).end();
      const [answer] = (await once(sent, 'response')) as [IncomingMessage];
      return { headers: answer.headers, body: await text(answer) };
    };
    const nothing = await asked('http://id.example.com/api/v1/nothing?token=secret', key);
    expect(JSON.parse(nothing.body).error.path).toBe('/api/v1/nothing');
    const wrong = await asked('HTTP://id.example.com/oauth/token?x');
    expect([wrong.headers.allow, JSON.parse(wrong.body).error]).toEqual(['OPTIONS, POST', 'invalid_request']);
    const { headers } = await asked('http://id.example.com/api/v1/permissions?take=1', key);
    expect(headers.link).toMatch(/^<\/api\/v1\/permissions\?take=1&page=2[^>]*>; rel="next"$/);
    expect((await asked('http://id.example.com?x')).body).toContain('"path":"/"');
  });

  const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8', 'accept-language': 'de' };

  test.each([
    ['/', 404],
    ['/oauth', 404],
    ['/oauth/?x=1', 404],
    ['/oauth/nothing/here', 404],
    ['/oauth/token', 405],
    ['/oauth/mfa-challenge', 405],
    ['/oauth/login/email-otp/start', 405],
    ['/sso/nothing', 404],
    ['/sso/saml/01a20566-4813-7196-8c88-e99304a6ad56/acs', 405],
  ])('a browser that opens %s gets a page with the same status, and a client the JSON', async (url, status) => {
    const page = await send(api.app, status, { url, headers: html });
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    const title = status === 404 ? 'Seite nicht gefunden' : 'Dieser Schritt lässt sich nicht noch einmal öffnen';
    expect(page.body).toContain(`<h1>${title}</h1>`);
    expect(page.body).toContain(String(page.headers['x-request-id']));
    for (const accept of ['application/json', '*/*', undefined]) {
      const { headers, body } = await send(api.app, status, { url, headers: accept ? { accept } : {} });
      expect(headers['content-type']).toContain('application/json');
      const { error } = JSON.parse(body);
      // Existing routes under /oauth answer with RFC 6749's error (contract §1).
      if (status === 405 && url.startsWith('/oauth/')) expect(error).toBe('invalid_request');
      else expect(error.statusCode).toBe(status);
      expect(headers.allow).toBe(page.headers.allow);
    }
  });

  test('the sign-in page’s address without its request is explained as a step, and no application is blamed', async () => {
    for (const url of ['/oauth/authorize', '/oauth/authorize?', '/oauth/authorize?ui_locales=de']) {
      const page = await send(api.app, 400, { url, headers: html });
      expect(page.body).toContain('<h1>Dieser Schritt lässt sich nicht noch einmal öffnen</h1>');
      expect(page.body).not.toContain('client_id');
    }
    const asked = await send(api.app, 400, { url: '/oauth/authorize?scope=openid', headers: html });
    expect(asked.body).toContain('client_id is missing');
    const told = (
      await send(api.app, 400, { url: '/oauth/authorize', headers: { accept: 'application/json' } })
    ).json();
    expect(told.error_description).toBe('client_id is missing');
  });

  test('the page uses the language that the address requests', async () => {
    const page = await send(api.app, 404, { url: '/oauth/nothing?ui_locales=en', headers: html });
    expect(page.body).toContain('Page not found');
  });

  test('a form that is sent to a missing page is answered by a page, and not read', async () => {
    const form = { ...html, 'content-type': 'application/x-www-form-urlencoded' };
    const page = await send(api.app, 404, { method: 'POST', url: '/oauth/nothing', headers: form, payload: 'a=1' });
    expect(page.body).toContain('Seite nicht gefunden');
  });

  test('a browser at a path of an API gets the usual answer', async () => {
    const { error } = (await send(api.app, 404, { url: '/api/v1/nothing', headers: html })).json();
    expect(error.code).toBe('route.not_found');
  });

  test('a known path with another method is 405 and lists the methods', async () => {
    const response = await send(api.app, 405, { method: 'DELETE', url: '/api/v1/identities', headers: key });
    expect(response.headers.allow).toBe('GET, HEAD, POST');
    expect(response.json().error.code).toBe('route.method_not_allowed');
  });

  test.each([
    ['DELETE', '/api/v1/identities/summary', 'GET, HEAD'],
    ['GET', '/api/v1/identities/bulk', 'POST'],
    ['HEAD', '/api/v1/identities/bulk', 'POST'],
    ['PATCH', '/api/v1/nodes/tree', 'GET, HEAD'],
    ['DELETE', '/portal/v1/accounts/none/identities/summary', 'GET, HEAD'],
  ] as const)('so is one whose name stands where others have an id: %s %s', async (method, url, allowed) => {
    const response = await send(api.app, 405, { method, url, headers: key });
    expect(response.headers.allow).toBe(allowed);
  });

  test.each([
    ['{', json],
    ['<a/>', { 'content-type': 'text/xml' }],
    ['x'.repeat(1024 * 1024 + 1), json],
    ['{}', { ...json, 'content-encoding': 'gzip' }],
  ])('an unknown route is reported as such, whatever the body is (%#)', async (payload, headers) => {
    const sent = { payload, headers: { ...key, ...headers } };
    const unknown = await send(api.app, 404, { method: 'POST', url: '/api/v1/nothing', ...sent });
    expect(unknown.json().error.code).toBe('route.not_found');
    const method = await send(api.app, 405, { method: 'PUT', url: '/api/v1/identities', ...sent });
    expect(method.json().error.code).toBe('route.method_not_allowed');
  });

  const post = (payload: string | Buffer, headers: Record<string, string> = json) => ({
    method: 'POST' as const,
    url: '/api/v1/identities',
    headers: { ...key, ...headers },
    payload,
  });

  test.each([
    ['malformed JSON', '{', json, 400, 'body.malformed'],
    ['an empty body', '', json, 400, 'body.malformed'],
    ['an empty form', '', { ...form, 'content-length': '0' }, 400, 'validation.failed'],
    ['a prototype in the body', '{"__proto__": {"x": 1}}', json, 400, 'body.malformed'],
    [
      'JSON that is not UTF-8',
      Buffer.from('{"email":"a@example.com","first_name":"Zoë"}', 'latin1'),
      json,
      400,
      'body.malformed',
    ],
    ['another media type', '<a/>', { 'content-type': 'text/xml' }, 415, 'body.unsupported_media_type'],
    ['a form', 'email=a', form, 415, 'body.unsupported_media_type'],
    ['a plain text', '{}', { 'content-type': 'text/plain' }, 415, 'body.unsupported_media_type'],
    ['an oversize body', JSON.stringify({ email: 'x'.repeat(1024 * 1024) }), json, 413, 'body.too_large'],
    ['an array', '[]', json, 400, 'validation.failed'],
    ['a NUL character', '{"email":"a@example.com","external_id":"a\\u0000b"}', json, 400, 'validation.failed'],
  ])('%s is refused', async (_name, payload, headers, status, code) => {
    expect((await send(api.app, status, post(payload, headers))).json().error.code).toBe(code);
  });

  test.each([
    ['JSON', '/api/v1/identities', 'application/json', '"code":"body.unsupported_encoding"'],
    ['a form', '/oauth/token', 'application/x-www-form-urlencoded', '"error":"invalid_request"'],
  ])(
    'compressed content (%s) is refused, since nothing is unpacked; "identity" is no compression',
    async (_, url, type, said) => {
      const sent = { method: 'POST', url, payload: gzipSync('grant_type=x') } as const;
      const refused = await send(api.app, 415, {
        ...sent,
        headers: { ...key, 'content-type': type, 'content-encoding': 'gzip' },
      });
      expect(refused.headers['accept-encoding']).toBe('identity');
      expect(refused.body).toContain(said);
      const headers = { ...key, 'content-type': type, 'content-encoding': ' Identity ' };
      expect((await api.app.inject({ ...sent, payload: '', headers })).statusCode).not.toBe(415);
    },
  );

  test('a content type without a body is accepted where there is nothing to send', async () => {
    const nobody = '/api/v1/identities/0192f0c0-0000-7000-8000-000000000000';
    for (const type of ['application/json', 'application/x-www-form-urlencoded; charset=UTF-8', 'nonsense']) {
      for (const [method, url] of [
        ['DELETE', nobody],
        ['POST', `${nobody}/activate`],
      ] as const) {
        const headers = { ...key, 'content-type': type, 'content-length': '0' };
        const response = await send(api.app, 404, { method, url, headers, payload: '' });
        expect(response.json().error.code).toBe('identity.not_found');
      }
    }
  });

  test.each([
    ['{"email":"a@example.com","external_id":"a\\u0000b"}', 'external_id'],
    ['{"email":"a@example.com","metadata":{"tags":["a","b\\u0000"]}}', 'metadata.tags[1]'],
    ['{"email":"a@example.com","metadata":{"a\\u0000":1}}', 'metadata'],
  ])('a text that cannot be stored is named (%s)', async (payload, field) => {
    const { details } = (await send(api.app, 400, post(payload))).json().error;
    expect(details).toEqual([expect.objectContaining({ field, code: 'unstorable' })]);
  });

  test('a text that cannot be searched for is named', async () => {
    const { details } = (await send(api.app, 400, { url: '/api/v1/roles?q=a%00', headers: key })).json().error;
    expect(details).toEqual([expect.objectContaining({ field: 'query.q', code: 'unstorable' })]);
  });

  test('fields are refused where the operation has none', async () => {
    const { data } = (await send(api.app, 201, post(JSON.stringify({ email: 'surplus@example.com' })))).json();
    const url = `/api/v1/identities/${data.id}/deactivate`;
    const request = { method: 'POST' as const, url, headers: { ...key, ...json } };
    const refused = await send(api.app, 400, { ...request, payload: '{"reason":"left"}' });
    expect(refused.json().error).toMatchObject({
      code: 'validation.failed',
      details: [{ field: 'reason', code: 'unknown_field' }],
    });
    for (const payload of ['5', 'false', '""', '"left"', '["left"]']) {
      const { error } = (await send(api.app, 400, { ...request, payload })).json();
      expect(error).toMatchObject({ code: 'validation.failed', details: [{ field: '', code: 'unknown_field' }] });
    }
    for (const payload of ['{}', 'null', '[]']) await send(api.app, 200, { ...request, payload });
  });

  test('an empty optional body counts as none, whatever its content type', async () => {
    const made = (url: string, payload: object) => send(api.app, 201, { method: 'POST', url, headers: key, payload });
    const { id: person } = (await made('/api/v1/identities', { email: 'empty@example.com' })).json().data;
    const { id: spare } = (await made('/api/v1/api-keys', { name: 'Spare', access_mode: 'full' })).json().data;
    await newPublicClient(api, account.scope); // for a link to lead to
    for (const url of [`/api/v1/identities/${person}/password/reset`, `/api/v1/api-keys/${spare}/rotate`]) {
      await send(api.app, 200, { method: 'POST', url, headers: { ...key, ...json }, payload: '' });
    }
    await send(api.app, 204, { method: 'POST', url: '/v1/identity/auth/logout', headers: json, payload: '' });
    const { paths } = (await send(api.app, 200, { url: '/openapi.json' })).json();
    const optional = [
      '/api/v1/api-keys/{id}/rotate',
      '/api/v1/identities/{id}/password/reset',
      '/v1/identity/auth/logout',
    ];
    for (const path of optional) expect([path, paths[path].post.requestBody.required]).toEqual([path, false]);
    expect(paths['/api/v1/identities'].post.requestBody.required).toBe(true);
  });

  test.each(['javascript:alert(1)', 'data:text/html,<script>', 'file:///etc/passwd'])(
    'a picture at %s is refused, and one on the web is accepted',
    async (avatar_url) => {
      const refused = await send(api.app, 400, post(JSON.stringify({ email: 'pictured@example.com', avatar_url })));
      expect(refused.json().error.details[0]).toMatchObject({ field: 'avatar_url', code: 'pattern' });
      const shown = { email: `${randomUUID()}@example.com`, avatar_url: 'https://cdn.example.com/a.png' };
      expect((await send(api.app, 201, post(JSON.stringify(shown)))).json().data).toMatchObject(shown);
    },
  );

  test.each(['https://', 'https://:80', 'https://x.example:99999', 'https://300.1.1.1/a.png'])(
    'a picture at %s is refused, since no browser can load it',
    async (avatar_url) => {
      const refused = await send(api.app, 400, post(JSON.stringify({ email: 'pictured@example.com', avatar_url })));
      expect(refused.json().error.details).toEqual([
        { field: 'avatar_url', code: 'format', message: 'must be an absolute URL' },
      ]);
    },
  );

  test('an unknown field, a wrong type and a missing field are listed', async () => {
    const payload = JSON.stringify({ first_name: 7, nickname: 'x' });
    const { error } = (await send(api.app, 400, post(payload))).json();
    expect(error.details).toEqual(
      expect.arrayContaining([
        { field: 'email', code: 'required', message: expect.any(String) },
        {
          field: 'nickname',
          code: 'unknown_field',
          message: expect.stringMatching(/^is not supported here; supported: .*\blast_name,/),
        },
        { field: 'first_name', code: 'type', message: expect.any(String) },
      ]),
    );
  });

  test('null is not turned into an empty text, nor a number into a text', async () => {
    await send(api.app, 400, post(JSON.stringify({ email: null })));
    await send(api.app, 400, post(JSON.stringify({ email: 'nul@example.com', external_id: 12 })));
  });

  test.each(['\u200b', '\u2800', '\u3164', '\u202e\u2066', '\u00ad\ufe0f', ' \u2060 ', '\ufeff'])(
    'a name without anything visible, such as %j, is refused',
    async (name) => {
      const refused = await send(api.app, 400, post(JSON.stringify({ email: 'nobody@example.com', first_name: name })));
      expect(refused.json().error.details).toEqual([
        { field: 'first_name', code: 'pattern', message: 'must be text on one line, and show something' },
      ]);
    },
  );

  test('characters that join, mark or direct others may be part of a name', async () => {
    for (const [i, name] of ['\u200fשרה', 'می\u200cخواهم', '❤️', '👩\u200d💻'].entries()) {
      const payload = { email: `joined-${i}@example.com`, first_name: name };
      const made = await send(api.app, 201, post(JSON.stringify(payload)));
      expect(made.json().data.first_name).toBe(name);
    }
  });

  test.each([
    ['a leap second', '2026-12-31T23:59:60Z'],
    ['a time that its offset puts after the year 9999', '9999-12-31T23:59:59-00:01'],
  ])('%s is refused as a time of expiry', async (_name, expires_at) => {
    const payload = { name: 'x', access_mode: 'full', expires_at };
    const refused = await send(api.app, 400, { method: 'POST', url: '/api/v1/api-keys', headers: key, payload });
    expect(refused.json().error.details).toMatchObject([{ field: 'expires_at', code: 'instant' }]);
  });

  test('a broken path encoding is 400', async () => {
    const refused = await send(api.app, 400, { url: '/api/v1/identities/%zz/detail', headers: key });
    expect(refused.json().error).toMatchObject({ code: 'validation.failed', details: [{ field: 'path' }] });
  });

  test('the caller’s request id is kept if it is a UUID, and generated otherwise', async () => {
    const id = '0192f0c1-1111-7abc-8def-1234567890ab';
    const kept = await api.app.inject({ url: '/healthz', headers: { 'x-request-id': id } });
    expect(kept.headers['x-request-id']).toBe(id);
    const made = await api.app.inject({ url: '/healthz', headers: { 'x-request-id': 'a b' } });
    expect(made.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });
});

const eventsOf = 'select action, outcome, actor_type from events where correlation_id = $1';

describe('principals', () => {
  const url = '/api/v1/identities';
  test('no credential, a wrong key and a mistyped one are 401 without a code', async () => {
    const wrong = `${key['x-api-key']?.slice(0, -7)}0000000`;
    for (const headers of [{}, { 'x-api-key': wrong }, { 'x-api-key': 'nonsense' }, { authorization: 'Basic eDp5' }]) {
      const response = await send(api.app, 401, { url, headers });
      expect(response.json().error.code).toBeNull();
      expect(response.headers['www-authenticate']).toMatch(/^Bearer/);
    }
  });

  test('a visibly missing or misplaced credential is explained', async () => {
    const slipOf = async (at: string, headers: Record<string, string>) =>
      (await send(api.app, 401, { url: at, headers })).json().error.details?.[0]?.code;
    const secret = key['x-api-key'] as string;
    const portal = account.portalPath('/identities');
    expect(await slipOf(url, {})).toBe('missing');
    expect(await slipOf(url, { authorization: `Bearer ${secret}` })).toBe('misplaced');
    expect(await slipOf(portal, key)).toBe('misplaced');
    expect(await slipOf(portal, { authorization: `Bearer ${secret}` })).toBe('misplaced');
    // Nothing that only a look-up could reveal.
    expect(await slipOf(url, { 'x-api-key': 'nonsense' })).toBeUndefined();
    expect(await slipOf(url, { authorization: 'Bearer nonsense' })).toBeUndefined();
  });

  test('both credentials at once are refused', async () => {
    const both = { ...key, ...(await account.as('owner')) };
    expect((await send(api.app, 400, { url, headers: both })).json().error.code).toBe('auth.multiple_credentials');
  });

  test("an administrator's token is of the wrong type for the Public API, and a key for the Portal", async () => {
    expect((await send(api.app, 403, { url, headers: await account.as('owner') })).json().error.code).toBeNull();
    await send(api.app, 401, { url: account.portalPath('/identities'), headers: key });
  });

  test('a scoped key does what its scopes say and nothing else', async () => {
    const reader = await account.apiKey(['identity.view']);
    await send(api.app, 200, { url, headers: reader });
    const refused = await send(api.app, 403, {
      method: 'POST',
      url,
      headers: reader,
      payload: { email: 'x@example.com' },
    });
    expect(refused.json().error.code).toBe('api_key.scope_required');
  });

  test('a key cannot make a stronger one', async () => {
    const maker = await account.apiKey(['api_key.manage']);
    const make = (payload: object) =>
      api.app.inject({ method: 'POST', url: '/api/v1/api-keys', headers: maker, payload });
    const refused = await make({ name: 'x', access_mode: 'full' });
    expect(refused.json().error.code).toBe('api_key.cannot_grant');
    expect(await rowsOf(api, eventsOf, [refused.headers['x-request-id']])).toEqual([
      { action: 'auth.access_denied', outcome: 'denied', actor_type: 'api_key' },
    ]);
    expect((await make({ name: 'x', access_mode: 'scoped', scopes: ['identity.view'] })).statusCode).toBe(403);
    expect((await make({ name: 'x', access_mode: 'scoped', scopes: ['api_key.manage'] })).statusCode).toBe(201);
  });

  test('a disabled key stops at once, and works again when enabled', async () => {
    const owner = await account.as('owner');
    const made = await send(api.app, 201, {
      method: 'POST',
      url: account.portalPath('/api-keys'),
      headers: owner,
      payload: { name: 'switched', access_mode: 'full' },
    });
    const { id, secret, key_preview } = made.json().data;
    expect(key_preview).toBe(`ghk_test_…${secret.slice(-4)}`);
    const use = async (status: number) => send(api.app, status, { url, headers: { 'x-api-key': secret } });
    const turn = (is_active: boolean) =>
      send(api.app, 200, { method: 'PATCH', url: `/api/v1/api-keys/${id}`, headers: key, payload: { is_active } });
    await use(200);
    expect((await turn(false)).json().data).not.toHaveProperty('secret');
    await use(401);
    await turn(true);
    await use(200);
    api.clock.advance(1000);
  });

  test('a refused capability is 403 with its code and an audit row', async () => {
    const response = await send(api.app, 403, {
      method: 'PATCH',
      url: account.portalPath('/settings'),
      headers: await account.as('viewer'),
      payload: {},
    });
    expect(response.json().error.code).toBe('account.capability_required');
    expect(await rowsOf(api, eventsOf, [response.headers['x-request-id']])).toEqual([
      { action: 'auth.access_denied', outcome: 'denied', actor_type: 'platform_admin' },
    ]);
  });

  test('another account, application or environment is 404', async () => {
    const stranger = await newAccount(api);
    const headers = await stranger.as('owner');
    await send(api.app, 404, { url: account.portalPath('/identities'), headers });
    await send(api.app, 404, { url: stranger.portalPath('/identities', 'staging'), headers });
    await send(api.app, 404, { url: '/portal/v1/accounts/nobody/me', headers });
  });

  test('a missing object is 404 before the request is validated', async () => {
    const url = '/api/v1/api-keys/0192f0c1-1111-7abc-8def-1234567890ab';
    await send(api.app, 404, { method: 'PATCH', url, headers: key, payload: { nonsense: true } });
    await send(api.app, 401, { method: 'PATCH', url, payload: { nonsense: true } });
    await send(api.app, 403, {
      method: 'PATCH',
      url,
      headers: await account.apiKey(['identity.view']),
      payload: { nonsense: true },
    });
    // Nor what a rule refuses.
    const id = randomUUID();
    const rules: [method: 'POST' | 'PUT', path: string, payload: object][] = [
      ['POST', `/organizations/${id}/domains`, { domain: 'text' }],
      ['PUT', `/identities/${id}/password`, { password: 'text' }],
    ];
    for (const [method, path, payload] of rules)
      await send(api.app, 404, { method, url: `/api/v1${path}`, headers: key, payload });
    const extend = account.portalPath('').replace(/\/applications.*/, `/processes/${id}/extend`);
    await send(api.app, 404, { method: 'POST', url: extend, headers: await account.as('owner'), payload: {} });
    // What is no id names nothing either, and gets the same answer.
    await send(api.app, 404, { method: 'PATCH', url: '/api/v1/api-keys/7', headers: key, payload: { nonsense: true } });
    await send(api.app, 403, {
      method: 'PATCH',
      url: '/api/v1/nodes/7',
      headers: await account.apiKey(['identity.view']),
      payload: { nonsense: true },
    });
  });

  test('that is true for every operation with a body and an id in its path', async () => {
    const owner = await account.as('owner');
    const { paths } = (await api.app.inject('/openapi.json')).json<{
      paths: Record<string, Record<string, { requestBody?: object }>>;
    }>();
    const known: Record<string, string> = {
      account_slug: account.accountSlug,
      application_slug: account.applicationSlug,
      environment_slug: 'development',
    };
    const asked: string[] = [];
    for (const [path, methods] of Object.entries(paths)) {
      const [surface] = /^\/(api\/v1|portal\/v1\/accounts)\//.exec(path) ?? [];
      const own = [...path.matchAll(/{(\w+)}/g)].filter(([, name]) => !Object.hasOwn(known, name as string));
      if (!surface || own.length === 0) continue;
      const url = path.replace(/{(\w+)}/g, (_, name) => known[name] ?? randomUUID());
      for (const [method, { requestBody }] of Object.entries(methods)) {
        if (!requestBody) continue;
        const headers = surface.startsWith('/api') ? key : owner;
        const request = { method: method.toUpperCase() as 'POST', url, headers, payload: { nonsense: true } };
        const { statusCode } = await api.app.inject(request);
        asked.push(`${statusCode} ${method} ${path}`);
      }
    }
    expect(asked.length).toBeGreaterThan(40);
    expect(asked.filter((one) => !one.startsWith('404'))).toEqual([]);
  });

  test('a revoked session stops at once', async () => {
    const headers = await account.as('owner');
    await send(api.app, 200, { url: `/portal/v1/accounts/${account.accountSlug}/me`, headers });
    await api.database.db.transaction('system', (tx) => tx.query('update user_sessions set revoked_at = now()'));
    await send(api.app, 401, { url: `/portal/v1/accounts/${account.accountSlug}/me`, headers });
  });
});

describe('If-Match and ETag', () => {
  test('settings can be changed with the version that was read, and a stale version gets the current state', async () => {
    const headers = await account.as('admin');
    const url = account.portalPath('/settings');
    const read = await send(api.app, 200, { url, headers });
    expect(read.headers.etag).toBe(`"${read.json().data.version}"`);
    const patch = (ifMatch: string | null, payload: object) =>
      api.app.inject({
        method: 'PATCH',
        url,
        headers: { ...headers, ...(ifMatch !== null && { 'if-match': ifMatch }) },
        payload,
      });

    expect((await patch(null, {})).json().error.code).toBe('if_match.required');
    expect((await patch('seven', {})).json().error.code).toBe('if_match.invalid');
    const branding = { primary_color: '#123456', name: ' Acme ' };
    const changed = await patch(read.headers.etag as string, { branding });
    expect(changed.statusCode).toBe(200);
    expect(changed.headers.etag).toBe('"2"');
    const stale = await patch('1', { password_min_length: 12 });
    expect(stale.statusCode).toBe(409);
    expect(stale.json()).toMatchObject({
      error: { code: 'version.conflict' },
      data: { version: 2, branding: { primary_color: '#123456', name: 'Acme' } },
    });
    expect((await patch('2', { password_min_length: 4 })).json().error.details[0].field).toBe('password_min_length');
    const idle = 'session_idle_ttl_seconds';
    expect(changed.json().data[idle]).toBeNull();
    for (const wrong of [299, 7_776_001, 'never'])
      expect((await patch('2', { [idle]: wrong })).json().error.details[0].field).toBe(idle);
    expect((await patch('2', { [idle]: 3_600 })).json().data[idle]).toBe(3_600);
    expect((await patch('3', { [idle]: null })).json().data[idle]).toBeNull();
    const [drift, end, sso] = ['totp_drift_steps', 'session_end_require_recent_sign_in', 'sso_require_confirmation'];
    expect(changed.json().data).toMatchObject({ [drift]: 1, [end]: false, [sso]: false });
    for (const wrong of [{ [drift]: 2 }, { [drift]: -1 }, { [end]: 'yes' }, { [sso]: null }])
      expect((await patch('4', wrong)).json().error.details[0].field).toBe(Object.keys(wrong)[0]);
    const stricter = { [drift]: 0, [end]: true, [sso]: true };
    expect((await patch('4', stricter)).json().data).toMatchObject(stricter);
    expect(changed.json().data.allow_email_change).toBe(false);
    expect((await patch('5', { allow_email_change: true })).json().data.allow_email_change).toBe(true);
  });

  test('of twenty writers with one version, one succeeds', async () => {
    const fresh = await newAccount(api);
    const headers = { ...(await fresh.as('owner')), 'if-match': '1' };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        api.app.inject({
          method: 'PATCH',
          url: fresh.portalPath('/settings'),
          headers,
          payload: { default_locale: 'de' },
        }),
      ),
    );
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, ...Array(19).fill(409)]);
  });
});

describe('Idempotency-Key', () => {
  const create = (idempotencyKey: string, payload: object) =>
    api.app.inject({
      method: 'POST',
      url: '/api/v1/identities',
      headers: { ...key, 'idempotency-key': idempotencyKey },
      payload,
    });

  test('a retry gets the first answer again and creates nothing', async () => {
    const first = await create('one', { email: 'idem@example.com' });
    const again = await create('one', { email: 'idem@example.com' });
    expect(again.statusCode).toBe(201);
    expect(again.body).toBe(first.body);
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect(first.headers['idempotency-replayed']).toBeUndefined();
  });

  test('the same key for another request is refused', async () => {
    await create('two', { email: 'two@example.com' });
    expect((await create('two', { email: 'three@example.com' })).json().error.code).toBe('idempotency.key_reused');
  });

  test('refusals are stored too: the same one is repeated', async () => {
    await create('dup-0', { email: 'dup@example.com' });
    const first = await create('dup-1', { email: 'DUP@example.com' });
    expect(first.json().error.code).toBe('identity.email_taken');
    expect((await create('dup-1', { email: 'DUP@example.com' })).body).toBe(first.body);
  });

  test('twenty requests at once create one object, and the rest get "in progress" or the answer', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => create('burst', { email: 'burst@example.com' })),
    );
    const created = answers.filter(({ statusCode }) => statusCode === 201);
    expect(created.filter(({ headers }) => !headers['idempotency-replayed'])).toHaveLength(1);
    for (const { statusCode, headers } of answers.filter((answer) => answer.statusCode !== 201)) {
      expect(statusCode).toBe(409);
      expect(headers['retry-after']).toBe('1');
    }
  });

  test('keys belong to a credential, invalid ones are refused, and after 24 hours a key is free', async () => {
    const other = await (await newAccount(api)).apiKey();
    await create('mine', { email: 'mine@example.com' });
    await send(api.app, 201, {
      method: 'POST',
      url: '/api/v1/identities',
      headers: { ...other, 'idempotency-key': 'mine' },
      payload: { email: 'theirs@example.com' },
    });
    expect((await create('a b', { email: 'q@example.com' })).json().error.code).toBe('idempotency.key_invalid');
    await ageKeys(api.database.ownerUrl, 25 * 3_600_000);
    expect((await create('mine', { email: 'mine2@example.com' })).statusCode).toBe(201);
  });

  test('a malformed key is reported after a missing permission and a missing object', async () => {
    const other = await newAccount(api);
    const change = async (headers: Record<string, string>) => {
      const sent = { ...headers, 'if-match': '1', 'idempotency-key': 'a b' };
      const url = `/api/v1/roles/${randomUUID()}`;
      return (await api.app.inject({ method: 'PATCH', url, headers: sent, payload: { name: 'Clerk' } })).json().error
        .code;
    };
    expect(await change(await other.apiKey(['changes.read']))).toBe('api_key.scope_required');
    expect(await change(await other.apiKey())).toBe('role.not_found');
    const { accountId } = other.scope;
    const denied = await rowsOf(api, "select resource_id from events where account_id = $1 and outcome = 'denied'", [
      accountId,
    ]);
    expect(denied).toEqual([{ resource_id: 'updateRole' }]);
  });

  test('a key is taken longer than a request may last; a request that ends later neither stores an answer nor frees the key', async () => {
    const first = { email: 'halted@example.com' };
    const second = { email: 'meanwhile@example.com' };
    const { statements } = await counted(() => create('counted', { email: 'counted@example.com' }));
    const [halted, [running, meanwhile]] = await interleaved(
      api.database.ownerUrl,
      statements - 1, // the one that creates the identity; the last one stores the answer
      () => create('halted', first),
      async () => {
        await ageKeys(api.database.ownerUrl, 5 * 60_000); // REQUEST_TIMEOUT of tests
        const running = await create('halted', first);
        await ageKeys(api.database.ownerUrl, 7 * 60_000);
        return [running, await create('halted', second)] as const;
      },
    );
    expect(running.json().error.code).toBe('idempotency.in_progress');
    expect([halted.statusCode, meanwhile.statusCode]).toEqual([201, 201]);
    const again = await create('halted', second);
    expect([again.body, again.headers['idempotency-replayed']]).toEqual([meanwhile.body, 'true']);
    expect((await create('halted', first)).json().error.code).toBe('idempotency.key_reused');
  });

  test('a key in use is taken for an api whose clock is an hour ahead, too', async () => {
    const ahead = await startApi({}, undefined, api.database);
    ahead.clock.advance(3_600_000);
    const sent = { method: 'POST' as const, url: '/api/v1/nodes', headers: { ...key, 'idempotency-key': 'apart' } };
    const createBy = (by: TestApi) => by.app.inject({ ...sent, payload: { node_type: 'organization', name: 'Apart' } });
    try {
      expect((await createBy(api)).statusCode).toBe(201);
      await rowsOf(api, `update idempotent_requests set status_code = null, body_sealed = null where key = 'apart'`);
      expect((await createBy(ahead)).json().error?.code).toBe('idempotency.in_progress');
    } finally {
      await ahead.stop();
    }
  });

  test('a person’s keys in one Environment are independent of those in another', async () => {
    const held = [{ role: 'Administrator' }];
    const here = await newIdentityCaller(api, account, held);
    const there = await newIdentityCaller(api, { scope: account.productionScope }, held, here.email);
    expect(there.id).toBe(here.id);
    const create = ({ headers }: IdentityCaller) =>
      send(api.app, 201, {
        method: 'POST',
        url: '/api/v1/organizations',
        headers: { ...headers, 'idempotency-key': 'both' },
        payload: { name: 'Both' },
      });
    const [first, second] = [await create(here), await create(there)];
    expect(second.json().data.id).not.toBe(first.json().data.id);
    expect(second.headers['idempotency-replayed']).toBeUndefined();
  });

  test('stored answers are sealed: a secret that is shown once cannot be read in the database', async () => {
    const made = await send(api.app, 201, {
      method: 'POST',
      url: account.portalPath('/oauth-clients'),
      headers: { ...(await account.as('owner')), 'idempotency-key': 'client' },
      payload: { name: 'Web', client_type: 'confidential', redirect_uris: ['https://app.example.com/cb'] },
    });
    const rows = await api.database.db.transaction('system', (tx) =>
      tx.query('select row_to_json(r)::text as row from idempotent_requests r'),
    );
    expect(rows.length).toBeGreaterThan(0);
    expect(JSON.stringify(rows)).not.toContain(made.json().data.client_secret);
  });
});

describe('lists', () => {
  test('refuse values out of range with 400, and do not clamp them', async () => {
    for (const query of [
      'take=0',
      'take=101',
      'page=0',
      'page=x',
      ...['0x10', '1e1', '5.0', '%205', '%2B5', ''].map((number) => `take=${number}`),
      'take=5&take=5',
      `q=${'a'.repeat(201)}`,
      'sort_by=password_hash',
      'order=up',
      'limit=3',
    ]) {
      await send(api.app, 400, { url: `/api/v1/identities?${query}`, headers: key });
    }
    const { error } = (await send(api.app, 400, { url: '/api/v1/nodes/tree?depth=0x2', headers: key })).json();
    expect(error.details).toEqual([{ field: 'query.depth', code: 'type', message: 'must be an integer' }]);
  });

  test('have complete, stable, counted pages, from either end', async () => {
    const crowd = await newAccount(api);
    const headers = await crowd.apiKey();
    const empty = (await send(api.app, 200, { url: '/api/v1/identities', headers })).json();
    expect(empty).toEqual({
      items: [],
      pagination: { page: 1, take: 20, item_count: 0, page_count: 0, has_previous_page: false, has_next_page: false },
    });
    const made: string[] = [];
    for (let i = 0; i < 23; i++) {
      const response = await send(api.app, 201, {
        method: 'POST',
        url: '/api/v1/identities',
        headers,
        payload: { email: `p${String(i).padStart(2, '0')}@example.com`, first_name: i % 2 ? 'Odd' : 'Even_%' },
      });
      made.push(response.json().data.id);
      if (i % 3 === 0) api.clock.advance(1); // several have the same time: the id decides
    }
    const pages: string[] = [];
    for (let page = 1; page <= 5; page++) {
      const { items, pagination } = (
        await send(api.app, 200, { url: `/api/v1/identities?take=5&page=${page}`, headers })
      ).json();
      expect(pagination).toEqual({
        page,
        take: 5,
        item_count: 23,
        page_count: 5,
        has_previous_page: page > 1,
        has_next_page: page < 5,
      });
      pages.push(...items.map(({ id }: { id: string }) => id));
    }
    expect(pages).toEqual([...made].reverse());
    const byEmail = (
      await send(api.app, 200, { url: '/api/v1/identities?sort_by=email&order=asc&take=3&page=8', headers })
    ).json();
    expect(byEmail.items.map(({ email }: { email: string }) => email)).toEqual(['p21@example.com', 'p22@example.com']);
    const filtered = (await send(api.app, 200, { url: '/api/v1/identities?q=even_%25', headers })).json();
    expect(filtered.pagination.item_count).toBe(12);
    expect((await send(api.app, 200, { url: '/api/v1/identities?page=9', headers })).json().items).toEqual([]);
  });
});

describe('documents', () => {
  test.each([
    ...['/api/v1/audit-logs/export', '/api/v1/nodes/tree', '/api/v1/roles', '/oauth/authorize?client_id=none'],
    ...['/api/v1/nothing', '/api/v1/roles?take=0', '/api/v1/roles/01a20566-4813-7196-8c88-e99304a6ad56', '/api/v1/%ff'],
  ])('the HEAD of %s has the length of the GET answer, or none', async (url) => {
    const [head, whole] = await Promise.all(
      (['HEAD', 'GET'] as const).map((method) => api.app.inject({ method, url, headers: key })),
    );
    expect([undefined, whole?.headers['content-length']]).toContain(head?.headers['content-length']);
  });

  test.each(['/api/v1/nothing', '/oauth/authorize?client_id=none', '/.well-known/jwks.json', '/docs/static/index.css'])(
    '%s cannot be embedded in pages of others, and is isolated from popups as configured',
    async (url) => {
      const { headers } = await api.app.inject({ url });
      expect(headers['cross-origin-resource-policy']).toBe('same-origin');
      expect([undefined, 'unsafe-none']).toContain(headers['cross-origin-opener-policy']);
    },
  );

  test('every operation is in the OpenAPI 3.0 document with its answers', async () => {
    const document = (await send(api.app, 200, { url: '/openapi.json' })).json();
    expect(document.openapi).toBe('3.0.3');
    for (const [path, method] of [
      ['/api/v1/identities', 'post'],
      ['/portal/v1/accounts/{accountSlug}/applications/{appSlug}/environments/{envSlug}/oauth-clients', 'post'],
      ['/v1/auth/register', 'post'],
    ] as const) {
      const operation = document.paths[path]?.[method];
      expect(operation?.operationId).toEqual(expect.any(String));
      expect(Object.keys(operation.responses).length).toBeGreaterThan(3);
    }
    const named = Object.entries(document.paths as Record<string, Record<string, { operationId?: string }>>).flatMap(
      ([path, methods]) =>
        Object.entries(methods).map(([method, { operationId }]) => [`${method} ${path}`, operationId] as const),
    );
    expect(named.filter(([, id]) => !id)).toEqual([]);
    const ids = named.map(([, id]) => id);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  });

  test('the documentation pages are served', async () => {
    const { headers, body } = await send(api.app, 200, { url: '/docs/' });
    expect(body).toContain('<title>Gatehouse API reference</title>');
    expect(headers['content-type']).toMatch(/^text\/html/);
    expect(headers['content-security-policy']).toMatch(
      /base-uri 'none'.*frame-ancestors 'none'.*object-src 'none'.*script-src 'self'/,
    );
    expect(headers['content-security-policy']).not.toContain('upgrade-insecure-requests'); // WebKit applies it to loopback, too
  });

  test('the pages read that document, and no other form of it is generated on request', async () => {
    const document = await send(api.app, 200, { url: '/openapi.json' });
    const read = await send(api.app, 200, { url: '/docs/json' });
    expect(read.headers['content-type']).toBe(document.headers['content-type']);
    expect(read.body).toBe(document.body);
    const yaml = await send(api.app, 404, { url: '/docs/yaml' });
    expect(yaml.json().error.code).toBe('route.not_found');
  });

  test.each(['%2e%2e/%2e%2e/package.json', '/etc/passwd', '%00'])(
    'no other file is read, and no server error is shown: %s',
    async (path) => {
      const { error } = (await send(api.app, 404, { url: `/docs/static/${path}` })).json();
      expect(error.code).toBe('route.not_found');
    },
  );

  test('health and readiness report the real state', async () => {
    expect((await send(api.app, 200, { url: '/healthz' })).json()).toEqual({ status: 'ok' });
    // There is no Temporal in this test.
    expect((await send(api.app, 200, { url: '/readyz' })).json()).toEqual({
      status: 'degraded',
      checks: { database: 'ok', migrations: 'ok', temporal: 'unavailable' },
    });
  });

  test('successful probes are not logged', async () => {
    const lines: string[] = [];
    const log = pino({ level: 'info' }, { write: (line) => void lines.push(line) });
    const logging = await startApi({}, log, api.database);
    for (const url of ['/healthz', '/readyz', '/api/v1/nothing']) await logging.app.inject({ url });
    await logging.stop();
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['answered']);
    expect(lines[0]).toContain('"status":404');
  });
});
