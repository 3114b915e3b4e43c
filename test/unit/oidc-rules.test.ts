import { describe, expect, test } from '@jest/globals';
import type { Client } from '../../src/domain/oidc/clients/clients.js';
import {
  destinationOf,
  isRegistered,
  siteOf,
  staysOnDevice,
  withParameters,
} from '../../src/domain/oidc/clients/redirect-uris.js';
import { discoveryDocument } from '../../src/domain/oidc/discovery.js';
import type { AuthorizeRequest } from '../../src/domain/oidc/requests/authorize-request.js';
import { nextStep, suitsConsent } from '../../src/domain/oidc/requests/interaction.js';
import { allowedScopes, learntBy, scopes } from '../../src/domain/oidc/scopes.js';
import {
  accessTokenClaims,
  idTokenClaims,
  profileClaims,
  supportedClaims,
} from '../../src/domain/oidc/tokens/claims.js';
import { challengeOf, isChallenge, isVerifier } from '../../src/domain/oidc/tokens/pkce.js';
import { isCallable, loopback } from '../../src/platform/outbound/addresses.js';

describe('PKCE', () => {
  test('the challenge of RFC 7636 appendix B', () => {
    expect(challengeOf('dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk')).toBe(
      'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    );
  });
  test.each([
    [42, false],
    [43, true],
    [128, true],
    [129, false],
  ])('a verifier of %i characters is valid: %s', (length, good) => expect(isVerifier('a'.repeat(length))).toBe(good));
  test('a verifier has only unreserved characters, before its end and after its beginning, too', () => {
    const verifier = `${'a'.repeat(42)}-._~`;
    expect(isVerifier(verifier)).toBe(true);
    for (const other of [`${verifier}+`, `+${verifier}`, `${verifier}\n`, `${verifier}é`])
      expect(isVerifier(other)).toBe(false);
  });
  test('a challenge has 43 characters of base64url', () => {
    const challenge = `${'a'.repeat(41)}-_`;
    expect(isChallenge(challenge)).toBe(true);
    for (const other of ['', challenge.slice(1), `${challenge}a`, ` ${challenge}`, `~${challenge.slice(1)}`])
      expect(isChallenge(other)).toBe(false);
  });
});

describe('redirect URIs', () => {
  const registered = [
    'https://app.example.com/cb',
    'http://127.0.0.1/cb',
    'http://[::1]:4000/cb?x=1',
    'com.example.app:/cb',
  ];
  test.each([
    ['https://app.example.com/cb', true],
    ['https://app.example.com/cb/', false],
    ['https://app.example.com:443/cb', false],
    ['http://127.0.0.1:5123/cb', true],
    ['http://127.0.0.1:5123/other', false],
    ['http://127.0.0.1:99999/cb', false],
    ['http://127.0.0.1:5123@evil.example/cb', false],
    ['http://127.0.0.1.evil.example/cb', false],
    ['http://localhost:5123/cb', false],
    ['https://127.0.0.1:5123/cb', false],
    ['http://[::1]/cb?x=1', true],
    ['http://[::1]:1/cb', false],
    ['com.example.app:/cb', true],
    ['com.example.app://cb', false],
    ['http://127.0.0.1:65535/cb', true],
    ['http://127.0.0.1:65536/cb', false],
    ['javascript:alert(1)//http://127.0.0.1/cb', false],
    ['http://127.0.0.1/cb/more', false],
  ])('%s is registered: %s', (uri, good) => expect(isRegistered(uri, registered)).toBe(good));

  test('a loopback address without a path may be registered too, and matches no longer one', () => {
    expect(isRegistered('http://127.0.0.1:5123', ['http://127.0.0.1'])).toBe(true);
    expect(isRegistered('http://127.0.0.1.evil.example', ['http://127.0.0.1'])).toBe(false);
    expect(isRegistered('http://127.0.0.1:5123@evil.example', ['http://127.0.0.1'])).toBe(false);
  });

  test('parameters are added, and the registered part stays as it is', () => {
    expect(withParameters('https://a.example/cb?t=1', { code: 'c', state: 'a b&c', none: null })).toBe(
      'https://a.example/cb?t=1&code=c&state=a+b%26c',
    );
    expect(withParameters('com.example.app:/cb', { code: 'c' })).toBe('com.example.app:/cb?code=c');
    expect(withParameters('https://a.example', {})).toBe('https://a.example');
    expect(withParameters('https://a.example/?', { code: 'c' })).toBe('https://a.example/?code=c');
    expect(withParameters('https://a.example/?t=1&', { code: '' })).toBe('https://a.example/?t=1&code=');
    expect(withParameters('https://a.example/?', { code: undefined })).toBe('https://a.example/?');
  });

  test.each([
    ['https://a.example/cb', false, 'a.example'],
    ['https://a.example:8443/cb', false, 'a.example:8443'],
    ['http://127.0.0.1:5000/cb', true, '127.0.0.1:5000'],
    ['com.example.app:/cb', true, 'com.example.app'],
  ])('%s stays on the device: %s; people see %s', (uri, stays, destination) => {
    expect([staysOnDevice(uri), destinationOf(uri)]).toEqual([stays, destination]);
  });

  test.each([
    [
      ['com.example.app:/cb', 'http://127.0.0.1:5000/cb', 'https://a.example/cb', 'https://b.example'],
      'https://a.example',
    ],
    [['com.example.app:/cb', 'http://127.0.0.1/cb', 'http://[::1]:5000/cb'], 'http://[::1]:5000'],
    [['com.example.app:/cb', 'http://127.0.0.1/cb'], null],
    [['com.example.app://callback:1/cb'], null],
    [[], null],
  ])('of %j the site is %j', (uris, site) => expect(siteOf(uris)).toBe(site));
});

test('scopes: the known ones, once, in a fixed order', () => {
  expect(allowedScopes('email openid openid  offline_access', scopes)).toEqual(['openid', 'email']);
  expect(allowedScopes('email openid', ['email', 'offline_access'])).toEqual(['email']);
  expect(allowedScopes(undefined, scopes)).toEqual([]);
  expect(learntBy(['email', 'profile'])).toEqual(['openid', 'profile', 'email']);
  expect(learntBy([])).toEqual(['openid']);
});

describe('claims', () => {
  const at = new Date('2026-03-01T12:00:00.900Z');
  const subject = {
    identityId: 'id',
    email: 'a@b.c',
    emailVerifiedAt: null,
    firstName: 'Ana',
    lastName: null,
    avatarUrl: null,
    updatedAt: at,
  };
  const client = {
    clientId: 'app',
    accountId: 'acc',
    applicationId: 'appl',
    environmentId: 'env',
    settings: { accessTokenTtlSeconds: 900 },
  } as Client;
  const granted = {
    ...subject,
    grantId: 'g',
    sessionId: 's',
    scope: ['openid'],
    authTime: at,
    amr: ['pwd'],
    organizationId: null,
    acr: 'x',
  };
  const issuing = { baseUrl: 'https://id.example', at, client, granted, scope: ['openid'] };

  test('each scope has its own, and unknown ones are left out', () => {
    expect(profileClaims(subject, ['openid'])).toEqual({});
    expect(profileClaims(subject, ['profile'])).toEqual({ name: 'Ana', given_name: 'Ana', updated_at: 1772366400 });
    expect(profileClaims(subject, ['email'])).toEqual({ email: 'a@b.c', email_verified: false });
    const nameless = { ...subject, firstName: null };
    expect(profileClaims(nameless, ['profile'])).toEqual({ updated_at: 1772366400 });
  });

  test('an access token is for the service, an ID token for the client, and neither invents claims', () => {
    expect(accessTokenClaims(issuing, 'j')).toMatchObject({
      aud: 'https://id.example',
      client_id: 'app',
      jti: 'j',
      grant_id: 'g',
    });
    expect(accessTokenClaims({ ...issuing, scope: ['org', 'permissions'] }, 'j')).not.toHaveProperty('permissions');
    const id = idTokenClaims(issuing, 'token', null);
    expect(id).toMatchObject({ aud: 'app', sid: 's', auth_time: 1772366400, exp: 1772366400 + 900 });
    expect(id).not.toHaveProperty('nonce');
    expect(Object.keys(idTokenClaims(issuing, 'token', 'n')).filter((name) => !supportedClaims.includes(name))).toEqual(
      [],
    );
  });

  test('known data is in the token that asks for it: nonce, organization, permissions, confirmed addresses', () => {
    expect(idTokenClaims(issuing, 'token', 'n').nonce).toBe('n');
    expect(idTokenClaims(issuing, 'token', null)).not.toHaveProperty('organization_id');
    expect(idTokenClaims(issuing, 'token', null)).not.toHaveProperty('organizations');
    const organizations = { organizations: [{ id: 'o', slug: 'acme', name: 'Acme' }], truncated: true };
    const more = {
      ...issuing,
      granted: { ...granted, organizationId: 'o' },
      permissions: { permissions: ['door.open'], truncated: true },
      organizations,
    };
    for (const claims of [accessTokenClaims(more, 'j'), idTokenClaims(more, 'token', null)]) {
      expect(claims).toMatchObject({ organization_id: 'o', organizations_truncated: true });
      expect(claims.organizations).toEqual(organizations.organizations);
    }
    expect(accessTokenClaims(more, 'j')).toMatchObject({ permissions: ['door.open'], permissions_truncated: true });
    const whole = accessTokenClaims({ ...more, permissions: { permissions: [], truncated: false } }, 'j');
    expect(whole).toMatchObject({ permissions: [] });
    expect(whole).not.toHaveProperty('permissions_truncated');
    expect(idTokenClaims(more, 'token', null)).not.toHaveProperty('permissions');
    expect(profileClaims({ ...subject, emailVerifiedAt: at }, ['email'])).toEqual({
      email: 'a@b.c',
      email_verified: true,
    });
  });

  test('discovery names every claim that a token or userinfo can have', () => {
    const organizations = { organizations: [], truncated: true };
    const whole = { ...subject, firstName: 'Ana', lastName: 'Lund', avatarUrl: 'https://a.example/a.png' };
    const scope = ['openid', 'profile', 'email', 'org'];
    const most = { ...issuing, granted: { ...granted, ...whole, organizationId: 'o' }, organizations, scope };
    expect(Object.keys(idTokenClaims(most, 'token', 'n')).sort()).toEqual([...supportedClaims].sort());
  });

  // OpenID Connect Core, appendix A.3 has this pair.
  test('at_hash is the left half of the access token’s hash', () => {
    expect(idTokenClaims(issuing, 'jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y', null).at_hash).toBe(
      '77QmUPtjPfzWtF2AnpK9RQ',
    );
  });
});

describe('what a request requires', () => {
  const now = new Date('2026-03-01T12:00:00Z');
  const session = {
    id: 's',
    identityId: 'ana',
    email: 'a@b.c',
    amr: ['pwd'],
    acr: 'x',
    authenticatedAt: new Date(now.getTime() - 60_000),
    authTime: null,
    secondFactorAt: null,
    ownFactorAt: null,
    ssoConnectionId: null,
    ssoSessionId: null,
  };
  const request = (changes: object = {}) =>
    ({
      prompt: { none: false, login: false, consent: false, selectAccount: false, ...changes },
      maxAge: null,
      ...changes,
    }) as AuthorizeRequest;
  const step = (changes: object = {}, situation: object = {}) =>
    nextStep(request(changes), { session, hintedSubject: null, chosen: false, asksAlways: false, now, ...situation });

  /** A person who came a minute ago from a provider that had authenticated them earlier. */
  const byProvider = (minutes: number) => ({
    authTime: new Date(now.getTime() - minutes * 60_000),
    ssoSessionId: 'session',
  });
  const minutesAgo = (minutes: number) => ({ authenticatedAt: new Date(now.getTime() - minutes * 60_000) });
  test.each([
    ['any session suits', {}, minutesAgo(600), null, true],
    ['the session of the person whom the hint names suits', {}, {}, 'ana', true],
    ['the session of another person does not suit', {}, {}, 'ben', false],
    ['a sign-in within the hour suits prompt=login', { login: true }, minutesAgo(59), null, true],
    ['a sign-in of an hour ago does not suit prompt=login', { login: true }, minutesAgo(60), null, false],
    [
      'a sign-in of an hour ago does not suit prompt=login with a max_age',
      { login: true, maxAge: 7200 },
      minutesAgo(60),
      null,
      false,
    ],
    ['a sign-in within the hour suits max_age=0', { maxAge: 0 }, minutesAgo(59), null, true],
    ['a sign-in of an hour ago does not suit max_age=60', { maxAge: 60 }, minutesAgo(60), null, false],
    ['a sign-in within a long max_age suits it', { maxAge: 7200 }, minutesAgo(119), null, true],
    ['a sign-in past a long max_age does not suit it', { maxAge: 7200 }, minutesAgo(120), null, false],
    [
      'a sign-in 130 minutes ago at a provider suits a max_age of two hours',
      { maxAge: 7200 },
      byProvider(130),
      null,
      true,
    ],
    ['a sign-in 131 minutes ago at a provider does not suit it', { maxAge: 7200 }, byProvider(131), null, false],
    ['a sign-in within the hour at a provider suits prompt=login', { login: true }, byProvider(59), null, true],
    ['a sign-in an hour ago at a provider does not suit it', { login: true }, byProvider(60), null, false],
    [
      'a sign-in at a provider that sends no time suits prompt=login',
      { login: true },
      { authTime: new Date(0) },
      null,
      true,
    ],
    [
      'a sign-in at a provider that sends no time does not suit max_age',
      { maxAge: 7200 },
      { authTime: new Date(0) },
      null,
      false,
    ],
  ])('at consent, %s', (_name, changes, of, hintedSubject, suits) => {
    expect(suitsConsent(request(changes), { session: { ...session, ...of }, hintedSubject, now })).toBe(suits);
  });

  test.each([
    ['a session is enough', {}, {}, 'continue'],
    ['no session', {}, { session: null }, 'sign-in'],
    ['no session, prompt none', { none: true }, { session: null }, 'login_required'],
    ['prompt none with a session', { none: true }, {}, 'continue'],
    ['prompt login', { login: true }, {}, 'sign-in'],
    ['select_account', { selectAccount: true }, {}, 'select-account'],
    ['select_account, chosen', { selectAccount: true }, { chosen: true }, 'continue'],
    ['a session, where the person always chooses', {}, { asksAlways: true }, 'select-account'],
    ['a session, where the person always chooses, with a choice', {}, { asksAlways: true, chosen: true }, 'continue'],
    [
      'a session, where the person always chooses, prompt none',
      { none: true },
      { asksAlways: true },
      'interaction_required',
    ],
    ['no session, where the person always chooses', {}, { asksAlways: true, session: null }, 'sign-in'],
    [
      'no session, where the person always chooses, prompt none',
      { none: true },
      { asksAlways: true, session: null },
      'login_required',
    ],
    ['a session younger than max_age', { maxAge: 61 }, {}, 'continue'],
    ['a session as old as max_age', { maxAge: 60 }, {}, 'sign-in'],
    ['max_age 0', { maxAge: 0 }, { session: { ...session, authenticatedAt: now } }, 'sign-in'],
    [
      'max_age, of a session whose provider asked before',
      { maxAge: 61 },
      { session: { ...session, ...byProvider(2) } },
      'sign-in',
    ],
    ['max_age, prompt none', { maxAge: 10, none: true }, {}, 'login_required'],
    ['a hint of the same person', { none: true }, { hintedSubject: 'ana' }, 'continue'],
    ['a hint of another person', {}, { hintedSubject: 'bob' }, 'sign-in'],
    ['a hint of another person, prompt none', { none: true }, { hintedSubject: 'bob' }, 'login_required'],
    ['a choice does not replace a sign-in', { login: true }, { chosen: true }, 'sign-in'],
  ])('%s', (_name, changes, situation, expected) => expect(step(changes, situation)).toBe(expected));
});

test('discovery has what the specification lists', () => {
  const confidential = ['client_secret_basic', 'client_secret_post', 'private_key_jwt'];
  const algorithms = ['RS256', 'PS256', 'ES256'];
  expect(discoveryDocument('https://id.example')).toEqual({
    issuer: 'https://id.example',
    authorization_endpoint: 'https://id.example/oauth/authorize',
    token_endpoint: 'https://id.example/oauth/token',
    userinfo_endpoint: 'https://id.example/oauth/userinfo',
    jwks_uri: 'https://id.example/.well-known/jwks.json',
    revocation_endpoint: 'https://id.example/oauth/revoke',
    introspection_endpoint: 'https://id.example/oauth/introspect',
    end_session_endpoint: 'https://id.example/oauth/logout',
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
    response_types_supported: ['code'],
    response_modes_supported: ['query', 'form_post'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    scopes_supported: ['openid', 'profile', 'email', 'org', 'permissions'],
    claims_supported: supportedClaims,
    claim_types_supported: ['normal'],
    acr_values_supported: ['urn:gatehouse:aal1', 'urn:gatehouse:aal2'],
    prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
    display_values_supported: ['page'],
    ui_locales_supported: ['en', 'de'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: expect.arrayContaining(['none', ...confidential]),
    token_endpoint_auth_signing_alg_values_supported: algorithms,
    revocation_endpoint_auth_methods_supported: expect.arrayContaining(['none', ...confidential]),
    revocation_endpoint_auth_signing_alg_values_supported: algorithms,
    introspection_endpoint_auth_methods_supported: confidential,
    introspection_endpoint_auth_signing_alg_values_supported: algorithms,
    authorization_response_iss_parameter_supported: true,
    claims_parameter_supported: false,
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
    require_request_uri_registration: false,
  });
});

describe('addresses that may be called for a tenant', () => {
  test.each(['93.184.216.34', '8.8.8.8', '2606:4700:4700::1111'])('%s is one', (address) =>
    expect(isCallable(address)).toBe(true),
  );
  test.each([
    ...['127.0.0.1', '10.1.2.3', '172.16.0.1', '192.168.1.1', '169.254.169.254', '100.64.0.1', '0.0.0.0', '224.0.0.1'],
    ...['255.255.255.255', '192.0.2.1', '198.18.0.1', '240.0.0.1', '168.63.129.16', '::1', '::', 'fe80::1', 'fc00::1'],
    ...[
      'ff02::1',
      '::ffff:127.0.0.1',
      '::ffff:10.0.0.1',
      '64:ff9b::a00:1',
      '64:ff9b:1::a00:1',
      '2002:a00:1::',
      '2001:db8::1',
    ],
    ...['fd00:ec2::254', '2001::1', 'not an address'],
  ])('%s is not one', (address) => expect(isCallable(address)).toBe(false));
  test('but an address that an operator allows is one', () => {
    expect(isCallable('127.0.0.5', loopback)).toBe(true);
    expect(isCallable('::ffff:127.0.0.1', loopback)).toBe(true);
    expect(isCallable('10.0.0.1', loopback)).toBe(false);
    expect(isCallable('::1', loopback)).toBe(true);
  });
});
