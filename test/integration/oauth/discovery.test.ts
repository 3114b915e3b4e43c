import { type AddressInfo, createServer } from 'node:net';
import { afterAll, expect, test } from '@jest/globals';
import * as oidc from 'openid-client';
import { loggedOutUri, password } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';

const world = await newProvider();
afterAll(() => world.close());

test('both documents are the same, cacheable, readable from any origin, and true', async () => {
  const [openid, oauth] = await Promise.all(
    ['openid-configuration', 'oauth-authorization-server'].map((name) => world.app.inject(`/.well-known/${name}`)),
  );
  expect(openid?.body).toBe(oauth?.body);
  expect(openid?.headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'access-control-allow-origin': '*',
    'cache-control': 'public, max-age=3600',
  });
  const etag = String(openid?.headers.etag);
  const unchanged = await world.app.inject({
    url: '/.well-known/openid-configuration',
    headers: { 'if-none-match': `"x", W/${etag}` },
  });
  expect([unchanged.statusCode, unchanged.body]).toEqual([304, '']);
  const document = openid?.json();
  expect(document.acr_values_supported).toEqual(['urn:gatehouse:aal1', 'urn:gatehouse:aal2']);
  for (const [name, url] of Object.entries(document as Record<string, unknown>)) {
    if (!/_(endpoint|uri)$/.test(name)) continue;
    const path = String(url).replace(world.baseUrl, '');
    expect((await world.app.inject({ method: 'POST', url: path })).statusCode).not.toBe(404);
  }
});

test('the key set holds public RSA keys for signatures, and follows a rotation', async () => {
  const first = await world.app.inject('/.well-known/jwks.json');
  for (const key of first.json().keys) {
    expect(Object.keys(key).sort()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use']);
    expect(key).toMatchObject({ kty: 'RSA', alg: 'RS256', use: 'sig' });
  }
  world.wait(84 * 86_400_000);
  await world.keys.rotate();
  const next = await world.app.inject('/.well-known/jwks.json');
  expect(next.json().keys).toHaveLength(2);
  expect(next.headers.etag).not.toBe(first.headers.etag);
});

test('a stock OpenID Connect client completes sign-in, userinfo, refresh, revocation and logout', async () => {
  // The library compares times with the machine's clock, so this provider uses the present time.
  const port = await freePort();
  const { app, ...present } = await newProvider({ baseUrl: `http://localhost:${port}` });
  present.wait(Date.now() - present.now().getTime());
  await app.listen({ port, host: 'localhost' });
  const environment = await present.newEnvironment();
  const ana = await environment.newIdentity();
  for (const method of ['none', 'client_secret_basic', 'client_secret_post'] as const) {
    const client = await environment.newClient({ tokenEndpointAuthMethod: method });
    const authentication = {
      none: () => oidc.None(),
      client_secret_basic: () => oidc.ClientSecretBasic(client.secret as string),
      client_secret_post: () => oidc.ClientSecretPost(client.secret as string),
    }[method]();
    const config = await oidc.discovery(new URL(present.baseUrl), client.clientId, undefined, authentication, {
      execute: [oidc.allowInsecureRequests],
    });
    const verifier = oidc.randomPKCECodeVerifier();
    const [state, nonce] = [oidc.randomState(), oidc.randomNonce()];
    const url = oidc.buildAuthorizationUrl(config, {
      redirect_uri: 'http://127.0.0.1/cb',
      scope: 'openid profile email',
      state,
      nonce,
      max_age: '3600',
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    const browser = present.browser();
    const page = await browser.get(url.pathname + url.search);
    const answer = await browser.submit(page, { email: ana.email, password });
    const tokens = await oidc.authorizationCodeGrant(config, new URL(String(answer.headers.location)), {
      pkceCodeVerifier: verifier,
      expectedState: state,
      expectedNonce: nonce,
      maxAge: 3600,
      idTokenExpected: true,
    });
    expect(tokens.claims()).toMatchObject({ sub: ana.id, email: ana.email });
    expect(await oidc.fetchUserInfo(config, tokens.access_token, ana.id)).toMatchObject({ name: 'Ana Arendt' });
    const refreshed = await oidc.refreshTokenGrant(config, tokens.refresh_token as string);
    expect(refreshed.claims()?.sub).toBe(ana.id);
    if (method !== 'none') {
      expect(await oidc.tokenIntrospection(config, refreshed.access_token)).toMatchObject({ active: true });
    }
    await oidc.tokenRevocation(config, refreshed.refresh_token as string);
    await expect(oidc.fetchUserInfo(config, refreshed.access_token, ana.id)).rejects.toThrow();
    const logout = oidc.buildEndSessionUrl(config, {
      id_token_hint: tokens.id_token as string,
      post_logout_redirect_uri: loggedOutUri,
      state: 'bye',
    });
    const left = await browser.get(logout.pathname + logout.search);
    expect(left.headers.location).toBe(`${loggedOutUri}?state=bye`);
  }
  await present.close();
});

const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer().listen(0, 'localhost', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
