import type { AuthenticationResponseJSON, PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import { decodeJwt } from 'jose';
import { createAuthenticator, type Flaws } from '../support/authenticator.js';
import { redirectUri, type TestClient } from '../support/oauth/environment.js';
import { newProvider } from '../support/oauth/provider.js';
import { authorizeUrl, newPkce } from '../support/oauth/sign-in.js';
import { redeem } from '../support/oauth/tokens.js';
import { newOrganization } from '../support/organizations.js';
import { fromPage, giveKey } from '../support/passkeys.js';

const baseUrl = 'http://localhost:3000';
const provider = await newProvider({ baseUrl });
const environment = await provider.newEnvironment({ mfaPolicy: 'required' });
const client = await environment.newClient();
afterAll(() => provider.close());

const phone = (more = {}) => createAuthenticator({ origin: baseUrl, isSynced: true, ...more });

type Parameters = Record<string, string>;
const parametersOf = (of: Pick<TestClient, 'clientId'>, more: Record<string, string> = {}): Parameters =>
  Object.fromEntries(new URL(authorizeUrl(of, more), baseUrl).searchParams);

const post = (url: string, payload: object, headers: Record<string, string> = fromPage(baseUrl)) =>
  provider.app.inject({ method: 'POST', url, payload, headers });

async function begin(parameters: Parameters) {
  const response = await post('/oauth/login/passkey/options', parameters);
  expect(response.statusCode).toBe(200);
  return response.json() as { options: PublicKeyCredentialRequestOptionsJSON; passkey_token: string };
}
const answer = (parameters: Parameters, passkeyToken: string, credential: AuthenticationResponseJSON | unknown) =>
  post('/oauth/login/passkey/verify', { ...parameters, passkey_token: passkeyToken, credential });

async function personWithPasskey(more: Parameters | object = {}, of = environment) {
  const identity = await of.newIdentity(more);
  const authenticator = phone();
  const factor = await giveKey(provider, identity, authenticator);
  return { identity, authenticator, factor };
}

test('a passkey signs in alone: no address, no second factor, aal2 though the Environment requires two', async () => {
  const { identity, authenticator } = await personWithPasskey();
  const { verifier, challenge } = newPkce();
  const parameters = parametersOf(client, { code_challenge: challenge });
  const { options, passkey_token } = await begin(parameters);
  expect(options).toMatchObject({ rpId: 'localhost', userVerification: 'required', allowCredentials: [] });

  const response = await answer(parameters, passkey_token, authenticator.get(options));
  expect(response.statusCode).toBe(200);
  expect(response.headers['cache-control']).toBe('no-store');
  expect(response.cookies.map(({ name }) => name)).toContain('hosted_session');
  const target = new URL(response.json().redirect_to);
  expect(target.searchParams.get('state')).toBe('the state');

  const code = target.searchParams.get('code') as string;
  const tokens = await redeem(provider.app, client, { code, verifier, redirect: redirectUri });
  const claims = decodeJwt(tokens.json().id_token);
  expect(claims).toMatchObject({ sub: identity.id, acr: 'urn:gatehouse:aal2', amr: ['swk', 'user', 'mfa'] });
  const [used] = await provider.query<{ last_used_at: Date; is_discoverable: boolean }>(
    'select last_used_at, is_discoverable from mfa_factors where identity_id = $1',
    [identity.id],
  );
  expect(used).toMatchObject({ last_used_at: provider.now(), is_discoverable: true });
});

test('a key that never leaves its chip is distinguished', async () => {
  const identity = await environment.newIdentity();
  const key = createAuthenticator({ origin: baseUrl, algorithm: 'EdDSA' });
  await giveKey(provider, identity, key);
  const { verifier, challenge } = newPkce();
  const parameters = parametersOf(client, { code_challenge: challenge });
  const { options, passkey_token } = await begin(parameters);
  const code = new URL((await answer(parameters, passkey_token, key.get(options))).json().redirect_to).searchParams;
  const tokens = await redeem(provider.app, client, {
    code: code.get('code') as string,
    verifier,
    redirect: redirectUri,
  });
  expect(decodeJwt(tokens.json().id_token).amr).toEqual(['hwk', 'user', 'mfa']);
});

describe('refused, and all alike', () => {
  async function refused(
    { identity, authenticator }: Pick<Awaited<ReturnType<typeof personWithPasskey>>, 'identity' | 'authenticator'>,
    flaws: Flaws | ((sent: AuthenticationResponseJSON) => unknown) = {},
    others: string[] = [],
  ) {
    const parameters = parametersOf(client);
    const { options, passkey_token } = await begin(parameters);
    const sent = authenticator.get(options, typeof flaws === 'function' ? {} : flaws);
    const response = await answer(parameters, passkey_token, typeof flaws === 'function' ? flaws(sent) : sent);
    expect([response.statusCode, response.json()]).toEqual([400, { error: 'refused' }]);
    expect(response.cookies).toEqual([]);
    const failures = await provider.query<{ resource_id: string | null; metadata: object }>(
      `select resource_id, metadata from events where action = 'auth.identity_sign_in_failed'
       and environment_id = $1 order by id desc limit 1`,
      [environment.environmentId],
    );
    expect(failures[0]?.metadata).toEqual({ method: 'passkey' });
    expect([identity.id, null, ...others]).toContain(failures[0]?.resource_id);
  }

  test.each<[string, Flaws]>([
    ['another origin', { origin: 'https://localhost.evil.example' }],
    ['the same host on another port', { origin: 'http://localhost:3001' }],
    ['another relying party', { rpId: 'evil.example' }],
    ['another challenge', { challenge: Buffer.alloc(32, 7).toString('base64url') }],
    ['a bad signature', { tampered: true }],
    ['no user verification', { userVerified: false }],
    ['no user presence', { userPresent: false }],
    ['no user handle', { userHandle: null }],
    ['the handle of somebody else', { userHandle: Buffer.alloc(16, 1).toString('base64url') }],
    ['a registration', { type: 'webauthn.create' }],
    ['a page in a foreign frame', { crossOrigin: true }],
    ['another kind of key than was enrolled', { synced: false }],
  ])('%s', async (_, flaws) => {
    await refused(await personWithPasskey(), flaws);
  });

  test('an unknown key', async () => {
    const { identity } = await personWithPasskey();
    const stranger = phone();
    const person = { accountId: environment.accountId, identityId: identity.id, email: '', name: '', relyingParty: '' };
    stranger.create(await provider.logins.webauthn.enrollmentOptions(person));
    await refused({ identity, authenticator: stranger });
  });

  test('another person’s key in place of their own', async () => {
    const [ana, ben] = [await personWithPasskey(), await personWithPasskey()];
    const id = ben.factor.credentialId?.toString('base64url');
    await refused(ana, (sent) => ({ ...sent, id }), [ben.identity.id]);
    await refused(ana, (sent) => ({ ...sent, id, rawId: id }), [ben.identity.id]);
  });

  test('a person who is inactive in the Environment, or no member of it', async () => {
    await refused(await personWithPasskey({ isActive: false }));
    await refused(await personWithPasskey({ isMember: false }));
  });

  test('a person of another account', async () => {
    const elsewhere = await provider.newEnvironment();
    await refused(await personWithPasskey({}, elsewhere));
  });

  test.each([
    ['nothing', undefined],
    ['a text', 'credential'],
    ['a list', []],
    ['an empty object', {}],
    ['numbers for texts', { id: 1, rawId: 1, type: 'public-key', response: { clientDataJSON: 1 } }],
    ['ids with padding', { id: 'AA==', rawId: 'AA==', type: 'public-key', response: {} }],
    [
      'nonsense',
      {
        id: 'AAAA',
        rawId: 'AAAA',
        type: 'public-key',
        response: { clientDataJSON: 'e30', authenticatorData: 'AAAA', signature: 'AAAA', userHandle: 'AAAA' },
      },
    ],
    ['ids that are far too long', { id: 'A'.repeat(5000), rawId: 'A'.repeat(5000), type: 'public-key', response: {} }],
  ])('%s instead of an answer', async (_, sent) => {
    const { identity, authenticator } = await personWithPasskey();
    await refused({ identity, authenticator }, () => sent);
  });

  test('truncated and flipped answers, byte by byte', async () => {
    const person = await personWithPasskey();
    for (const name of ['clientDataJSON', 'authenticatorData', 'signature'] as const) {
      const flip = (text: string) => {
        const bytes = Buffer.from(text, 'base64url');
        const at = Math.floor(bytes.length / 2);
        bytes[at] = (bytes[at] as number) ^ 0x41;
        return bytes.toString('base64url');
      };
      await refused(person, (sent) => ({
        ...sent,
        response: { ...sent.response, [name]: sent.response[name].slice(0, 9) },
      }));
      await refused(person, (sent) => ({ ...sent, response: { ...sent.response, [name]: flip(sent.response[name]) } }));
    }
  });
});

test('a key whose counter stands still or goes back is refused, with a row in the audit log', async () => {
  const identity = await environment.newIdentity();
  const key = createAuthenticator({ origin: baseUrl });
  const factor = await giveKey(provider, identity, key);
  const trySigningIn = async (counter: number) => {
    const parameters = parametersOf(client);
    const { options, passkey_token } = await begin(parameters);
    return (await answer(parameters, passkey_token, key.get(options, { counter }))).statusCode;
  };
  expect(await trySigningIn(7)).toBe(200);
  expect(await trySigningIn(7)).toBe(400);
  expect(await trySigningIn(6)).toBe(400);
  expect(await trySigningIn(0)).toBe(400);
  expect(await trySigningIn(8)).toBe(200);
  const events = await provider.query(
    `select resource_id, severity, outcome, identity_visible, metadata from events
     where action = 'auth.webauthn_counter_regressed' and account_id = $1 and resource_id = $2 order by id`,
    [environment.accountId, identity.id],
  );
  const regressed = (received: number) => ({
    resource_id: identity.id,
    severity: 'warning',
    outcome: 'denied',
    identity_visible: true,
    metadata: { factor_id: factor.id, stored: 7, received },
  });
  expect(events).toEqual([7, 6, 0].map(regressed));
});

test('a synced passkey always reports zero, and works again and again', async () => {
  const { authenticator } = await personWithPasskey();
  for (let i = 0; i < 3; i++) {
    const parameters = parametersOf(client);
    const { options, passkey_token } = await begin(parameters);
    expect((await answer(parameters, passkey_token, authenticator.get(options))).statusCode).toBe(200);
  }
});

test('one of several parallel answers with one counter value is accepted', async () => {
  const identity = await environment.newIdentity();
  const key = createAuthenticator({ origin: baseUrl });
  await giveKey(provider, identity, key);
  const parameters = parametersOf(client);
  const begun = await Promise.all(Array.from({ length: 5 }, () => begin(parameters)));
  const answers = await Promise.all(
    begun.map(({ options, passkey_token }) => answer(parameters, passkey_token, key.get(options, { counter: 50 }))),
  );
  expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 400, 400, 400, 400]);
});

describe('a challenge', () => {
  const expired = (response: { statusCode: number; json(): unknown }) =>
    expect([response.statusCode, response.json()]).toEqual([400, { error: 'expired' }]);

  test('is valid for one answer, right or wrong', async () => {
    const { authenticator } = await personWithPasskey();
    const parameters = parametersOf(client);
    const first = await begin(parameters);
    const sent = authenticator.get(first.options);
    const both = await Promise.all([1, 2].map(() => answer(parameters, first.passkey_token, sent)));
    expect(both.map(({ statusCode }) => statusCode).sort()).toEqual([200, 400]);
    expired(await answer(parameters, first.passkey_token, sent));

    const second = await begin(parameters);
    await answer(parameters, second.passkey_token, authenticator.get(second.options, { tampered: true }));
    expired(await answer(parameters, second.passkey_token, authenticator.get(second.options)));
  });

  test('cannot be used again by encoding its token in another way', async () => {
    const { authenticator } = await personWithPasskey();
    const parameters = parametersOf(client);
    const { options, passkey_token } = await begin(parameters);
    expect((await answer(parameters, passkey_token, authenticator.get(options))).statusCode).toBe(200);
    for (const again of [`${passkey_token}=`, ` ${passkey_token}`, `${passkey_token}.x`, `${passkey_token} `]) {
      expired(await answer(parameters, again, authenticator.get(options)));
    }
  });

  test('is valid for the request for which it was issued, and for no other', async () => {
    const { authenticator } = await personWithPasskey();
    const otherClient = await environment.newClient();
    const parameters = parametersOf(client);
    const swapped: Parameters[] = [
      { ...parameters, state: 'another state' },
      { ...parameters, nonce: 'another nonce' },
      { ...parameters, code_challenge: newPkce().challenge },
      { ...parameters, scope: 'openid' },
      { ...parameters, redirect_uri: 'http://127.0.0.1/cb' },
      { ...parameters, client_id: otherClient.clientId },
      { ...parameters, acr_values: 'urn:gatehouse:aal2' },
    ];
    for (const other of swapped) {
      const { options, passkey_token } = await begin(parameters);
      expired(await answer(other, passkey_token, authenticator.get(options)));
      // The refusal did not use it up: it still answers its own request.
      expect((await answer(parameters, passkey_token, authenticator.get(options))).statusCode).toBe(200);
    }
  });

  test('is valid for its request in whatever order the parameters are', async () => {
    const { authenticator } = await personWithPasskey();
    const parameters = parametersOf(client);
    const { options, passkey_token } = await begin(parameters);
    const turned = Object.fromEntries(Object.entries(parameters).reverse());
    expect((await answer(turned, passkey_token, authenticator.get(options))).statusCode).toBe(200);
  });

  test('expires after half an hour', async () => {
    const { authenticator } = await personWithPasskey();
    const parameters = parametersOf(client);
    const { options, passkey_token } = await begin(parameters);
    provider.wait(30 * 60_000);
    expired(await answer(parameters, passkey_token, authenticator.get(options)));
  });

  test('cannot be forged', async () => {
    const { authenticator } = await personWithPasskey();
    const parameters = parametersOf(client);
    for (const token of ['', 'x', 'test.AAAA', 'a'.repeat(2000), provider.sealing.seal('{}', 'another purpose')]) {
      const { options } = await begin(parameters);
      expired(await answer(parameters, token, authenticator.get(options)));
    }
  });
});

describe('sign-in by passkey', () => {
  test('is closed if the Environment does not allow passkeys', async () => {
    const other = await provider.newEnvironment({ passkeyLoginEnabled: false });
    const otherClient = await other.newClient();
    for (const path of ['options', 'verify']) {
      const response = await post(`/oauth/login/passkey/${path}`, parametersOf(otherClient));
      expect([response.statusCode, response.json()]).toEqual([400, { error: 'access_denied' }]);
    }
    const page = await provider.browser().get(authorizeUrl(otherClient));
    expect(page.body).not.toMatch(/data-webauthn|navigator\.credentials/);
    expect(page.headers['content-security-policy']).not.toContain('connect-src');
  });

  test('refuses requests from pages of other sites', async () => {
    const foreign: Record<string, string>[] = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
    ];
    for (const headers of foreign) {
      for (const path of ['options', 'verify']) {
        const response = await post(`/oauth/login/passkey/${path}`, parametersOf(client), {
          'content-type': 'application/json',
          ...headers,
        });
        expect([response.statusCode, response.json()]).toEqual([403, { error: 'origin.foreign' }]);
      }
    }
  });

  test('answers malformed requests in JSON', async () => {
    const headers = fromPage(baseUrl);
    const url = '/oauth/login/passkey/options';
    const status = async (payload: string, more = {}) => {
      const response = await provider.app.inject({ method: 'POST', url, payload, headers: { ...headers, ...more } });
      return [response.statusCode, typeof response.json().error];
    };
    expect(await status('{')).toEqual([400, 'string']);
    expect(await status('[]')).toEqual([400, 'string']);
    expect(await status('null')).toEqual([400, 'string']);
    expect(await status('x', { 'content-type': 'text/plain' })).toEqual([415, 'string']);
    expect(await status(JSON.stringify({ ...parametersOf(client), redirect_uri: 'https://evil.example' }))).toEqual([
      400,
      'string',
    ]);
  });

  test('is the only method if everything else is disabled', async () => {
    const other = await provider.newEnvironment({ passwordLoginEnabled: false, emailOtpLoginEnabled: false });
    const otherClient = await other.newClient();
    const page = await provider.browser().get(authorizeUrl(otherClient));
    expect(page.statusCode).toBe(200);
    expect(page.body).not.toMatch(/type="(email|password)"/);
    expect(page.body).toMatch(/data-no-webauthn/); // for browsers without WebAuthn
    const { identity: _, authenticator } = await personWithPasskey({}, other);
    const parameters = parametersOf(otherClient);
    const { options, passkey_token } = await begin(parameters);
    expect((await answer(parameters, passkey_token, authenticator.get(options))).statusCode).toBe(200);
    const asked = await provider.browser().get(authorizeUrl(otherClient), { accept: 'application/json' });
    expect([asked.statusCode, asked.json()]).toMatchObject([401, { error: 'login_required', methods: ['passkey'] }]);
  });

  test('is on the page that asks for an emailed code, too', async () => {
    const other = await provider.newEnvironment({ emailOtpLoginEnabled: true });
    const page = await provider.browser().get(authorizeUrl(await other.newClient(), { method: 'code' }));
    expect(page.body).toMatch(/action="\/oauth\/login\/email-otp\/start"/);
    expect(page.body).toMatch(/action="\/oauth\/login\/passkey\/verify" data-webauthn="get"/);
  });

  test('is on the sign-in page, for browsers with scripts', async () => {
    const page = await provider.browser().get(authorizeUrl(client));
    expect(page.body).toMatch(/<form[^>]* action="\/oauth\/login\/passkey\/verify" data-webauthn="get"[^>]* hidden>/);
    expect(page.body).toMatch(/autocomplete="username webauthn"/);
    const nonce = /<script nonce="([^"]+)">/.exec(page.body)?.[1];
    expect(page.headers['content-security-policy']).toContain(`script-src 'nonce-${nonce}'; connect-src 'self'`);
  });
});

test('a passkey satisfies prompt=login and max_age, and does not sign in another person than the hint’s', async () => {
  const [ana, ben] = [await personWithPasskey(), await personWithPasskey()];
  const { verifier, challenge } = newPkce();
  const signIn = async (authenticator: typeof ana.authenticator, more: Parameters) => {
    const parameters = parametersOf(client, { code_challenge: challenge, ...more });
    const { options, passkey_token } = await begin(parameters);
    const response = await answer(parameters, passkey_token, authenticator.get(options));
    return new URL(response.json().redirect_to).searchParams;
  };
  const code = (await signIn(ana.authenticator, { prompt: 'login', max_age: '0' })).get('code') as string;
  const tokens = await redeem(provider.app, client, { code, verifier, redirect: redirectUri });
  const hinted = await signIn(ben.authenticator, { id_token_hint: tokens.json().id_token });
  expect(hinted.get('error')).toBe('login_required');
  expect(hinted.get('code')).toBeNull();
});

test('answers are limited to sixty a minute from an address', async () => {
  const limited = await newProvider({ baseUrl, rateLimits: true });
  try {
    const parameters = parametersOf(await (await limited.newEnvironment()).newClient());
    const hit = () =>
      limited.app.inject({
        method: 'POST',
        url: '/oauth/login/passkey/verify',
        payload: parameters,
        headers: fromPage(baseUrl),
      });
    for (let i = 0; i < 60; i++) expect((await hit()).statusCode).toBe(400);
    const refused = await hit();
    expect([refused.statusCode, refused.json()]).toEqual([429, { error: 'rate_limit.exceeded' }]);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  } finally {
    await limited.close();
  }
});

test('a right passkey is refused if an organization of the person does not allow it', async () => {
  const { identity, authenticator } = await personWithPasskey();
  const policy = { allowed_methods: ['password' as const] };
  await newOrganization(provider, environment, { policy, members: [identity] });
  const parameters = parametersOf(client);
  const { options, passkey_token } = await begin(parameters);
  const response = await answer(parameters, passkey_token, authenticator.get(options));
  expect([response.statusCode, response.json()]).toEqual([
    400,
    { error: 'login.method_not_allowed', methods: ['password'] },
  ]);
  expect(response.headers['set-cookie']).toBeUndefined();
});
