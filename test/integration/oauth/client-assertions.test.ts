import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, test } from '@jest/globals';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { v4 as uuidv4 } from 'uuid';
import { hours, minutes } from '../../../src/platform/clock.js';
import { loopback } from '../../../src/platform/outbound/addresses.js';
import { createOutbound } from '../../../src/platform/outbound/fetch.js';
import { redirectUri, type TestClient } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';
import { codeFor } from '../../support/oauth/sign-in.js';
import { until } from '../../support/until.js';

let served: unknown;
let fetches = 0;
/** Requests without an answer, while `silence` is served. */
let held: ServerResponse[] = [];

const world = await newProvider({ allowedNetworks: loopback });
const environment = await world.newEnvironment();
const pair = await generateKeyPair('ES256');
const key = pair.privateKey;
const jwks = { keys: [{ ...(await exportJWK(pair.publicKey)), kid: 'k1' }] };
const client = await environment.newClient({ tokenEndpointAuthMethod: 'private_key_jwt', jwks });
const server = createServer((request, response) => {
  fetches++;
  const path = request.url?.split('?')[0];
  if (path === '/big') return void response.end('x'.repeat(70_000));
  if (served === 'nothing') return void request.socket.destroy();
  if (served === 'silence') return void held.push(response);
  if (path === '/moved') return void response.writeHead(302, { location: '/jwks' }).end();
  return void response.setHeader('content-type', 'application/json').end(JSON.stringify(served));
});
await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
afterAll(async () => {
  server.close();
  await world.close();
});

const assertion = (of: TestClient, changes: JWTPayload = {}, { by = key, kid = 'k1' } = {}) => {
  const at = Math.floor(world.now().getTime() / 1000);
  const claims = {
    iss: of.clientId,
    sub: of.clientId,
    aud: world.baseUrl,
    iat: at,
    exp: at + 60,
    jti: uuidv4(),
    ...changes,
  };
  return new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid }).sign(by);
};
const send = (client_assertion: string, more: Record<string, string> = {}) =>
  world.app.inject({
    method: 'POST',
    url: '/oauth/token',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token: 'x',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion,
      ...more,
    }).toString(),
  });
/** `invalid_grant` means that the client was authenticated. */
const errorOf = async (token: string, more?: Record<string, string>) => (await send(token, more)).json().error;

test('an assertion redeems a code, with the issuer or an endpoint that accepts it as its audience', async () => {
  const ana = await environment.newIdentity();
  const endpoints = ['token', 'introspect', 'revoke'].map((name) => `${world.baseUrl}/oauth/${name}`);
  for (const aud of [world.baseUrl, ...endpoints, [world.baseUrl], [world.baseUrl, ...endpoints]]) {
    const { code, verifier } = await codeFor(world.browser(), client, ana.email);
    const grant = { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: redirectUri };
    const answer = await send(await assertion(client, { aud }), { ...grant, refresh_token: '' });
    expect(answer.statusCode).toBe(200);
  }
});

test('an assertion works once, also in parallel, and is remembered for a minute past its exp', async () => {
  const exp = Math.floor(world.now().getTime() / 1000) + 300;
  const one = await environment.newClient({ tokenEndpointAuthMethod: 'private_key_jwt', jwks });
  const once = await assertion(one, { exp });
  const answers = await Promise.all(Array.from({ length: 10 }, () => errorOf(once)));
  expect(answers.filter((error) => error === 'invalid_grant')).toHaveLength(1);
  expect(answers.filter((error) => error === 'invalid_client')).toHaveLength(9);
  const used = await world.query('select expires_at as until from client_assertions where client_id = $1', [
    one.clientId,
  ]);
  expect(used).toEqual([{ until: new Date((exp + 60) * 1000) }]);
});

test('an assertion is valid for an hour at most; a clock of the client that is off by up to a minute is tolerated, and even so the assertion works only once', async () => {
  const patient = await environment.newClient({ tokenEndpointAuthMethod: 'private_key_jwt', jwks });
  const of = (ahead: number) => {
    const at = Math.floor(world.now().getTime() / 1000) + ahead;
    return assertion(patient, { iat: at, nbf: at, exp: at + 3600 });
  };
  expect(await errorOf(await of(58))).toBe('invalid_grant');
  expect(await errorOf(await of(75))).toBe('invalid_client');
  const late = await of(-3640); // expired by our clock, but not by one that is a minute slow
  expect(await errorOf(late)).toBe('invalid_grant');
  expect(await errorOf(late)).toBe('invalid_client');
  expect(await errorOf(await of(-3660))).toBe('invalid_client');
  const at = Math.floor(world.now().getTime() / 1000);
  expect(await errorOf(await assertion(patient, { exp: at + 3675 }))).toBe('invalid_client');
});

test('invalid assertions are refused', async () => {
  const at = Math.floor(world.now().getTime() / 1000);
  const { privateKey: foreign } = await generateKeyPair('ES256');
  const other = await environment.newClient({ tokenEndpointAuthMethod: 'client_secret_basic' });
  const [header, payload] = (await assertion(client)).split('.');
  const withSubject = (sub: unknown) => {
    const claims = JSON.parse(Buffer.from(payload as string, 'base64url').toString());
    return `${header}.${Buffer.from(JSON.stringify({ ...claims, sub })).toString('base64url')}.x`;
  };
  const bad = {
    'another issuer': await assertion(client, { iss: 'other' }),
    'another audience': await assertion(client, { aud: 'https://other.example' }),
    'another audience beside ours': await assertion(client, { aud: [world.baseUrl, 'https://other.example'] }),
    'no audience': await assertion(client, { aud: [] }),
    expired: await assertion(client, { exp: at - 60 }),
    'too long': await assertion(client, { exp: at + 7200 }),
    'no expiry': await assertion(client, { exp: undefined }),
    'no id': await assertion(client, { jti: undefined }),
    'an id that is no text': await assertion(client, { jti: 7 as unknown as string }),
    'a subject that is no text': withSubject({ toString: 1 }),
    'a subject that is a list': withSubject([client.clientId]),
    'a foreign key': await assertion(client, {}, { by: foreign }),
    'an unknown key': await assertion(client, {}, { by: foreign, kid: 'k2' }),
    'a client with another method': await assertion(other),
    'no signature': `${header}.${payload}.`,
    'no assertion': 'nonsense',
  };
  for (const [name, token] of Object.entries(bad)) {
    const answer = await send(token);
    expect([name, answer.statusCode, answer.json().error]).toEqual([name, 401, 'invalid_client']);
  }
  expect(await errorOf(await assertion(client), { client_assertion_type: 'other' })).toBe('invalid_client');
  expect(await errorOf(await assertion(client), { client_id: other.clientId })).toBe('invalid_client');
  expect(await errorOf(await assertion(client), { client_secret: 'x' })).toBe('invalid_request');
  expect(await errorOf(await assertion(client), { client_id: client.clientId })).toBe('invalid_grant');
});

test('keys behind a jwks_uri are fetched, cached, and fetched again for a new key', async () => {
  served = jwks;
  const remote = await environment.newClient({ tokenEndpointAuthMethod: 'private_key_jwt', jwksUri: `${base}/jwks` });
  fetches = 0;
  expect(await errorOf(await assertion(remote))).toBe('invalid_grant');
  expect(await errorOf(await assertion(remote))).toBe('invalid_grant');
  expect(fetches).toBe(1);
  const next = await generateKeyPair('ES256');
  served = { keys: [{ ...(await exportJWK(next.publicKey)), kid: 'k2' }] };
  const rotated = () => assertion(remote, {}, { by: next.privateKey, kid: 'k2' });
  expect(await errorOf(await rotated())).toBe('invalid_client');
  world.wait(11_000);
  expect(await errorOf(await rotated())).toBe('invalid_grant');
  expect(fetches).toBe(2);
});

test.each([
  ['no key set', () => ({ served: { hello: 1 }, path: '/jwks' })],
  [
    'malformed keys',
    () => ({ served: { keys: [{ kty: 'EC', crv: 'P-256', kid: 'k1', alg: 'ES256', x: '!', y: '?' }] }, path: '/jwks' }),
  ],
  ['too many bytes', () => ({ served: {}, path: '/big' })],
  ['a redirect', () => ({ served: jwks, path: '/moved' })],
])('a jwks_uri with %s refuses the client', async (_name, situation) => {
  const { served: answer, path } = situation();
  served = answer;
  const jwksUri = `${base}${path}?${uuidv4()}`;
  const remote = await environment.newClient({
    tokenEndpointAuthMethod: 'private_key_jwt',
    jwksUri,
  });
  expect(await errorOf(await assertion(remote))).toBe('invalid_client');
  world.wait(minutes(6));
});

test('many simultaneous requests cause one call, and so do repetitions right after a failed one', async () => {
  const jwksUri = `${base}/jwks?${uuidv4()}`;
  const remote = await environment.newClient({ tokenEndpointAuthMethod: 'private_key_jwt', jwksUri });
  const flood = () => Promise.all(Array.from({ length: 20 }, async () => errorOf(await assertion(remote))));
  served = { hello: 1 };
  fetches = 0;
  expect(new Set([...(await flood()), ...(await flood())])).toEqual(new Set(['invalid_client']));
  expect(fetches).toBe(1);
  served = jwks;
  world.wait(4_000);
  expect(new Set(await flood())).toEqual(new Set(['invalid_grant']));
  expect(fetches).toBe(2);
  // An assertion with an unknown key causes another fetch, which fails: the keys that were fetched stay valid.
  served = { hello: 1 };
  world.wait(11_000);
  expect(await errorOf(await assertion(remote, {}, { kid: 'none' }))).toBe('invalid_client');
  expect(await errorOf(await assertion(remote))).toBe('invalid_grant');
  expect(fetches).toBe(3);
});

test.each([
  ['no server', 'http://127.0.0.1:1/jwks'],
  ['no answer', null],
])('a jwks_uri with %s is answered with 503, and the client may try again', async (_name, uri) => {
  served = 'nothing';
  const jwksUri = uri ?? `${base}/jwks?${uuidv4()}`;
  const remote = await environment.newClient({ tokenEndpointAuthMethod: 'private_key_jwt', jwksUri });
  const answer = await send(await assertion(remote));
  expect([answer.statusCode, answer.json().error]).toEqual([503, 'temporarily_unavailable']);
  expect(answer.headers['retry-after']).toBe('5');
  const elsewhere = await world.app.inject({
    method: 'POST',
    url: '/v1/identity/auth/refresh',
    payload: {
      client_id: remote.clientId,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: await assertion(remote),
      refresh_token: 'x',
    },
  });
  expect([elsewhere.statusCode, elsewhere.json().error.code]).toEqual([503, 'service.unavailable']);
});

test('fetched keys stay valid for a day while they cannot be fetched again, which is tried now and then', async () => {
  const jwksUri = `${base}/jwks?${uuidv4()}`;
  const remote = await environment.newClient({ tokenEndpointAuthMethod: 'private_key_jwt', jwksUri });
  served = jwks;
  expect(await errorOf(await assertion(remote))).toBe('invalid_grant');
  fetches = 0;
  for (const [answer, refusal] of [
    ['nothing', 'temporarily_unavailable'],
    [{ hello: 1 }, 'invalid_client'],
  ] as const) {
    const before = fetches;
    served = answer;
    world.wait(minutes(6));
    for (let i = 0; i < 3; i++) expect(await errorOf(await assertion(remote))).toBe('invalid_grant');
    expect(fetches).toBe(before + 1);
    // An unknown key could be new: whether it is cannot be known now.
    world.wait(4_000);
    expect(await errorOf(await assertion(remote, {}, { kid: 'none' }))).toBe(refusal);
    world.wait(hours(23));
    expect(await errorOf(await assertion(remote))).toBe('invalid_grant');
    world.wait(hours(1));
    expect(await errorOf(await assertion(remote))).toBe(refusal);
    served = jwks;
    world.wait(4_000);
    expect(await errorOf(await assertion(remote))).toBe('invalid_grant');
  }
});

test('a client with known keys never waits for a site that has failed: it is fetched again in the background', async () => {
  const jwksUri = `${base}/jwks?${uuidv4()}`;
  const remote = await environment.newClient({ tokenEndpointAuthMethod: 'private_key_jwt', jwksUri });
  served = jwks;
  expect(await errorOf(await assertion(remote))).toBe('invalid_grant');
  served = 'nothing';
  world.wait(minutes(6));
  expect(await errorOf(await assertion(remote))).toBe('invalid_grant');
  served = 'silence';
  held = [];
  world.wait(31_000);
  for (let i = 0; i < 3; i++) expect(await errorOf(await assertion(remote))).toBe('invalid_grant');
  await until('it is read again', () => held.length > 0);
  expect(await errorOf(await assertion(remote))).toBe('invalid_grant');
  expect(held.map(({ destroyed }) => destroyed)).toEqual([false]); // one request, whose answer was never waited for
  held[0]?.end(JSON.stringify({ keys: [] }));
  await until('it is read', async () => (await errorOf(await assertion(remote))) === 'invalid_client'); // it serves no key now
});

test.each([
  ['is deleted', 'delete from oauth_clients where id = $1'],
  ['moves its keys to another address', `update oauth_clients set jwks_uri = jwks_uri || '/others' where id = $1`],
])('a client that %s while its keys are fetched is refused', async (_name, change) => {
  const jwksUri = `${base}/jwks?${uuidv4()}`;
  const remote = await environment.newClient({ tokenEndpointAuthMethod: 'private_key_jwt', jwksUri });
  served = 'silence';
  held = [];
  const asked = errorOf(await assertion(remote));
  await until('its keys are asked for', () => held.length > 0);
  await world.query(change, [remote.id]);
  world.wait(1_000);
  held[0]?.end(JSON.stringify(jwks));
  expect(await asked).toBe('invalid_client');
});

test('without the operator’s permission only public addresses over https are called', async () => {
  const outbound = createOutbound();
  const port = (server.address() as AddressInfo).port;
  const before = fetches;
  for (const url of [
    `https://127.0.0.1:${port}/`,
    `https://[::1]:${port}/`,
    `https://[::ffff:127.0.0.1]:${port}/`,
    `https://localhost:${port}/`,
    `https://2130706433:${port}/`,
    `https://0x7f.1:${port}/`,
    'https://169.254.169.254/latest/meta-data',
  ]) {
    await expect(outbound.get(url)).rejects.toMatchObject({ reason: 'address' });
  }
  await expect(outbound.get('http://example.com/')).rejects.toMatchObject({ reason: 'scheme' });
  await expect(outbound.get('file:///etc/passwd')).rejects.toMatchObject({ reason: 'scheme' });
  expect(fetches).toBe(before);
  await outbound.close();
});
