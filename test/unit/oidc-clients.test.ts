import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { errors } from 'jose';
import { DomainError } from '../../src/domain/errors.js';
import { createClientAuthentication } from '../../src/domain/oidc/clients/authentication.js';
import type { Client } from '../../src/domain/oidc/clients/clients.js';
import type { ClientSettings } from '../../src/domain/oidc/clients/rules.js';
import { assertClient, assertUsableKeys, problemOfRedirectUri } from '../../src/domain/oidc/clients/rules.js';
import { OAuthError } from '../../src/domain/oidc/oauth-error.js';
import { parseAccountRequest } from '../../src/domain/oidc/requests/account-request.js';
import { readHint } from '../../src/domain/oidc/requests/hints.js';
import { parseLogoutRequest } from '../../src/domain/oidc/requests/logout-request.js';
import { readParameters } from '../../src/domain/oidc/requests/parameters.js';
import { hashSecret } from '../../src/platform/crypto/one-time-secret.js';

const refusalOf = async (work: () => unknown): Promise<string | null> => {
  try {
    await work();
    return null;
  } catch (error) {
    if (error instanceof OAuthError) return `${error.code}: ${error.message}`;
    if (!(error instanceof DomainError)) throw error;
    const [detail] = error.options.details ?? [];
    return `${detail?.field} ${detail?.code}`;
  }
};

describe('the registration of a client', () => {
  const publicClient: ClientSettings = {
    name: 'App',
    clientType: 'public',
    tokenEndpointAuthMethod: 'none',
    requirePkce: true,
    logoUrl: null,
    initiateLoginUri: null,
    backchannelLogoutUri: null,
    backchannelLogoutSessionRequired: false,
    redirectUris: ['https://app.example/cb'],
    postLogoutRedirectUris: [],
    rotateRefreshTokens: true,
    scopes: [],
    consentRequired: false,
    jwks: null,
    jwksUri: null,
  };
  const secret = { clientType: 'confidential', tokenEndpointAuthMethod: 'client_secret_basic' } as const;
  const byKey = { clientType: 'confidential', tokenEndpointAuthMethod: 'private_key_jwt' } as const;
  const keys = (...more: object[]) => ({ jwks: { keys: [{ kty: 'EC' }, ...more] } as never });
  const uri = 'https://app.example/jwks.json';
  const of = (changes: Partial<ClientSettings>) => refusalOf(() => assertClient({ ...publicClient, ...changes }));

  test.each<[string, Partial<ClientSettings>]>([
    ['a public client', {}],
    ['a client with a secret', secret],
    ['a client with a secret and without PKCE', { ...secret, requirePkce: false }],
    ['a client with a secret and without rotated refresh tokens', { ...secret, rotateRefreshTokens: false }],
    ['a client with keys', { ...byKey, ...keys() }],
    ['a client with a jwks_uri', { ...byKey, jwksUri: uri }],
    ['a client without redirect URIs', { redirectUris: [] }],
    ['a client with post-logout redirect URIs', { postLogoutRedirectUris: ['https://app.example/bye'] }],
  ])('%s is accepted', async (_name, changes) => expect(await of(changes)).toBeNull());

  test.each<[string, Partial<ClientSettings>, string]>([
    [
      'a public client with a secret',
      { tokenEndpointAuthMethod: 'client_secret_basic' },
      'token_endpoint_auth_method mismatch',
    ],
    ['a confidential client without a secret', { clientType: 'confidential' }, 'token_endpoint_auth_method mismatch'],
    ['a public client without PKCE', { requirePkce: false }, 'require_pkce required'],
    [
      'a public client without rotated refresh tokens',
      { rotateRefreshTokens: false },
      'rotate_refresh_tokens required',
    ],
    ['both keys and a jwks_uri', { ...byKey, ...keys(), jwksUri: uri }, 'jwks_uri exclusive'],
    ['keys of a client with a secret', { ...secret, ...keys() }, 'jwks mismatch'],
    ['a jwks_uri of a client with a secret', { ...secret, jwksUri: uri }, 'jwks mismatch'],
    ['a client that authenticates by keys and has none', byKey, 'jwks mismatch'],
    ['a private key', { ...byKey, ...keys({ kty: 'EC', d: 'x' }) }, 'jwks private_key'],
    ['a shared key', { ...byKey, ...keys({ kty: 'oct', k: 'x' }) }, 'jwks private_key'],
    ['a jwks_uri over plain http', { ...byKey, jwksUri: 'http://app.example/jwks.json' }, 'jwks_uri scheme'],
    ['a jwks_uri of another scheme', { ...byKey, jwksUri: 'com.example.app:/jwks' }, 'jwks_uri scheme'],
    [
      'a jwks_uri of another scheme with an https address in it',
      { ...byKey, jwksUri: 'com.example:/https://a' },
      'jwks_uri scheme',
    ],
    [
      'an invalid second redirect URI',
      { redirectUris: ['https://a.example', 'ftp://a'] },
      'redirect_uris[1] redirect_uri',
    ],
    [
      'an invalid post-logout redirect URI',
      { postLogoutRedirectUris: ['http://a'] },
      'post_logout_redirect_uris[0] redirect_uri',
    ],
  ])('%s is refused', async (_name, changes, refusal) => expect(await of(changes)).toBe(refusal));

  const rsaOf = (modulusLength: number) => generateKeyPairSync('rsa', { modulusLength }).publicKey;
  const ecOf = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve }).publicKey;
  const jwkOf = (key: KeyObject): object => key.export({ format: 'jwk' });
  const [rsa, p256] = [jwkOf(rsaOf(2048)), jwkOf(ecOf('P-256'))];
  const usability = (...keys: object[]) => refusalOf(() => assertUsableKeys({ keys }));

  test.each<[string, object[]]>([
    ['an RSA key', [rsa]],
    ['an RSA key for PS256', [{ ...rsa, use: 'sig', alg: 'PS256' }]],
    ['a key on P-256', [{ ...p256, alg: 'ES256' }]],
    [
      'two keys with different key IDs',
      [
        { ...rsa, kid: 'a' },
        { ...rsa, kid: 'b' },
      ],
    ],
    ['two keys of different types', [rsa, p256]],
    [
      'two keys for different algorithms',
      [
        { ...rsa, alg: 'RS256' },
        { ...rsa, alg: 'PS256' },
      ],
    ],
    ['one usable key besides unusable ones', [{ kty: 'OKP' }, { ...rsa, use: 'enc' }, {}, p256]],
  ])('a key set with %s is accepted', async (_name, keys) => expect(await usability(...keys)).toBeNull());

  test.each<[string, object]>([
    ['empty', {}],
    ['without its parameters', { kty: 'RSA' }],
    ['with a modulus that is no text', { ...rsa, n: 5 }],
    ['too short', jwkOf(rsaOf(1024))],
    ['for encryption', { ...rsa, use: 'enc' }],
    ['for an unsupported algorithm', { ...rsa, alg: 'RS512' }],
    ['on an unsupported curve', jwkOf(ecOf('P-384'))],
    ['not a point on its curve', { ...p256, x: 'AA', y: 'AA' }],
  ])('a key set whose only key is %s is refused', async (_name, key) => {
    expect(await usability(key)).toBe('jwks unusable');
  });

  test.each<[string, object, object]>([
    ['no key ID', {}, {}],
    ['the same key ID', { kid: 'a' }, { kid: 'a', alg: 'RS256' }],
    ['a key ID on only one of them', { kid: 'a' }, {}],
  ])('two keys of one type with %s are refused', async (_name, one, other) => {
    expect(await usability(p256, { ...rsa, ...one }, { ...jwkOf(rsaOf(2048)), ...other })).toBe('jwks ambiguous');
  });

  test('keys may be on this machine, for development', async () => {
    expect(await of({ ...byKey, jwksUri: 'http://localhost:4000/jwks.json' })).toBeNull();
  });

  test.each([
    ...['https://app.example/cb', 'https://app.example/cb?x=1', 'com.example.app:/cb', 'http://localhost/cb'],
    ...['http://127.0.0.1:4000/cb', 'http://127.10.200.30/cb', 'http://[::1]/cb'],
  ])('%s can be a redirect URI', (uri) => expect(problemOfRedirectUri(uri)).toBeNull());

  test.each([
    ['/cb', 'absolute'],
    ['https://app.example/cb#part', 'fragment'],
    ['https://app.example/cb#', 'fragment'],
    ['https://ana@app.example/cb', 'credentials'],
    ['https://:secret@app.example/cb', 'credentials'],
    ['https://*.app.example/cb', 'wildcard'],
    ['http://app.example/cb', 'loopback'],
    ['http://localhost.evil.example/cb', 'loopback'],
    ['http://127.0.0.1.evil.example/cb', 'loopback'],
    ['http://evil-127.0.0.1.example/cb', 'loopback'],
    ['http://a127.0.0.1.b/cb', 'loopback'],
    ['javascript:alert(1)', 'private-use scheme'],
    ['app:/cb', 'private-use scheme'],
    ['https:app.example/cb', 'two slashes'],
    ['https:///app.example/cb', 'two slashes'],
    ['https:/\\app.example/cb', 'backslashes'],
    ['https://app.example/c b', 'blanks'],
    ['https://app.example/cb\t', 'control characters'],
    ['https://app;script-src.example/cb', 'DNS'],
    ["https://app'.example/cb", 'DNS'],
    ['https://app%2c.example/cb', 'DNS'],
  ])('%s cannot be a redirect URI: %s', (uri, problem) => expect(problemOfRedirectUri(uri)).toMatch(problem));
});

describe('a hint of whom a request is about', () => {
  const keysThat = (verify: (token: string, options: object) => object) =>
    ({ verify: async (token: string, options: object) => verify(token, options) }) as never;
  const unreadable = 'invalid_request: id_token_hint is not an ID token of this issuer';

  test('is an ID token of ours, also an expired one', async () => {
    const asked: object[] = [];
    const keys = keysThat((token, options) => {
      asked.push([token, options]);
      return { sub: 'ana', aud: 'app', sid: 's' };
    });
    const ofAna = { subject: 'ana', clientId: 'app', isProven: true };
    expect(await readHint(keys, 'token')).toEqual({ ...ofAna, sessionId: 's' });
    expect(asked).toEqual([['token', { typ: 'JWT', acceptExpired: true }]]);
    const sessionless = keysThat(() => ({ sub: 'ana', aud: 'app', sid: 7 }));
    expect(await readHint(sessionless, 'token')).toEqual({ ...ofAna, sessionId: null });
  });

  test.each([
    ['nobody', { aud: 'app' }],
    ['no client', { sub: 'ana' }],
    ['several clients', { sub: 'ana', aud: ['app', 'other'] }],
  ])('that names %s is refused', async (_name, claims) => {
    expect(
      await refusalOf(() =>
        readHint(
          keysThat(() => claims),
          'token',
        ),
      ),
    ).toBe(unreadable);
  });

  test('a token that is not signed by us is none, and an error stays an error', async () => {
    const failing = (error: Error) =>
      keysThat(() => {
        throw error;
      });
    expect(await refusalOf(() => readHint(failing(new errors.JWSSignatureVerificationFailed()), 'x'))).toBe(unreadable);
    await expect(readHint(failing(new Error('no database')), 'x')).rejects.toThrow('no database');
  });
});

describe('a sign-out', () => {
  const client = { clientId: 'app', postLogoutRedirectUris: ['https://app.example/bye'] } as Client;
  const clients = { find: async (id: string) => (id === 'app' ? client : null) } as never;
  const keys = { verify: async () => ({ sub: 'ana', aud: 'app', sid: 's' }) } as never;
  const parse = (parameters: object) => parseLogoutRequest(readParameters(parameters), { clients, keys });

  test('parameters are read, and unknown ones are left out', async () => {
    const known = { id_token_hint: 't', post_logout_redirect_uri: 'https://app.example/bye', state: 'x' };
    expect(await parse({ ...known, other: 'y' })).toEqual({
      client,
      hint: { subject: 'ana', clientId: 'app', sessionId: 's', isProven: true },
      redirectUri: 'https://app.example/bye',
      state: 'x',
      parameters: known,
    });
    const nothing = { client: null, hint: null, redirectUri: null, state: null, parameters: {} };
    expect(await parse({})).toEqual(nothing);
    expect((await parse({ client_id: 'app', id_token_hint: 't' })).client).toBe(client);
  });

  test.each<[string, Record<string, string | string[]>, string]>([
    [
      'a hint of another client',
      { id_token_hint: 't', client_id: 'other' },
      'id_token_hint was issued to another client',
    ],
    ['an unknown client', { client_id: 'other' }, 'client_id is unknown'],
    [
      'an address without a client or hint',
      { post_logout_redirect_uri: 'https://app.example/bye' },
      'needs id_token_hint or client_id',
    ],
    ['another address', { client_id: 'app', post_logout_redirect_uri: 'https://evil.example' }, 'is not registered'],
    ['a state given twice', { state: ['a', 'b'] }, 'state must be sent once'],
    ['a long state', { state: 'x'.repeat(8193) }, 'a parameter is too long'],
    ['a long hint', { id_token_hint: 'x'.repeat(12_289) }, 'a parameter is too long'],
  ])('with %s is refused', async (_name, parameters, refusal) =>
    expect(await refusalOf(() => parse(parameters))).toMatch(refusal),
  );

  test('values of the maximum length are read', async () => {
    expect((await parse({ state: 'x'.repeat(8192), other: 'x'.repeat(9000) })).state).toHaveLength(8192);
    const hint = { id_token_hint: 'x'.repeat(12_288) };
    expect((await parse(hint)).parameters).toEqual(hint);
  });
});

describe('the way to a page of the own account', () => {
  const parse = (parameters: object) => parseAccountRequest(readParameters(parameters), 'https://id.example');
  const factor = '01890a5d-ac96-774b-bcce-b302099a8057';

  test.each([
    ...['account', 'account/password', 'account/recovery-codes', 'account/factors/totp', 'account/factors/webauthn'],
    ...['account/factors/email-otp', `account/factors/${factor}`],
  ])('%s is accepted as a destination', (destination) => {
    const parsed = parse({ client_id: 'app', destination, state: 'x', ui_locales: 'de' });
    expect(parsed).toMatchObject({
      request: {
        redirectUri: `https://id.example/oauth/${destination}?client_id=app&ui_locales=de`,
        state: 'x',
        codeChallenge: null,
        parameters: { client_id: 'app', destination, state: 'x', ui_locales: 'de' },
      },
    });
    expect(parsed).not.toHaveProperty('request.parameters.redirect_uri');
    expect(parsed).not.toHaveProperty('request.parameters.response_type');
  });

  test('without a client or a language none is in its address', () => {
    expect(parse({ destination: 'account' })).toMatchObject({
      request: { redirectUri: 'https://id.example/oauth/account' },
    });
  });

  test.each([
    ...[
      '-',
      'accounts',
      'account/',
      'account/other',
      'my/account',
      'account/factors',
      'account/factors/',
      'account/password/x',
    ],
    ...[`account/factors/${factor}0`, `account/factors/${factor.slice(1)}`, 'account/factors/x', '//evil.example'],
  ])('"%s" is refused as a destination', async (destination) => {
    const refusal = await refusalOf(() => parse({ client_id: 'app', destination }));
    expect(refusal).toBe('invalid_request: destination is unknown');
  });

  test("a client's own request is not one, whatever names it uses", () => {
    expect(parse({ client_id: 'app' })).toBeNull();
    expect(parse({ destination: 'account', redirect_uri: 'https://app.example/cb' })).toBeNull();
    expect(parse({ destination: 'account', response_type: 'code' })).toBeNull();
    expect(parse({ destination: 'account', response_type: ['code', 'code'] })).toBeNull();
    expect(parse({ destination: 'account', redirect_uri: { a: 1 } })).toBeNull();
  });

  test.each(['destination', 'client_id'])('a request with two values of %s is refused', async (name) => {
    const asked = { destination: 'account', client_id: 'app' };
    const twice = readParameters(asked, { [name]: asked[name as 'client_id'] });
    const refusal = await refusalOf(() => parseAccountRequest(twice, 'https://id.example'));
    expect(refusal).toMatch(`${name} must be sent once`);
  });

  test('requests that OpenID Connect refuses by a redirect are refused here too', () => {
    expect(parse({ destination: 'account', request: 'x' })).toMatchObject({
      redirected: { error: 'request_not_supported' },
    });
  });
});

describe('how a client authenticates', () => {
  const now = () => new Date('2026-03-01T12:00:00Z');
  const rotated = {
    tokenEndpointAuthMethod: 'client_secret_basic',
    secretHash: hashSecret('new'),
    previousSecretHash: hashSecret('former'),
  } as const;
  const registered: Partial<Record<string, Partial<Client>>> = {
    basic: { tokenEndpointAuthMethod: 'client_secret_basic', secretHash: hashSecret('s+cret:%') },
    post: { tokenEndpointAuthMethod: 'client_secret_post', secretHash: hashSecret('s') },
    poster: { tokenEndpointAuthMethod: 'client_secret_basic', secretHash: hashSecret('sss') },
    lost: { tokenEndpointAuthMethod: 'client_secret_post', secretHash: null },
    jwt: { tokenEndpointAuthMethod: 'private_key_jwt', secretHash: hashSecret('s') },
    overlapping: { ...rotated, previousSecretExpiresAt: new Date('2026-03-01T12:00:01Z') },
    over: { ...rotated, previousSecretExpiresAt: new Date('2026-03-01T12:00:00Z') },
    none: { tokenEndpointAuthMethod: 'none' },
  };
  const find = async (clientId: string) => (registered[clientId] ? { clientId, ...registered[clientId] } : null);
  const clients = { find, findAnew: find } as never;
  const assertions = {
    subjectOf: (assertion: string) => (assertion === 'unreadable' ? null : 'jwt'),
    async assertValid(_client: Client, assertion: string) {
      if (assertion !== 'right') throw new OAuthError('invalid_client', 'client authentication failed');
    },
  };
  const { authenticate } = createClientAuthentication({ clients, assertions, now });
  const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
  const by = (authorization: string | undefined, parameters: object = {}) =>
    authenticate(authorization, readParameters(parameters).values);
  const type = { client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer' };
  const encoded = basic('basic:s%2Bcret%3A%25');

  test.each<[string, string | undefined, object, string]>([
    ['a secret in the header', encoded, {}, 'basic'],
    ['a secret in the header, and the same client in the body', encoded, { client_id: 'basic' }, 'basic'],
    ['a secret in a header without padding', basic('basic:s%2Bcret%3A%25').replaceAll('=', ''), {}, 'basic'],
    ['a secret in a header with two characters of it', basic('poster:sss'), {}, 'poster'],
    ['a header in lower case', encoded.replace('Basic', 'basic  '), {}, 'basic'],
    ['a secret in the body', undefined, { client_id: 'post', client_secret: 's' }, 'post'],
    [
      'a secret in the body, registered for the header',
      undefined,
      { client_id: 'poster', client_secret: 'sss' },
      'poster',
    ],
    ['a secret in the header, registered for the body', basic('post:s'), {}, 'post'],
    ['a new secret', basic('overlapping:new'), {}, 'overlapping'],
    ['the previous secret, during the overlap', basic('overlapping:former'), {}, 'overlapping'],
    ['a new secret, after the overlap', basic('over:new'), {}, 'over'],
    ['an assertion', undefined, { ...type, client_assertion: 'right' }, 'jwt'],
    ['an assertion, and its client', undefined, { ...type, client_assertion: 'right', client_id: 'jwt' }, 'jwt'],
    ['nothing, of a public client', undefined, { client_id: 'none' }, 'none'],
    ['an empty secret in the header, of a public client', basic('none:'), {}, 'none'],
    ['an empty secret in the header, and the same client in the body', basic('none:'), { client_id: 'none' }, 'none'],
  ])('%s', async (_name, authorization, parameters, clientId) => {
    expect((await by(authorization, parameters)).clientId).toBe(clientId);
  });

  test.each<[string, string | undefined, object]>([
    ['a request without any client', undefined, {}],
    ['an unknown client', undefined, { client_id: 'other' }],
    ['a wrong secret in the header', basic('basic:other'), {}],
    ['a plus that is not encoded', basic('basic:s+cret%3A%25'), {}],
    ['a stray percent sign', basic('basic:s%'), {}],
    ['a header without a colon', basic('basic'), {}],
    ['another scheme', encoded.replace('Basic', 'Bearer'), {}],
    ['something before the header', `x ${encoded}`, {}],
    ['something after the header', `${encoded} x`, {}],
    ['another client in the body', encoded, { client_id: 'post' }],
    ['a wrong secret in the body', undefined, { client_id: 'post', client_secret: 'x' }],
    ['a secret of a client that has none any more', undefined, { client_id: 'lost', client_secret: 's' }],
    ['the previous secret, after the overlap', basic('over:former'), {}],
    ['a secret without a client_id', undefined, { client_secret: 's' }],
    ['a wrong secret in the body, registered for the header', undefined, { client_id: 'basic', client_secret: 'x' }],
    ['an earlier secret, of a client with a key', undefined, { client_id: 'jwt', client_secret: 's' }],
    ['an earlier secret in the header, of a client with a key', basic('jwt:s'), {}],
    ['no proof, of a confidential client', undefined, { client_id: 'post' }],
    ['an empty secret in the header, of a confidential client', basic('basic:'), {}],
    ['an empty secret in the header, registered for the body', basic('post:'), {}],
    ['an empty secret in the header, of a client that has none any more', basic('lost:'), {}],
    ['an empty secret in the header, of a client with a key', basic('jwt:'), {}],
    ['an empty secret in the header, and another client in the body', basic('none:'), { client_id: 'post' }],
    ['a secret in the header, of a public client', basic('none:s'), {}],
    ['a secret, of a public client', undefined, { client_id: 'none', client_secret: 's' }],
    ['an assertion of another type', undefined, { client_assertion_type: 'saml', client_assertion: 'right' }],
    ['an assertion without a type', undefined, { client_assertion: 'right' }],
    ['a type without an assertion', undefined, { ...type, client_id: 'jwt' }],
    ['a stray percent sign, of a public client', basic('none:%'), { client_id: 'none' }],
    ['an assertion without a type, of a public client', undefined, { client_assertion: 'right', client_id: 'none' }],
    ['a type without an assertion, of a public client', undefined, { ...type, client_id: 'none' }],
    ['a wrong assertion', undefined, { ...type, client_assertion: 'wrong' }],
    ['an unreadable assertion', undefined, { ...type, client_assertion: 'unreadable' }],
    ['an assertion of another client', undefined, { ...type, client_assertion: 'right', client_id: 'none' }],
  ])('%s is refused', async (_name, authorization, parameters) => {
    expect(await refusalOf(() => by(authorization, parameters))).toBe('invalid_client: client authentication failed');
  });

  test('a secret that does not fit is compared with the client as it is now, and one that fits is not', async () => {
    const cached = { clientId: 'post', ...registered.post, secretHash: hashSecret('former') };
    const findAnew = jest.fn(async (): Promise<unknown> => ({ ...cached, secretHash: hashSecret('new') }));
    const held = createClientAuthentication({
      clients: { find: async () => cached, findAnew } as never,
      assertions,
      now,
    });
    const present = (secret: string) =>
      held.authenticate(undefined, readParameters({ client_id: 'post', client_secret: secret }).values);
    expect((await present('former')).clientId).toBe('post');
    expect(findAnew).not.toHaveBeenCalled();
    expect((await present('new')).clientId).toBe('post');
    expect(await refusalOf(() => present('neither'))).toMatch('invalid_client');
    findAnew.mockResolvedValue(null);
    expect(await refusalOf(() => present('new'))).toMatch('invalid_client');
  });

  test.each<[string, object | null]>([
    ['is deleted', null],
    ['has another method', { tokenEndpointAuthMethod: 'client_secret_post' }],
    ['has another address of its keys', { jwksUri: 'https://other.example/jwks' }],
    ['has other keys', { jwks: { keys: [{ kty: 'RSA', kid: 'other' }] } }],
  ])('a client that %s by the time its assertion is verified is refused', async (_name, change) => {
    const client = { clientId: 'jwt', ...registered.jwt, jwksUri: null, jwks: { keys: [{ kty: 'RSA', kid: 'one' }] } };
    const authenticated = (later: object | null) => {
      const find = jest.fn().mockResolvedValueOnce(client).mockResolvedValue(later);
      const changing = createClientAuthentication({ clients: { find, findAnew: find } as never, assertions, now });
      return changing.authenticate(undefined, readParameters({ ...type, client_assertion: 'right' }).values);
    };
    expect(await authenticated(structuredClone(client))).toEqual(client);
    const refused = await refusalOf(() => authenticated(change && { ...client, ...change }));
    expect(refused).toBe('invalid_client: client authentication failed');
  });

  test.each<[string, string | undefined, object]>([
    ['header and body', encoded, { client_id: 'basic', client_secret: 's' }],
    ['header and assertion', encoded, { ...type, client_assertion: 'right' }],
    ['header and the type of an assertion', encoded, type],
    ['header with nothing in it and secret', basic('none:'), { client_id: 'post', client_secret: 's' }],
    ['secret and assertion', undefined, { client_id: 'post', client_secret: 's', ...type, client_assertion: 'right' }],
  ])('two ways at once are refused: %s', async (_name, authorization, parameters) => {
    expect(await refusalOf(() => by(authorization, parameters))).toMatch(
      'invalid_request: authenticate the client in one way',
    );
  });
});
