import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { exportJWK, generateKeyPair } from 'jose';
import type { SsoConnection } from '../../entities/sso-connection.js';
import { assertionOf } from '../../src/domain/sso-protocols/oidc/claims.js';
import { createOidcProtocol, type OidcSecrets } from '../../src/domain/sso-protocols/oidc/oidc.js';
import { promptOf } from '../../src/domain/sso-protocols/oidc/prompt.js';
import { loopback } from '../../src/platform/outbound/addresses.js';
import { createOutbound } from '../../src/platform/outbound/fetch.js';
import { type BentProvider, type SigningKey, startBentProvider } from '../support/bent-provider.js';
import { patience } from '../support/patience.js';

const baseUrl = 'https://id.example.com';
const state = 's'.repeat(43);
let provider: BentProvider;
let outbound: ReturnType<typeof createOutbound>;
let protocol: ReturnType<typeof createOidcProtocol>;
beforeEach(async () => {
  provider = await startBentProvider();
  outbound = createOutbound({ allowedNetworks: loopback, withinMs: patience });
  protocol = createOidcProtocol({ baseUrl, clientSecretOf: () => 'a secret', outbound, now: () => new Date() });
});
afterEach(async () => {
  jest.restoreAllMocks();
  await outbound.close();
  await provider.stop();
});

const connectionOf = (more: Partial<SsoConnection> = {}) =>
  ({
    id: 'c0ffee00-0000-4000-8000-000000000000',
    oidcDiscoveryUrl: provider.issuer,
    oidcClientId: 'client',
    oidcScopes: ['openid', 'email'],
    attributeMapping: {},
    ...more,
  }) as SsoConnection;

/** Returns the request as the provider sees it, and what is stored of it. */
async function begun(connection = connectionOf(), wishes: object = {}) {
  const { url, secrets } = await protocol.begin(connection, { state, ...wishes });
  return { asked: new URL(url).searchParams, secrets };
}

/** Returns the outcome of an answer whose ID token has these claims besides the valid ones. */
async function answered(
  claims: Record<string, unknown> = {},
  { query = {}, connection = connectionOf(), header, key }: Answered = {},
) {
  const { secrets } = await begun(connection);
  provider.answers(() => provider.idToken({ nonce: secrets.nonce, email: 'ana@acme.example', ...claims }, header, key));
  return verified(secrets, query, connection);
}
interface Answered {
  query?: Record<string, string>;
  connection?: SsoConnection;
  header?: object;
  key?: SigningKey;
}

function verified(secrets: OidcSecrets, query: Record<string, string> = {}, connection = connectionOf()) {
  const parameters = new URLSearchParams({ code: 'the code', state, iss: provider.issuer, ...query });
  const callbackUrl = `${baseUrl}/sso/oidc/${connection.id}/callback?${parameters}`;
  return protocol.verify(connection, { callbackUrl, expects: { ...secrets, state } });
}
const refusalOf = (work: Promise<unknown>) =>
  work.then(
    () => 'taken',
    (error) => error.code,
  );

describe('the request', () => {
  test('has PKCE, a nonce, the state and a redirect URI of this connection', async () => {
    const { asked, secrets } = await begun();
    expect(Object.fromEntries(asked)).toMatchObject({
      client_id: 'client',
      response_type: 'code',
      scope: 'openid email',
      state,
      nonce: secrets.nonce,
      code_challenge_method: 'S256',
      redirect_uri: `${baseUrl}/sso/oidc/c0ffee00-0000-4000-8000-000000000000/callback`,
    });
    expect(asked.get('code_challenge')).not.toBe(secrets.codeVerifier);
    for (const absent of ['prompt', 'login_hint']) expect(asked.has(absent)).toBe(false);
  });

  test('requests a new sign-in, its age and the address if required', async () => {
    const { asked } = await begun(connectionOf(), { forceAuthn: true, maxAge: 60, loginHint: 'ana@acme.example' });
    expect([asked.get('prompt'), asked.get('max_age'), asked.get('login_hint')]).toEqual([
      'login',
      '60',
      'ana@acme.example',
    ]);
  });

  test('lets the person choose another account by what the provider announces, or else by a new sign-in', async () => {
    const asked = async (said: unknown, wishes: object = { selectAccount: true }) => {
      provider.discovery.prompt_values_supported = said;
      protocol = createOidcProtocol({ baseUrl, clientSecretOf: () => 'a secret', outbound, now: () => new Date() });
      return (await begun(connectionOf(), wishes)).asked.get('prompt');
    };
    expect(await asked(['none', 'login', 'select_account'])).toBe('select_account');
    for (const said of [undefined, ['none', 'login', 'consent'], 'select_account', 5])
      expect(await asked(said)).toBe('login');
    expect(await asked(['select_account'], { selectAccount: true, forceAuthn: true })).toBe('login');
    expect(await asked(['select_account'], {})).toBeNull();
    // Google does not announce it, and supports no other.
    expect(promptOf({ issuer: 'https://accounts.google.com' }, { selectAccount: true })).toBe('select_account');
  });

  test('requests a max_age that every sign-in has, if none is required: many providers report no time otherwise', async () => {
    const year = 365 * 24 * 60 * 60;
    for (const wishes of [{}, { forceAuthn: true }]) {
      const { asked } = await begun(connectionOf(), wishes);
      expect(Number(asked.get('max_age'))).toBeGreaterThanOrEqual(year);
    }
  });

  test('uses the discovery document, which is read once, by either form of its address', async () => {
    await begun();
    await begun(connectionOf({ oidcDiscoveryUrl: `${provider.issuer}/.well-known/openid-configuration` }));
    expect(provider.asked.map(({ path }) => path)).toEqual(['/.well-known/openid-configuration']);
  });

  test('uses a changed discovery document after five minutes, also if our clock was set back meanwhile', async () => {
    let at = Date.now();
    protocol = createOidcProtocol({ baseUrl, clientSecretOf: () => null, outbound, now: () => new Date(at) });
    const endpoint = async () => new URL((await protocol.begin(connectionOf(), { state })).url).host;
    const first = await endpoint();
    provider.discovery.authorization_endpoint = 'https://moved.example/authorize';
    expect(await endpoint()).toBe(first);
    at -= 5 * 60_000;
    expect(await endpoint()).toBe('moved.example');
    provider.discovery.authorization_endpoint = 'https://moved-again.example/authorize';
    at += 5 * 60_000;
    expect(await endpoint()).toBe('moved-again.example');
  });

  test('is not made for a connection without a discovery URL or a client ID', async () => {
    for (const lacking of [{ oidcDiscoveryUrl: null }, { oidcDiscoveryUrl: 'acme' }, { oidcClientId: null }])
      expect(await refusalOf(begun(connectionOf(lacking)))).toBe('configuration_incomplete');
  });
});

describe('the logout at the provider', () => {
  const leave = (idToken = 'a token') => protocol.leave(connectionOf(), { state, idToken });

  test('is offered where the provider has a page for it, and an address of another scheme is none', async () => {
    for (const [said, host] of [
      ['https://idp.example/logout', 'idp.example'],
      ['javascript:alert(1)', null],
      ['logout', null],
      [undefined, null],
    ] as const) {
      provider.discovery.end_session_endpoint = said;
      protocol = createOidcProtocol({ baseUrl, clientSecretOf: () => null, outbound, now: () => new Date() });
      const url = await leave();
      expect(url && new URL(url).host).toBe(host);
    }
  });

  test('names the sign-in, unless the URL would become too long by that', async () => {
    provider.discovery.end_session_endpoint = 'https://idp.example/logout';
    const hint = async (length: number) =>
      new URL((await leave('x'.repeat(length))) ?? '').searchParams.get('id_token_hint');
    expect(await hint(4096)).toHaveLength(4096);
    expect(await hint(4097)).toBeNull();
  });
});

describe('the keys', () => {
  const reads = () => provider.asked.filter(({ path }) => path === '/jwks').length;
  const anotherKey = async (kid: string) => {
    const { publicKey, privateKey } = await generateKeyPair('RS256');
    const jwk = { ...(await exportJWK(publicKey)), kid, alg: 'RS256', use: 'sig' };
    provider.routes.set('/jwks', () => ({ body: { keys: [jwk] } }));
    return privateKey;
  };

  test('are fetched once, whoever signs in', async () => {
    await answered();
    await answered();
    await answered({}, { connection: connectionOf({ id: 'c0ffee00-0000-4000-8000-000000000001' }) });
    expect(reads()).toBe(1);
  });

  test('are fetched again at once for an answer that none of them has signed, under a new key id or the same one', async () => {
    await answered();
    for (const [i, kid] of ['another', 'another', 'key'].entries()) {
      const key = await anotherKey(kid);
      expect(await refusalOf(answered({}, { key, header: { kid } }))).toBe('taken');
      expect(reads()).toBe(i + 2);
    }
  });

  test('are fetched again for all who return at that moment, twice at most, and nobody is refused', async () => {
    await answered();
    const key = await anotherKey('another');
    const { secrets } = await begun();
    provider.answers(() => provider.idToken({ nonce: secrets.nonce }, { kid: 'another' }, key));
    const all = await Promise.all(Array.from({ length: 20 }, () => refusalOf(verified(secrets))));
    expect(all).toEqual(Array(20).fill('taken'));
    expect(reads()).toBeLessThanOrEqual(3); // those who return during the second fetch share the third
  });

  test('that cannot be fetched refuse what the earlier ones have not signed, and nothing else', async () => {
    await answered();
    provider.routes.set('/jwks', () => ({ status: 503, body: {} }));
    const { privateKey } = await generateKeyPair('RS256');
    expect(await refusalOf(answered({}, { key: privateKey }))).toBe('provider_unreachable');
    expect(await refusalOf(answered())).toBe('taken');
  });
});

describe('an invalid discovery document', () => {
  test.each([
    ['another issuer', { issuer: 'https://evil.example.com' }, 'issuer_mismatch'],
    ['no endpoints', { token_endpoint: undefined }, 'configuration_incomplete'],
    ['an endpoint of another scheme', { authorization_endpoint: 'javascript:alert(1)' }, 'configuration_incomplete'],
    ['only shared secrets', { id_token_signing_alg_values_supported: ['HS256', 'none'] }, 'algorithm_refused'],
    ['an endpoint that is no URL', { authorization_endpoint: 'x' }, 'configuration_incomplete'],
    ['an endpoint that is no text', { authorization_endpoint: [5] }, 'configuration_incomplete'],
    ['a token endpoint that is no URL', { token_endpoint: 'token' }, 'configuration_incomplete'],
    ['a jwks_uri that is no URL', { jwks_uri: 'jwks' }, 'configuration_incomplete'],
    ['a jwks_uri that is no text', { jwks_uri: [5] }, 'configuration_incomplete'],
    ['algorithms that are no list', { id_token_signing_alg_values_supported: 'RS256' }, 'malformed'],
    ['algorithms that are no texts', { id_token_signing_alg_values_supported: [5, null] }, 'algorithm_refused'],
    ['ways to prove the client that are no list', { token_endpoint_auth_methods_supported: 5 }, 'malformed'],
    [
      'no way to prove the client',
      { token_endpoint_auth_methods_supported: ['private_key_jwt'] },
      'configuration_incomplete',
    ],
  ])('%s', async (_, said, refusal) => {
    Object.assign(provider.discovery, said);
    expect(await refusalOf(begun())).toBe(refusal);
  });

  test('without an address of its keys, when it reports an ended session', async () => {
    provider.discovery.jwks_uri = 'jwks';
    const told = protocol.verifyLogout(connectionOf(), 'a.logout.token');
    expect(await refusalOf(told)).toBe('configuration_incomplete');
  });

  test('of a provider that is away, redirects, or sends too much or no JSON', async () => {
    const path = '/.well-known/openid-configuration';
    const answers = [
      [{ status: 503, body: {} }, 'provider_unreachable'],
      [{ status: 302, body: {}, headers: { location: `${provider.issuer}/elsewhere` } }, 'provider_error'],
      [{ body: 'x'.repeat(100_000) }, 'too_large'],
      [{ body: '{"issuer"' }, 'malformed'],
      [{ body: '<html>', headers: { 'content-type': 'text/html' } }, 'malformed'],
    ] as const;
    for (const [answer, refusal] of answers) {
      provider.routes.set(path, () => answer);
      expect(await refusalOf(begun())).toBe(refusal);
    }
    expect(provider.asked.map((one) => one.path)).toEqual(answers.map(() => path)); // and nothing of it is cached
    await provider.stop();
    expect(await refusalOf(begun())).toBe('provider_unreachable');
  });

  test('at a private address is not requested', async () => {
    const guarded = createOutbound();
    const strict = createOidcProtocol({
      baseUrl,
      clientSecretOf: () => null,
      outbound: guarded,
      now: () => new Date(),
    });
    expect(await refusalOf(strict.begin(connectionOf(), { state }))).toBe('provider_unreachable');
    expect(provider.asked).toEqual([]);
    await guarded.close();
  });
});

describe('an answer', () => {
  test('says who it is, with everything that the provider sent', async () => {
    const authTime = Math.floor(Date.now() / 1000) - 5;
    const claims = {
      email_verified: true,
      amr: ['pwd', 'mfa', 7],
      auth_time: authTime,
      sid: 'its session',
      groups: ['a', 'b'],
    };
    const said = await answered({ ...claims, nickname: null });
    // Claims of the protocol are no attributes.
    const names = ['amr', 'auth_time', 'email', 'email_verified', 'groups', 'iss', 'sid', 'sub'];
    expect(Object.keys(said.attributes).sort()).toEqual(names);
    expect(said).toMatchObject({
      issuer: provider.issuer,
      subject: 'ana',
      email: 'ana@acme.example',
      emailVerified: true,
      amr: ['pwd', 'mfa'],
      authenticatedAt: new Date(authTime * 1000),
      sessionIndex: 'its session',
      attributes: { email: ['ana@acme.example'], groups: ['a', 'b'], email_verified: ['true'] },
    });
  });

  test('says nothing of methods, time and session where their claims are missing or of another type', async () => {
    for (const claims of [{}, { amr: 'pwd', sid: 7 }])
      expect(await answered(claims)).toMatchObject({ amr: [], authenticatedAt: null, sessionIndex: null });
    const read = assertionOf({ sub: 'ana', auth_time: '5' }, connectionOf(), 'token'); // as of the UserInfo endpoint
    expect(read.authenticatedAt).toBeNull();
  });

  test('names a person by up to 255 characters', async () => {
    expect((await answered({ sub: 'x'.repeat(255) })).subject).toHaveLength(255);
  });

  test('has a code that is exchanged with its verifier, by a method that the provider supports', async () => {
    const { secrets, asked } = await begun();
    provider.answers(() => provider.idToken({ nonce: secrets.nonce, email: 'a@acme.example' }));
    await verified(secrets);
    const sent = provider.asked.find(({ path }) => path === '/token')?.sent;
    expect(Object.fromEntries(sent?.form ?? [])).toMatchObject({
      grant_type: 'authorization_code',
      code: 'the code',
      code_verifier: secrets.codeVerifier,
      redirect_uri: asked.get('redirect_uri'),
    });
    expect(sent?.authorization).toBe(`Basic ${Buffer.from('client:a+secret').toString('base64')}`);
    expect(sent?.form.has('client_secret')).toBe(false);
  });

  test('uses client_secret_post if nothing else is supported', async () => {
    provider.discovery.token_endpoint_auth_methods_supported = ['client_secret_post'];
    await answered();
    const sent = provider.asked.find(({ path }) => path === '/token')?.sent;
    expect([sent?.authorization, sent?.form.get('client_secret')]).toEqual([null, 'a secret']);
  });

  test('is completed by the UserInfo endpoint, which cannot contradict it', async () => {
    provider.discovery.userinfo_endpoint = `${provider.issuer}/userinfo`;
    provider.routes.set('/userinfo', () => ({ body: { sub: 'ana', email: 'ana@acme.example', amr: ['mfa'] } }));
    expect(await answered({ email: undefined, amr: ['pwd'] })).toMatchObject({
      email: 'ana@acme.example',
      amr: ['pwd'],
    });
    provider.routes.set('/userinfo', () => ({ body: { sub: 'bob', email: 'bob@acme.example' } }));
    expect(await refusalOf(answered({ email: undefined }))).not.toBe('taken');
  });

  test('is refused with a signed UserInfo response whose key cannot be used', async () => {
    const { publicKey, privateKey } = await generateKeyPair('RS256');
    const jwk = { ...(await exportJWK(publicKey)), kid: 'other' };
    const own = (await provider.routes.get('/jwks')?.(null))?.body as { keys: object[] };
    provider.discovery.userinfo_endpoint = `${provider.issuer}/userinfo`;
    provider.discovery.userinfo_signing_alg_values_supported = ['RS256'];
    provider.routes.set('/userinfo', async () => ({
      body: await provider.idToken({ email: 'ana@acme.example' }, { kid: 'other' }, privateKey),
      headers: { 'content-type': 'application/jwt' },
    }));
    const withKey = (another: object) =>
      provider.routes.set('/jwks', () => ({ body: { keys: [...own.keys, another] } }));
    withKey(jwk);
    expect(await answered({ email: undefined })).toMatchObject({ email: 'ana@acme.example' });
    withKey({ ...jwk, key_ops: 5 }); // the library expects a list
    protocol = createOidcProtocol({ baseUrl, clientSecretOf: () => 'a secret', outbound, now: () => new Date() });
    expect(await refusalOf(answered({ email: undefined }))).toBe('malformed');
  });

  test('is completed if it lacks any of the mapped claims, and only then', async () => {
    provider.discovery.userinfo_endpoint = `${provider.issuer}/userinfo`;
    provider.routes.set('/userinfo', () => ({ body: { sub: 'ana', given_name: 'Ana' } }));
    await answered();
    expect(provider.asked.some(({ path }) => path === '/userinfo')).toBe(false);
    const connection = connectionOf({ attributeMapping: { first_name: 'given_name' } });
    expect(await answered({}, { connection })).toMatchObject({ attributes: { given_name: ['Ana'] } });
  });

  test('has its address in another claim, if the connection maps it', async () => {
    const connection = connectionOf({ attributeMapping: { email: 'upn' } });
    expect(await answered({ upn: 'ana@other.example' }, { connection })).toMatchObject({ email: 'ana@other.example' });
  });
});

describe('the address is vouched for', () => {
  const google = { iss: 'https://accounts.google.com', email_verified: true };
  test.each([
    ['if email_verified is true, also as text', [{ email_verified: true }, { email_verified: 'True' }], true],
    ['neither way if email_verified is absent or null', [{}, { email_verified: null }], null],
    [
      'not if email_verified is anything else',
      [{ email_verified: false }, { email_verified: 'False' }, { email_verified: 0 }],
      false,
    ],
    ['if Google says so of an account in a Workspace', [{ ...google, hd: 'acme.example' }], true],
    ['but not if Google says so of any other account', [google, { ...google, hd: '' }, { ...google, hd: 1 }], false],
  ])('%s', (_, said, vouched) => {
    for (const claims of said) {
      const read = assertionOf({ sub: 'ana', email: 'ana@acme.example', ...claims }, connectionOf(), 'token');
      expect(read.emailVerified).toBe(vouched);
    }
  });
});

describe('a hostile answer is refused', () => {
  const past = Math.floor(Date.now() / 1000) - 3600;
  test.each([
    ['a nonce of another sign-in', { nonce: 'another' }, 'nonce_mismatch'],
    ['no nonce', { nonce: undefined }, 'nonce_mismatch'],
    ['an ID token for another client', { aud: 'another' }, 'audience_mismatch'],
    ['an ID token for several, issued to another', { aud: ['client', 'other'], azp: 'other' }, 'audience_mismatch'],
    ['an ID token of another issuer', { iss: 'https://evil.example.com' }, 'issuer_mismatch'],
    ['an expired ID token', { exp: past }, 'expired'],
    ['an ID token that is not valid yet', { nbf: past + 7200 }, 'not_yet_valid'],
    ['no subject', { sub: undefined }, 'subject_missing'],
    ['an empty subject', { sub: '' }, 'subject_missing'],
    ['a subject that is too long', { sub: 'x'.repeat(256) }, 'subject_missing'],
  ])('%s', async (_, claims, refusal) => {
    expect(await refusalOf(answered(claims))).toBe(refusal);
  });

  test('issuer mix-up: an answer that names another issuer, or none though the provider does (RFC 9207)', async () => {
    expect(await refusalOf(answered({}, { query: { iss: 'https://evil.example.com' } }))).toBe('issuer_mismatch');
    const { secrets } = await begun();
    const parameters = new URLSearchParams({ code: 'the code', state });
    const callbackUrl = `${baseUrl}/sso/oidc/x/callback?${parameters}`;
    const verifying = protocol.verify(connectionOf(), { callbackUrl, expects: { ...secrets, state } });
    expect(await refusalOf(verifying)).toBe('issuer_mismatch');
    expect(provider.asked.some(({ path }) => path === '/token')).toBe(false);
  });

  test('an answer with the state of another sign-in', async () => {
    const { secrets } = await begun();
    expect(await refusalOf(verified(secrets, { state: 'x'.repeat(43) }))).toBe('state_mismatch');
    expect(provider.asked.some(({ path }) => path === '/token')).toBe(false);
  });

  test('alg: none', async () => {
    provider.discovery.id_token_signing_alg_values_supported = ['RS256', 'none'];
    const { secrets } = await begun();
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: provider.issuer, aud: 'client', sub: 'ana', iat: now, exp: now + 60, nonce: secrets.nonce };
    provider.answers(() => `${part({ alg: 'none' })}.${part(claims)}.`);
    expect(await refusalOf(verified(secrets))).toBe('algorithm_refused');
  });

  test('a signature by the client secret', async () => {
    provider.discovery.id_token_signing_alg_values_supported = ['RS256', 'HS256'];
    const { secrets } = await begun();
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: provider.issuer, aud: 'client', sub: 'ana', iat: now, exp: now + 60, nonce: secrets.nonce };
    const signed = `${part({ alg: 'HS256' })}.${part(claims)}`;
    provider.answers(() => `${signed}.${createHmac('sha256', 'a secret').update(signed).digest('base64url')}`);
    expect(await refusalOf(verified(secrets))).toBe('algorithm_refused');
  });

  test('a signature by a key that is not the provider’s, under the id of its own', async () => {
    const { privateKey } = await generateKeyPair('RS256');
    expect(await refusalOf(answered({}, { key: privateKey }))).toBe('signature_invalid');
    expect(await refusalOf(answered({}, { key: privateKey, header: { kid: 'another' } }))).toBe('signature_invalid');
  });

  test('an error, a refused code, a refused client', async () => {
    const { secrets } = await begun();
    expect(await refusalOf(verified(secrets, { error: 'access_denied' }))).toBe('provider_error');
    provider.routes.set('/token', () => ({ status: 400, body: { error: 'invalid_grant' } }));
    expect(await refusalOf(verified(secrets))).toBe('provider_error');
    provider.routes.set('/token', () => ({ status: 401, body: { error: 'invalid_client' } }));
    expect(await refusalOf(verified(secrets))).toBe('client_refused');
    provider.routes.set('/token', () => ({ status: 400, body: { error: 'unauthorized_client' } }));
    expect(await refusalOf(verified(secrets))).toBe('client_refused');
    provider.routes.set('/token', () => ({ status: 503, body: 'down', headers: { 'content-type': 'text/plain' } }));
    expect(await refusalOf(verified(secrets))).toBe('provider_unreachable');
    provider.routes.set('/token', () => ({ body: 'x'.repeat(100_000) }));
    expect(await refusalOf(verified(secrets))).toBe('too_large');
    provider.routes.set('/token', () => ({ body: { access_token: 'a', token_type: 'Bearer' } }));
    expect(await refusalOf(verified(secrets))).toBe('malformed');
  });

  test('in the provider’s words, in a test of the connection', async () => {
    const { secrets } = await begun();
    const said = (query: Record<string, string> = {}) =>
      verified(secrets, query).catch(({ message }: Error) => message);
    const denied = { error: 'invalid_request', error_description: 'Missing parameter:\ncode_challenge' };
    expect(await said(denied)).toBe('The provider answered with invalid_request: Missing parameter: code_challenge');
    for (const unlike of ['<b>denied', 'denied</b>', 'x'.repeat(61)])
      expect(await said({ error: unlike, error_description: ' ' })).toBe('The provider answered with an error');
    const long = await said({ error: 'server_error', error_description: 'x'.repeat(301) });
    expect(long).toBe(`The provider answered with server_error: ${'x'.repeat(300)}…`);
    const body = { error: 'invalid_client', error_description: 'AADSTS7000215: Invalid client secret provided.' };
    provider.routes.set('/token', () => ({ status: 401, body }));
    expect(await said()).toBe(`The provider does not accept the client ID and secret: ${body.error_description}`);
  });

  test('parameters that are sent twice, or were not requested', async () => {
    const { secrets } = await begun();
    provider.answers(() => provider.idToken({ nonce: secrets.nonce }));
    for (const more of ['&state=other', '&code=other', '&id_token=x', '&response=x']) {
      const query = new URLSearchParams({ code: 'the code', state, iss: provider.issuer });
      const callbackUrl = `${baseUrl}/sso/oidc/x/callback?${query}${more}`;
      const verifying = protocol.verify(connectionOf(), { callbackUrl, expects: { ...secrets, state } });
      expect(await refusalOf(verifying)).not.toBe('taken');
    }
  });

  test('one without a sign-in time, if the connection requires a new one or an age was requested', async () => {
    for (const [forceAuthn, wishes] of [
      [false, { maxAge: 60 }],
      [true, { forceAuthn: true }],
    ] as const) {
      const { secrets } = await begun(connectionOf({ forceAuthn }), wishes);
      for (const said of [-1, 8e15, '5']) {
        provider.answers(() => provider.idToken({ nonce: secrets.nonce, auth_time: said }));
        expect(await refusalOf(verified(secrets))).not.toBe('taken');
      }
      provider.answers(() => provider.idToken({ nonce: secrets.nonce }));
      expect(await refusalOf(verified(secrets))).toBe('auth_time_missing');
      provider.answers(() => provider.idToken({ nonce: secrets.nonce, auth_time: Math.floor(Date.now() / 1000) }));
      expect(await refusalOf(verified(secrets))).toBe('taken');
    }
    expect(await refusalOf(answered())).toBe('taken'); // it was not requested
    const { secrets } = await begun(connectionOf(), { forceAuthn: true }); // a client's prompt=login
    provider.answers(() => provider.idToken({ nonce: secrets.nonce }));
    expect(await refusalOf(verified(secrets))).toBe('taken');
  });
});
