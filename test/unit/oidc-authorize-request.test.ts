import { describe, expect, test } from '@jest/globals';
import { OAuthError } from '../../src/domain/oidc/oauth-error.js';
import {
  type AuthorizeClient,
  clientIdOf,
  parseAuthorizeRequest,
} from '../../src/domain/oidc/requests/authorize-request.js';
import { readParameters } from '../../src/domain/oidc/requests/parameters.js';

const client: AuthorizeClient = {
  clientType: 'public',
  redirectUris: ['https://app.example.com/cb', 'http://127.0.0.1/cb'],
  scopes: ['openid', 'profile', 'email'],
  consentRequired: false,
  requirePkce: true,
};
const confidential: AuthorizeClient = { ...client, clientType: 'confidential', requirePkce: false };
const good = {
  client_id: 'app',
  redirect_uri: 'https://app.example.com/cb',
  response_type: 'code',
  scope: 'openid email',
  state: 's',
  code_challenge: 'a'.repeat(43),
  code_challenge_method: 'S256',
};

const parse = (changes: Record<string, unknown> = {}, of: AuthorizeClient = client) =>
  parseAuthorizeRequest(readParameters({ ...good, ...changes }), of);
const request = (changes: Record<string, unknown> = {}, of?: AuthorizeClient) => {
  const parsed = parse(changes, of);
  if ('redirected' in parsed) throw new Error(parsed.redirected.error);
  return parsed.request;
};
const refusal = (changes: Record<string, unknown>, of?: AuthorizeClient) => {
  try {
    parse(changes, of);
  } catch (error) {
    if (error instanceof OAuthError) return [error.code, error.message];
    throw error;
  }
  return null;
};

describe('shown on a page, never redirected', () => {
  const missing = { redirect_uri: 'redirect_uri is missing', response_type: 'response_type is missing' };
  test.each(Object.entries(missing))('without %s', (name, message) => {
    expect(refusal({ [name]: undefined })).toEqual(['invalid_request', message]);
    expect(refusal({ [name]: '' })).toEqual(['invalid_request', message]);
  });

  test.each([
    ['an unregistered URI', { redirect_uri: 'https://evil.example/cb' }],
    ['a longer path', { redirect_uri: 'https://app.example.com/cb/more' }],
    ['another query', { redirect_uri: 'https://app.example.com/cb?x=1' }],
    ['another case', { redirect_uri: 'https://APP.example.com/cb' }],
    ['a URI given twice', { redirect_uri: ['https://app.example.com/cb', 'https://app.example.com/cb'] }],
    ['a state given twice', { state: ['a', 'b'] }],
    ['a nonce that is no text', { nonce: { a: 1 } }],
    ['an unknown response mode', { response_mode: 'web_message' }],
    ['fragment, which is not offered', { response_mode: 'fragment' }],
    ['no challenge', { code_challenge: undefined, code_challenge_method: undefined }],
    ['a method without a challenge', { code_challenge: undefined }],
    ['a challenge without a method, which means plain', { code_challenge_method: undefined }],
    ['plain', { code_challenge_method: 'plain' }],
    ['a short challenge', { code_challenge: 'a'.repeat(42) }],
    ['a challenge with something before it', { code_challenge: `=${'a'.repeat(43)}` }],
    ['a challenge with something after it', { code_challenge: `${'a'.repeat(43)}=` }],
    ['a long claims', { claims: 'a'.repeat(8193) }],
    ['a long id_token_hint', { id_token_hint: 'a'.repeat(12_289) }],
    ['a number that no JSON holds exactly', { max_age: 2 ** 60 }],
    ['a challenge of other characters', { code_challenge: `${'a'.repeat(42)}=` }],
    ['a long state', { state: 'a'.repeat(8193) }],
    ['a long nonce', { nonce: 'a'.repeat(2049) }],
    ['a control character', { nonce: 'a\u0000b' }],
    ['a line break', { login_hint: 'a\nb' }],
    ['a control character of no JSON', { claims: '{\u0000}' }],
    ['an unknown prompt', { prompt: 'create' }],
    ['prompt none with others', { prompt: 'none login' }],
    ['a max_age that is no number', { max_age: '1h' }],
    ['a negative max_age', { max_age: '-1' }],
  ])('%s', (_name, changes) => {
    expect(refusal(changes)?.[0]).toBe('invalid_request');
  });

  test.each(['token', 'id_token', 'code id_token', 'none', 'CODE'])('response_type %s', (responseType) => {
    expect(refusal({ response_type: responseType })?.[0]).toBe('unsupported_response_type');
  });

  test('a client_id that is missing or given twice', () => {
    expect(() => clientIdOf(readParameters({}))).toThrow('client_id is missing');
    expect(() => clientIdOf(readParameters({ client_id: ['a', 'b'] }))).toThrow('client_id must be sent once');
    expect(clientIdOf(readParameters({ client_id: 'app' }))).toBe('app');
  });
});

describe('reported to the client by a redirect', () => {
  test.each([
    ['request', 'request_not_supported'],
    ['request_uri', 'request_uri_not_supported'],
    ['registration', 'registration_not_supported'],
  ])('%s', (name, error) => {
    expect(parse({ [name]: 'x' })).toMatchObject({ redirected: { error, state: 's', redirectUri: good.redirect_uri } });
    expect(() => parse({ [name]: 'x', redirect_uri: 'https://evil.example' })).toThrow('not registered');
  });
});

describe('accepted', () => {
  test('what the standard says to ignore: unknown parameters, even twice, and unknown scopes', () => {
    const { scope, parameters } = request({
      scope: 'openid email offline_access foo',
      resource: ['a', 'b'],
      foo: 'bar',
    });
    expect(scope).toEqual(['openid', 'email']);
    expect(parameters).not.toHaveProperty('foo');
    expect(parameters).toMatchObject({ client_id: 'app', state: 's' });
  });

  test('plain OAuth without openid, and no scope at all', () => {
    expect(request({ scope: 'email' }).scope).toEqual(['email']);
    expect(request({ scope: undefined }).scope).toEqual([]);
  });

  test('scopes for which the client is not registered are left out like unknown ones', () => {
    const asked = { scope: 'permissions email org openid' };
    expect(request(asked).scope).toEqual(['openid', 'email']);
    expect(request(asked, { ...client, scopes: ['org', 'permissions'] }).scope).toEqual(['org', 'permissions']);
    expect(request(asked, { ...client, scopes: ['profile'] }).scope).toEqual([]);
  });

  test('hints and preferences of OpenID Connect', () => {
    const wishes = { display: 'popup', acr_values: 'x', claims: '{}', claims_locales: 'de', ui_locales: 'de en' };
    const { parameters, loginHint, maxAge } = request({ ...wishes, login_hint: 'ana@example.com', max_age: '0' });
    expect(parameters).toMatchObject(wishes);
    expect([loginHint, maxAge]).toEqual(['ana@example.com', 0]);
  });

  test('claims on several lines, which are ignored like others', () => {
    const claims = '{\r\n\t"userinfo": {}\n}';
    expect(request({ claims }).parameters).toMatchObject({ claims });
  });

  test.each([
    ['none', { none: true, login: false, consent: false, selectAccount: false }],
    ['login', { none: false, login: true, consent: false, selectAccount: false }],
    ['consent', { none: false, login: false, consent: true, selectAccount: false }],
    ['login select_account consent', { none: false, login: true, consent: true, selectAccount: true }],
  ])('prompt %s', (prompt, read) => {
    expect(request({ prompt }).prompt).toEqual(read);
  });

  test('a confidential client that need not send a challenge; one that is sent is kept', () => {
    const without = { code_challenge: undefined, code_challenge_method: undefined };
    expect(request(without, confidential).codeChallenge).toBeNull();
    expect(request({}, confidential).codeChallenge).toBe(good.code_challenge);
    expect(refusal(without, { ...confidential, requirePkce: true })).toEqual([
      'invalid_request',
      'this client must send a code_challenge: switch PKCE with S256 on in its library, unless it is registered with require_pkce false',
    ]);
  });

  test('a public client must send a challenge, whatever it is registered with', () => {
    const without = { code_challenge: undefined, code_challenge_method: undefined };
    const wanted = 'this client must send a code_challenge: switch PKCE with S256 on in its library';
    expect(refusal(without, { ...client, requirePkce: false })?.[1]).toBe(wanted);
    expect(refusal({ code_challenge: undefined }, confidential)?.[1]).toBe('code_challenge is missing');
  });

  test('values of the maximum length', () => {
    const long = { state: 'a'.repeat(8192), id_token_hint: 'b'.repeat(12_288), claims: 'c'.repeat(8192) };
    expect(request(long)).toMatchObject({ state: long.state, idTokenHint: long.id_token_hint });
    expect(request(long).parameters).toMatchObject(long);
  });

  test('a state that returns in a header, in whatever encoding', () => {
    const most = '\u4e2d'.repeat(910); // nine bytes each
    expect(request({ state: most }).state).toBe(most);
    expect(refusal({ state: `${most}\u4e2d` })?.[1]).toBe('state is longer than 8192 bytes in a URL');
    expect(refusal({ state: '%'.repeat(2731) })?.[1]).toBe('state is longer than 8192 bytes in a URL');
  });

  test('the rest of a request, with null for what is absent', () => {
    const { nonce, idTokenHint, organization } = request({ nonce: 'n', id_token_hint: 'h', organization: 'acme' });
    expect([nonce, idTokenHint, organization]).toEqual(['n', 'h', 'acme']);
    const silent = request({ state: undefined });
    expect([silent.state, silent.nonce, silent.idTokenHint, silent.organization]).toEqual([null, null, null, null]);
    expect([silent.loginHint, silent.maxAge, silent.requiresAal2]).toEqual([null, null, false]);
  });

  test.each([
    ['urn:gatehouse:aal2', true, false],
    ['urn:gatehouse:aal1', false, false],
    ['urn:other urn:gatehouse:aal2', true, false],
    ['urn:gatehouse:aal2 urn:gatehouse:aal1', false, true],
    ['urn:gatehouse:aal1 urn:gatehouse:aal2', false, false],
    ['urn:other', false, false],
  ])('acr_values %s: a second factor is required: %s, or preferred: %s', (acr_values, requiresAal2, prefersAal2) => {
    expect(request({ acr_values })).toMatchObject({ requiresAal2, prefersAal2 });
  });

  test('blanks around a prompt', () => {
    expect(request({ prompt: ' login  consent ' }).prompt).toEqual({
      none: false,
      login: true,
      consent: true,
      selectAccount: false,
    });
    expect(request({ prompt: ' none ' }).prompt.none).toBe(true);
  });

  test('an input that is no form has no parameters; the first of several inputs counts', () => {
    for (const input of [undefined, null, 'client_id=app', 7, ['a']]) {
      expect(readParameters(input)).toEqual({ values: new Map(), malformed: [] });
    }
    expect(readParameters({ a: '1' }, { b: 2, a: '3', c: 2 ** 60, d: null, e: '' })).toEqual({
      values: new Map([
        ['a', '1'],
        ['b', '2'],
      ]),
      malformed: ['a', 'c'],
    });
  });

  test('numbers in a JSON body', () => {
    expect(request({ max_age: 30 }).maxAge).toBe(30);
  });
});
