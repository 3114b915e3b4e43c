import { jest } from '@jest/globals';
import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import { decodeJwt } from 'jose';
import { DomainError } from '../../src/domain/errors.js';
import { readRegistrationResponse } from '../../src/domain/mfa/webauthn/responses.js';
import { type AuthenticatorOptions, createAuthenticator, type Flaws } from '../support/authenticator.js';
import { type CborValue, cbor } from '../support/cbor.js';
import { password, redirectUri, type TestClient, type TestEnvironment } from '../support/oauth/environment.js';
import { newProvider } from '../support/oauth/provider.js';
import { authorizeUrl, newPkce } from '../support/oauth/sign-in.js';
import { redeem } from '../support/oauth/tokens.js';
import { fromPage, giveKey } from '../support/passkeys.js';

const baseUrl = 'http://localhost:3000';
const provider = await newProvider({ baseUrl });
const environment = await provider.newEnvironment({ mfaPolicy: 'required', mfaGracePeriodDays: 0 });
const client = await environment.newClient();
afterAll(() => provider.close());

const securityKey = (more: Partial<AuthenticatorOptions> = {}) =>
  createAuthenticator({ origin: baseUrl, verifiesUser: false, ...more });

/** Returns an RSA key with a modulus of so many bytes, in COSE (RFC 8230 §4). */
const rsaKeyOf = (bytes: number) =>
  cbor(
    new Map<number, CborValue>([
      [1, 3],
      [3, -257],
      [-1, Buffer.alloc(bytes, 0xff)],
      [-2, Buffer.from([1, 0, 1])],
    ]),
  );

const post = (path: string, payload: object, { cookie = '', ...headers }: Record<string, string> = {}) =>
  provider.app.inject({
    method: 'POST',
    url: path,
    payload,
    headers: { ...fromPage(baseUrl), ...(cookie && { cookie }), ...headers },
  });

/** Signs in with the password, as a script does, with the next step in JSON. */
async function firstFactor(
  email: string,
  { of = client, ...more }: { of?: TestClient } & Record<string, unknown> = {},
) {
  const { verifier, challenge } = newPkce();
  const url = new URL(authorizeUrl(of, { code_challenge: challenge, ...(more as Record<string, string>) }), baseUrl);
  const parameters = Object.fromEntries(url.searchParams);
  const response = await post('/oauth/authorize', { ...parameters, email, password }, { accept: 'application/json' });
  return { verifier, parameters, asked: response.json() };
}

async function withKey(key = securityKey(), of = environment) {
  const identity = await of.newIdentity();
  const factor = await giveKey(provider, identity, key);
  return { identity, key, factor };
}

async function challenged(more: Parameters<typeof firstFactor>[1] = {}, key = securityKey()) {
  const person = await withKey(key);
  const begun = await firstFactor(person.identity.email, more);
  expect(begun.asked).toMatchObject({ error: 'mfa_required', available_factors: expect.arrayContaining(['webauthn']) });
  return { ...person, ...begun, token: begun.asked.challenge_token as string };
}

const optionsFor = async (token: string) => {
  const response = await post('/oauth/mfa/webauthn/options', { challenge_token: token });
  expect(response.statusCode).toBe(200);
  return response.json() as PublicKeyCredentialRequestOptionsJSON;
};
const prove = (token: string, credential: unknown, more: object = {}) =>
  post('/oauth/mfa/webauthn/verify', { challenge_token: token, credential, ...more });

const refusal = (response: { statusCode: number; json(): unknown }, error: string) =>
  expect([response.statusCode, response.json()]).toEqual([400, { error }]);

const claimsOf = async (redirectTo: string, verifier: string, of = client) => {
  const code = new URL(redirectTo).searchParams.get('code') as string;
  return decodeJwt((await redeem(provider.app, of, { code, verifier, redirect: redirectUri })).json().id_token);
};

describe('proving a key', () => {
  test('signs in, updates the hosted session, and is in the tokens', async () => {
    const { identity, key, factor, token, verifier } = await challenged();
    const options = await optionsFor(token);
    expect(options).toMatchObject({
      rpId: 'localhost',
      userVerification: 'preferred',
      allowCredentials: [{ id: factor.credentialId?.toString('base64url'), type: 'public-key', transports: ['usb'] }],
    });
    const response = await prove(token, key.get(options));
    expect(response.statusCode).toBe(200);
    expect(Object.keys(response.json())).toEqual(['redirect_to']);
    expect(response.cookies.map(({ name }) => name)).toEqual(['hosted_session']);
    expect(await claimsOf(response.json().redirect_to, verifier)).toMatchObject({
      sub: identity.id,
      acr: 'urn:gatehouse:aal2',
      amr: ['pwd', 'hwk', 'mfa'],
    });
    const cookie = `hosted_session=${response.cookies[0]?.value}`;
    const again = await provider.app.inject({ method: 'GET', url: authorizeUrl(client), headers: { cookie } });
    expect(again.statusCode).toBe(303); // single sign-on
  });

  test('records a synced passkey with user verification as such', async () => {
    const { key, token, verifier } = await challenged({}, createAuthenticator({ origin: baseUrl, isSynced: true }));
    const response = await prove(token, key.get(await optionsFor(token)));
    const { amr } = await claimsOf(response.json().redirect_to, verifier);
    expect(amr).toEqual(['pwd', 'swk', 'user', 'mfa']);
  });

  test('can make the browser trusted, with true from JSON and from a form', async () => {
    for (const remember_device of [true, 'true']) {
      const { identity, key, token } = await challenged();
      const response = await prove(token, key.get(await optionsFor(token)), { remember_device });
      const device = response.cookies.find(({ name }) => name === 'trusted_device');
      expect(device?.value).toHaveLength(43);
      const { parameters } = await firstFactor(identity.email);
      const next = await post(
        '/oauth/authorize',
        { ...parameters, email: identity.email, password },
        { accept: 'application/json', cookie: `trusted_device=${device?.value}` },
      );
      expect(Object.keys(next.json())).toEqual(['redirect_to']);
    }
    const { key, token } = await challenged();
    const response = await prove(token, key.get(await optionsFor(token)), { remember_device: false });
    expect(response.cookies.map(({ name }) => name)).toEqual(['hosted_session']);
  });

  test.each<[string, Flaws]>([
    ['another origin', { origin: 'https://localhost.evil.example' }],
    ['another relying party', { rpId: 'evil.example' }],
    ['another challenge', { challenge: Buffer.alloc(32, 7).toString('base64url') }],
    ['a bad signature', { tampered: true }],
    ['no user presence', { userPresent: false }],
    ['the handle of somebody else', { userHandle: Buffer.alloc(16, 1).toString('base64url') }],
    ['the type of a registration', { type: 'webauthn.create' }],
    ['a foreign frame', { crossOrigin: true }],
    ['another kind of key than was enrolled', { synced: true }],
  ])('with %s is refused, and counted as a failed attempt', async (_, flaws) => {
    const { identity, key, token } = await challenged();
    refusal(await prove(token, key.get(await optionsFor(token), flaws)), 'mfa.code_invalid');
    const failed = await provider.query('select outcome from events where action = $1 and resource_id = $2', [
      'auth.mfa_challenge_failed',
      identity.id,
    ]);
    expect(failed).toHaveLength(1);
    // The sign-in still waits for a right answer.
    expect((await prove(token, key.get(await optionsFor(token)))).statusCode).toBe(200);
  });

  test('may come as a form, with the answer as JSON in a field', async () => {
    const { key, token } = await challenged();
    const { accept: _, ...headers } = fromPage(baseUrl) as Record<string, string>;
    const form = async (credential: string) =>
      provider.app.inject({
        method: 'POST',
        url: '/oauth/mfa/webauthn/verify',
        headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
        payload: new URLSearchParams({ challenge_token: token, credential }).toString(),
      });
    refusal(await form('{'), 'mfa.code_invalid');
    const done = await form(JSON.stringify(key.get(await optionsFor(token))));
    expect([done.statusCode, done.json()]).toEqual([200, { redirect_to: expect.stringContaining('code=') }]);
  });

  test('works for a key without a user handle, as U2F keys have none', async () => {
    const { key, token } = await challenged();
    expect((await prove(token, key.get(await optionsFor(token), { userHandle: null }))).statusCode).toBe(200);
  });

  test('whose counter does not grow is refused, with a row in the audit log', async () => {
    const { identity, key, token, factor } = await challenged();
    refusal(await prove(token, key.get(await optionsFor(token), { counter: 1 })), 'mfa.code_invalid');
    const [event] = await provider.query<{ metadata: object }>(
      `select metadata from events where action = 'auth.webauthn_counter_regressed' and resource_id = $1`,
      [identity.id],
    );
    expect(event?.metadata).toEqual({ factor_id: factor.id, stored: 1, received: 1 });
    expect((await prove(token, key.get(await optionsFor(token)))).statusCode).toBe(200);
  });

  test('twice with one answer is refused', async () => {
    const { key, token } = await challenged();
    const sent = key.get(await optionsFor(token));
    const both = await Promise.all([prove(token, sent), prove(token, sent)]);
    expect(both.map(({ statusCode }) => statusCode).sort()).toEqual([200, 400]);
    refusal(await prove(token, sent), 'expired');
  });

  test('with an answer to options before the newest is refused', async () => {
    const { key, token } = await challenged();
    const first = await optionsFor(token);
    await optionsFor(token);
    refusal(await prove(token, key.get(first)), 'mfa.code_invalid');
  });

  test('without options is refused', async () => {
    const { key, token } = await challenged();
    const options = { challenge: Buffer.alloc(32, 1).toString('base64url'), rpId: 'localhost' };
    refusal(await prove(token, key.get(options)), 'mfa.code_invalid');
    for (const sent of [undefined, null, 'x', 7, [], {}, { id: 'AA' }])
      refusal(await prove(token, sent), 'mfa.code_invalid');
  });

  test('of another person, in their own sign-in or in this one, is refused', async () => {
    const [ana, ben] = [await challenged(), await challenged()];
    const anasOptions = await optionsFor(ana.token);
    const bensOptions = await optionsFor(ben.token);
    const byBen = ben.key.get({ ...anasOptions, allowCredentials: [] });
    refusal(await prove(ana.token, byBen), 'mfa.code_invalid');
    refusal(await prove(ben.token, ana.key.get({ ...anasOptions })), 'mfa.code_invalid');
    expect(bensOptions.allowCredentials).not.toEqual(anasOptions.allowCredentials);
  });

  test('is locked after ten wrong attempts', async () => {
    const limited = await newProvider({ baseUrl, rateLimits: true });
    try {
      const of = await limited.newEnvironment({ mfaPolicy: 'required' });
      const identity = await of.newIdentity();
      const key = securityKey();
      await giveKey(limited, identity, key);
      const send = (url: string, payload: object, remoteAddress: string) =>
        limited.app.inject({
          method: 'POST',
          url,
          payload,
          remoteAddress,
          headers: { ...fromPage(baseUrl), accept: 'application/json' },
        });
      const parameters = Object.fromEntries(new URL(authorizeUrl(await of.newClient()), baseUrl).searchParams);
      const asked = await send('/oauth/authorize', { ...parameters, email: identity.email, password }, '10.0.0.1');
      const { challenge_token } = asked.json();
      for (let i = 0; i < 10; i++) {
        const wrong = await send('/oauth/mfa/webauthn/verify', { challenge_token, credential: {} }, `10.0.1.${i}`);
        expect([wrong.statusCode, wrong.json()]).toEqual([400, { error: 'mfa.code_invalid' }]);
      }
      const options = await send('/oauth/mfa/webauthn/options', { challenge_token }, '10.0.2.1');
      const credential = key.get(options.json());
      const locked = await send('/oauth/mfa/webauthn/verify', { challenge_token, credential }, '10.0.2.1');
      expect([locked.statusCode, locked.json()]).toEqual([429, { error: 'mfa.challenge_locked' }]);
      expect(Number(locked.headers['retry-after'])).toBeGreaterThan(0);
    } finally {
      await limited.close();
    }
  });
});

describe('a challenge token', () => {
  test.each(['', 'x', 'a'.repeat(43), 'a'.repeat(5000)])('that is invalid is refused', async (token) => {
    refusal(await post('/oauth/mfa/webauthn/options', { challenge_token: token }), 'expired');
    refusal(await prove(token, {}), 'expired');
  });

  test('expires, and is refused then', async () => {
    const { key, token } = await challenged();
    const options = await optionsFor(token);
    provider.wait(10 * 60_000);
    refusal(await prove(token, key.get(options)), 'expired');
    refusal(await post('/oauth/mfa/webauthn/options', { challenge_token: token }), 'expired');
  });

  test('continues with the parameters that it began with, and with no others', async () => {
    const otherClient = await environment.newClient();
    for (const [name, value] of Object.entries({
      client_id: otherClient.clientId,
      redirect_uri: 'http://127.0.0.1/cb',
      state: 'another state',
      code_challenge: newPkce().challenge,
    })) {
      const { key, token, parameters } = await challenged();
      const sent = key.get(await optionsFor(token));
      const swapped = { ...parameters, [name]: value };
      refusal(await prove(token, sent, swapped), 'invalid_request');
      refusal(await post('/oauth/mfa/webauthn/options', { challenge_token: token, ...swapped }), 'invalid_request');
      expect((await prove(token, sent, parameters)).statusCode).toBe(200);
    }
  });

  test('does not enroll: a stolen password must not add a key beside the requested one', async () => {
    const { token } = await challenged();
    refusal(await post('/oauth/mfa/webauthn/enroll/options', { enrollment_token: token }), 'expired');
  });

  test('of a person who was deactivated meanwhile is refused', async () => {
    const { identity, key, token } = await challenged();
    const options = await optionsFor(token);
    await provider.query('update environment_memberships set is_active = false where identity_id = $1', [identity.id]);
    refusal(await prove(token, key.get(options)), 'expired');
  });

  test('is refused from pages of other sites', async () => {
    const { token } = await challenged();
    for (const path of ['options', 'verify', 'enroll/options', 'enroll/verify']) {
      const body = { challenge_token: token, enrollment_token: token };
      const response = await post(`/oauth/mfa/webauthn/${path}`, body, { origin: 'https://evil.example' });
      expect([response.statusCode, response.json()]).toEqual([403, { error: 'origin.foreign' }]);
    }
  });
});

describe('enrolling a key', () => {
  async function enrolling({ of = environment, ...more }: { of?: TestEnvironment } & Record<string, unknown> = {}) {
    const identity = await of.newIdentity();
    const ofClient = of === environment ? client : await of.newClient();
    const begun = await firstFactor(identity.email, { of: ofClient, ...more });
    expect(begun.asked).toMatchObject({
      error: 'mfa_enrollment_required',
      factors: expect.arrayContaining(['webauthn']),
    });
    return { identity, ofClient, ...begun, token: begun.asked.enrollment_token as string };
  }
  async function creationFor(token: string) {
    const response = await post('/oauth/mfa/webauthn/enroll/options', { enrollment_token: token });
    expect(response.statusCode).toBe(200);
    return response.json() as { options: PublicKeyCredentialCreationOptionsJSON; enrollment_token: string };
  }
  const enroll = (token: string, credential: unknown, more: object = {}) =>
    post('/oauth/mfa/webauthn/enroll/verify', { enrollment_token: token, credential, ...more });
  const factorsOf = (identityId: string) =>
    provider.query<Record<string, unknown>>('select * from mfa_factors where identity_id = $1', [identityId]);

  test('is possible with the same answer, sent again, after overload prevented it', async () => {
    const { identity, token } = await enrolling();
    const { options, enrollment_token: fresh } = await creationFor(token);
    const credential = securityKey().create(options);
    const { mfaEnrollments } = provider.logins;
    const failing = jest.spyOn(mfaEnrollments, 'enroll').mockRejectedValueOnce(new DomainError('service.unavailable'));
    const refused = await enroll(fresh, credential);
    expect([refused.statusCode, refused.json()]).toEqual([503, { error: 'service.unavailable' }]);
    expect((await enroll(fresh, credential)).json().redirect_to).toMatch(/codes_token=/);
    expect(await factorsOf(identity.id)).toHaveLength(1);
    failing.mockRestore();
  });

  test('works for the first factor: recovery codes are shown once, and the sign-in continues', async () => {
    const { identity, token, verifier } = await enrolling();
    const key = securityKey();
    const { options, enrollment_token: fresh } = await creationFor(token);
    expect(fresh).not.toBe(token);
    expect(options).toMatchObject({
      rp: { id: 'localhost', name: 'Acme' },
      user: { id: Buffer.from(identity.id.replaceAll('-', ''), 'hex').toString('base64url'), name: identity.email },
      attestation: 'none',
      authenticatorSelection: { residentKey: 'preferred', userVerification: 'preferred' },
      excludeCredentials: [],
      extensions: { credProps: true },
    });
    const response = await enroll(fresh, key.create(options), { label: ' My  blue key ' });
    expect(response.statusCode).toBe(200);
    const codesUrl = response.json().redirect_to as string;
    expect(codesUrl).toMatch(/\/oauth\/mfa-enroll-codes\?codes_token=/);
    const [factor] = await factorsOf(identity.id);
    expect(factor).toMatchObject({
      type: 'webauthn',
      label: 'My  blue key',
      sign_count: '1',
      transports: ['usb'],
      device_type: 'single_device',
      is_backed_up: false,
      is_discoverable: false,
    });
    expect(await provider.events('identity.mfa_enrolled')).toContainEqual(
      expect.objectContaining({ resource_id: identity.id }),
    );

    const browser = provider.browser();
    expect((await browser.get(codesUrl.replace(baseUrl, ''))).statusCode).toBe(400); // another browser
    for (const { name, value } of response.cookies) browser.cookies.set(name, value);
    const shown = await browser.get(codesUrl.replace(baseUrl, ''));
    expect(shown.statusCode).toBe(200);
    expect(shown.body.match(/[A-Z2-7]{4}-[A-Z2-7]{4}-[A-Z2-7]{4}-[A-Z2-7]{4}/g)).toHaveLength(10);
    const done = await browser.submit(shown, {}, { origin: baseUrl });
    expect(done.statusCode).toBe(303);
    const claims = await claimsOf(String(done.headers.location), verifier);
    expect(claims).toMatchObject({ sub: identity.id, acr: 'urn:gatehouse:aal2', amr: ['pwd', 'hwk', 'mfa'] });
    // From now on it is required.
    expect((await firstFactor(identity.email)).asked).toMatchObject({ error: 'mfa_required' });
  });

  test('leads straight to the client if recovery codes are not allowed', async () => {
    const plain = await provider.newEnvironment({
      mfaPolicy: 'required',
      mfaGracePeriodDays: 0,
      mfaAllowedFactors: ['webauthn'],
    });
    const { identity, ofClient, token, verifier } = await enrolling({ of: plain });
    const { options, enrollment_token } = await creationFor(token);
    const phone = createAuthenticator({ origin: baseUrl, isSynced: true });
    const response = await enroll(enrollment_token, phone.create(options));
    expect(response.cookies.map(({ name }) => name)).toEqual(['hosted_session']);
    const claims = await claimsOf(response.json().redirect_to, verifier, ofClient);
    expect(claims).toMatchObject({ sub: identity.id, amr: ['pwd', 'swk', 'user', 'mfa'] });
    const [factor] = await factorsOf(identity.id);
    expect(factor).toMatchObject({
      label: 'Passkey',
      device_type: 'multi_device',
      is_backed_up: true,
      is_discoverable: true,
    });
  });

  test('has its own token for other factors, and one for each set of options', async () => {
    const { token } = await enrolling();
    const key = securityKey();
    const first = await creationFor(token);
    const second = await creationFor(first.enrollment_token); // a fresh token asks again, too
    refusal(await enroll(token, key.create(second.options)), 'expired');
    refusal(await enroll(first.enrollment_token, key.create(first.options)), 'expired');
    expect((await enroll(second.enrollment_token, key.create(second.options))).statusCode).toBe(200);
    refusal(await enroll(second.enrollment_token, key.create(second.options)), 'expired');
  });

  test('in parallel with one answer creates one factor', async () => {
    const { identity, token } = await enrolling();
    const { options, enrollment_token } = await creationFor(token);
    const sent = securityKey().create(options);
    const all = await Promise.all(Array.from({ length: 4 }, () => enroll(enrollment_token, sent)));
    expect(all.map(({ statusCode }) => statusCode).sort()).toEqual([200, 400, 400, 400]);
    expect(await factorsOf(identity.id)).toHaveLength(1);
  });

  test.each<[string, Flaws]>([
    ['another origin', { origin: 'https://localhost.evil.example' }],
    ['another relying party', { rpId: 'evil.example' }],
    ['another challenge', { challenge: Buffer.alloc(32, 7).toString('base64url') }],
    ['no user presence', { userPresent: false }],
    ['the type of an assertion', { type: 'webauthn.get' }],
    ['a foreign frame', { crossOrigin: true }],
    ['a public key of more than two KiB', { publicKey: rsaKeyOf(2048) }],
  ])('with %s is refused, and new options can be asked for', async (_, flaws) => {
    const { identity, token } = await enrolling();
    const key = securityKey();
    const first = await creationFor(token);
    refusal(await enroll(first.enrollment_token, key.create(first.options, flaws)), 'mfa.code_invalid');
    refusal(await enroll(first.enrollment_token, key.create(first.options)), 'expired');
    expect(await factorsOf(identity.id)).toEqual([]);
    const second = await creationFor(first.enrollment_token);
    expect((await enroll(second.enrollment_token, key.create(second.options))).statusCode).toBe(200);
  });

  test.each<[string, (sent: RegistrationResponseJSON) => unknown]>([
    ['nothing', () => undefined],
    ['a text', () => 'x'],
    ['no CBOR', (sent) => ({ ...sent, response: { ...sent.response, attestationObject: '_____w' } })],
    [
      'half of an attestation',
      (sent) => ({
        ...sent,
        response: { ...sent.response, attestationObject: sent.response.attestationObject.slice(0, 100) },
      }),
    ],
    [
      'deeply nested CBOR',
      (sent) => ({
        ...sent,
        response: { ...sent.response, attestationObject: Buffer.alloc(20_000, 0x81).toString('base64url') },
      }),
    ],
    ['too many bytes', (sent) => ({ ...sent, response: { ...sent.response, attestationObject: 'A'.repeat(60_000) } })],
    ['the id of another key', (sent) => ({ ...sent, id: 'AAAA', rawId: 'AAAA' })],
    ['another type than public-key', (sent) => ({ ...sent, type: 'password' })],
  ])('with %s is refused', async (_, change) => {
    const { token } = await enrolling();
    const { options, enrollment_token } = await creationFor(token);
    refusal(await enroll(enrollment_token, change(securityKey().create(options))), 'mfa.code_invalid');
  });

  test('stores hints about transports only within limits', async () => {
    const { identity, token } = await enrolling();
    const { options, enrollment_token } = await creationFor(token);
    const sent = securityKey().create(options);
    const transports = ['usb', 'usb', 7, 'NFC', '<script>', null, ...'abcdefghijk'];
    await enroll(enrollment_token, { ...sent, response: { ...sent.response, transports } });
    expect((await factorsOf(identity.id))[0]?.transports).toEqual(['usb', ...'abcdefg']);
  });

  test('an expired token is answered 400 { error: "expired" }', async () => {
    const { token } = await enrolling();
    const { options, enrollment_token } = await creationFor(token);
    provider.wait(6 * 60_000);
    refusal(await enroll(enrollment_token, securityKey().create(options)), 'expired');
    const next = await creationFor(token); // the sign-in itself waits for half an hour
    provider.wait(24 * 60_000);
    refusal(await enroll(next.enrollment_token, securityKey().create(next.options)), 'expired');
    refusal(await post('/oauth/mfa/webauthn/enroll/options', { enrollment_token: token }), 'expired');
    for (const forged of ['', 'x', 'a'.repeat(43), 'test.AAAA', `${'a'.repeat(43)}.x`]) {
      refusal(await post('/oauth/mfa/webauthn/enroll/options', { enrollment_token: forged }), 'expired');
      refusal(await enroll(forged, {}), 'expired');
    }
  });

  test('with a token of another person, Environment or client enrolls a key for nobody', async () => {
    const [ana, ben] = [await enrolling(), await enrolling()];
    const anas = await creationFor(ana.token);
    const bens = await creationFor(ben.token);
    refusal(await enroll(bens.enrollment_token, securityKey().create(anas.options)), 'mfa.code_invalid');
    expect(await factorsOf(ben.identity.id)).toEqual([]);
    const otherClient = await environment.newClient();
    const elsewhere = await (await provider.newEnvironment()).newClient();
    for (const { clientId } of [otherClient, elsewhere]) {
      const parameters = { ...ana.parameters, client_id: clientId };
      refusal(await enroll(anas.enrollment_token, securityKey().create(anas.options), parameters), 'invalid_request');
    }
    for (const changed of [{ state: 'x' }, { redirect_uri: 'http://127.0.0.1/cb' }, { scope: 'openid' }]) {
      refusal(
        await enroll(anas.enrollment_token, securityKey().create(anas.options), { ...ana.parameters, ...changed }),
        'invalid_request',
      );
    }
    expect((await enroll(anas.enrollment_token, securityKey().create(anas.options), ana.parameters)).statusCode).toBe(
      200,
    );
  });

  test('of a client that was deleted meanwhile is refused', async () => {
    const own = await provider.newEnvironment({ mfaPolicy: 'required', mfaGracePeriodDays: 0 });
    const { ofClient, token } = await enrolling({ of: own });
    const { options, enrollment_token } = await creationFor(token);
    await provider.query('delete from oauth_clients where id = $1', [ofClient.id]);
    provider.wait(2_000);
    refusal(await enroll(enrollment_token, securityKey().create(options)), 'expired');
  });

  test('is refused if the Environment does not allow keys', async () => {
    const { token } = await enrolling({
      of: await provider.newEnvironment({ mfaPolicy: 'required', mfaGracePeriodDays: 0 }),
    });
    const { options, enrollment_token } = await creationFor(token);
    await provider.query(`update environment_settings set mfa_allowed_factors = '{totp}'`);
    provider.wait(2_000);
    try {
      refusal(await post('/oauth/mfa/webauthn/enroll/options', { enrollment_token: token }), 'mfa.factor_not_allowed');
      refusal(await enroll(enrollment_token, securityKey().create(options)), 'mfa.factor_not_allowed');
    } finally {
      await provider.query(
        `update environment_settings set mfa_allowed_factors = '{totp,webauthn,recovery_code,email_otp}'`,
      );
      provider.wait(2_000);
    }
  });

  test('does not answer a challenge with its token', async () => {
    const { token } = await enrolling();
    refusal(await post('/oauth/mfa/webauthn/options', { challenge_token: token }), 'expired');
    const { enrollment_token } = await creationFor(token);
    refusal(await post('/oauth/mfa/webauthn/options', { challenge_token: enrollment_token }), 'expired');
  });

  test('omits an unrequested attestation statement, whose certificate nothing reads', async () => {
    const { identity, token } = await enrolling();
    const { options, enrollment_token } = await creationFor(token);
    const attStmt = new Map<string, CborValue>([
      ['alg', -7],
      ['sig', Buffer.alloc(70, 1)],
      ['x5c', [Buffer.from('no certificate at all')]],
    ]);
    for (const fmt of ['packed', 'tpm', 'android-key', 'fido-u2f', 'nobody knows']) {
      expect(
        readRegistrationResponse(securityKey().create(options, { statement: { fmt, attStmt } }))?.response,
      ).toEqual(expect.objectContaining({ type: 'public-key' }));
    }
    const sent = securityKey().create(options, { statement: { fmt: 'packed', attStmt } });
    expect((await enroll(enrollment_token, sent)).statusCode).toBe(200);
    expect(await factorsOf(identity.id)).toHaveLength(1);
  });

  test('excludes a key that is enrolled already, and refuses it when it comes all the same', async () => {
    const [ana, ben] = [await enrolling(), await enrolling()];
    const key = securityKey();
    const anas = await creationFor(ana.token);
    const sent = key.create(anas.options);
    expect((await enroll(anas.enrollment_token, sent)).statusCode).toBe(200);
    const again = await provider.logins.webauthn.enrollmentOptions({
      accountId: environment.accountId,
      identityId: ana.identity.id,
      email: ana.identity.email,
      name: ana.identity.email,
      relyingParty: 'Acme',
    });
    expect(again.excludeCredentials).toEqual([{ id: sent.id, type: 'public-key', transports: ['usb'] }]);

    // Ben's authenticator claims to be the same credential: it stays Ana's.
    const bens = await creationFor(ben.token);
    const claimed = key.create(bens.options, { credentialId: Buffer.from(sent.id, 'base64url') });
    refusal(await enroll(bens.enrollment_token, claimed), 'mfa.already_enrolled');
    expect(await factorsOf(ben.identity.id)).toEqual([]);
    expect(await factorsOf(ana.identity.id)).toHaveLength(1);
  });
});

test('a right key of a kind that the Environment does not allow only lets the person add an allowed one', async () => {
  const strict = await provider.newEnvironment({
    mfaPolicy: 'required',
    mfaGracePeriodDays: 0,
    mfaAllowedFactors: ['totp', 'recovery_code'],
  });
  const { identity, key } = await withKey(securityKey(), strict);
  const { asked } = await firstFactor(identity.email, { of: await strict.newClient() });
  expect(asked).toMatchObject({ error: 'mfa_required', available_factors: ['webauthn'] });
  const response = await prove(asked.challenge_token, key.get(await optionsFor(asked.challenge_token)));
  expect(response.statusCode).toBe(400);
  expect(response.json()).toMatchObject({
    error: 'mfa_enrollment_required',
    enrollment_token: expect.any(String),
    factors: ['totp'],
  });
  expect(response.cookies).toEqual([]);
});

test('each route has the limit of the specification', async () => {
  const limited = await newProvider({ baseUrl, rateLimits: true });
  try {
    for (const [path, most] of Object.entries({ options: 10, verify: 10, 'enroll/options': 5, 'enroll/verify': 10 })) {
      const hit = () =>
        limited.app.inject({
          method: 'POST',
          url: `/oauth/mfa/webauthn/${path}`,
          payload: {},
          headers: fromPage(baseUrl),
        });
      for (let i = 0; i < most; i++) expect((await hit()).statusCode).toBe(400);
      const refused = await hit();
      expect([refused.statusCode, refused.json()]).toEqual([429, { error: 'rate_limit.exceeded' }]);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    }
  } finally {
    await limited.close();
  }
});
