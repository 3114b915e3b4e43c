import { follow } from '../../support/account.js';
import { apiOf, bearer } from '../../support/identity-auth.js';
import { enrollTotp } from '../../support/mfa.js';
import { password, redirectUri } from '../../support/oauth/environment.js';
import { newProvider, type TestProvider } from '../../support/oauth/provider.js';
import { authorizeUrl, newPkce } from '../../support/oauth/sign-in.js';
import { redeem, tokensFor, userinfo } from '../../support/oauth/tokens.js';

/** Routes that count by themselves share a provider; tests that sign in need one with fresh counters. */
const shared = await newProvider({ rateLimits: true });
afterAll(() => shared.close());

async function onFreshCounters(work: (provider: TestProvider, api: ReturnType<typeof apiOf>) => Promise<void>) {
  const provider = await newProvider({ rateLimits: true });
  try {
    await work(provider, apiOf(provider));
  } finally {
    await provider.close();
  }
}

test('a person with the right password may sign in any number of times, and so may everybody behind one address', () =>
  onFreshCounters(async (provider, api) => {
    const place = await provider.newEnvironment();
    const [client, ana] = [await place.newClient(), await place.newIdentity()];
    for (let i = 0; i < 7; i++) expect((await api.login(client, ana)).statusCode).toBe(200);
  }));

test('ten wrong passwords lock an address for a while, and tell a script until when', () =>
  onFreshCounters(async (provider, api) => {
    const place = await provider.newEnvironment();
    const [client, ana] = [await place.newClient(), await place.newIdentity()];
    for (let i = 0; i < 10; i++) expect((await api.login(client, ana, { password: 'wrong' })).statusCode).toBe(401);
    const origin = 'https://app.example.com';
    const refused = await api.login(client, ana, {}, { origin });
    expect([refused.statusCode, refused.json().error.code]).toEqual([429, 'rate_limit.exceeded']);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(800);
    expect(refused.headers['access-control-allow-origin']).toBe(origin);
    // Others in the same network are let in.
    expect((await api.login(client, await place.newIdentity())).statusCode).toBe(200);
  }));

test.each([
  ['totp', { code: '000000' }, 10],
  ['recovery-code', { code: 'x' }, 10],
  ['email-otp', { code: '000000' }, 10],
  ['email-otp/send', {}, 3],
  ['webauthn', { response: {} }, 10],
  ['webauthn/options', {}, 10],
])('mfa/challenge/%s is answered as often as on the hosted pages', async (kind, body, often) => {
  const ask = () => apiOf(shared).post(`/mfa/challenge/${kind}`, { challenge_token: 'A'.repeat(43), ...body });
  for (let i = 0; i < often; i++) expect((await ask()).statusCode).toBe(400);
  const refused = await ask();
  expect(refused.statusCode).toBe(429);
  expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60);
});

test('ten wrong codes lock their person, in every sign-in, for the right code too', () =>
  onFreshCounters(async (provider, api) => {
    const place = await provider.newEnvironment({ mfaPolicy: 'required' });
    const [client, ana] = [await place.newClient(), await place.newIdentity()];
    const totp = await enrollTotp(provider, place, ana);
    const tokens = await Promise.all([api.signedIn(client, ana), api.signedIn(client, ana)]);
    const [one = '', two = ''] = tokens.map(({ mfa_challenge: challenge }) => challenge.challenge_token);
    const answer = (kind: string, token: string, code: string) =>
      api.post(`/mfa/challenge/${kind}`, { challenge_token: token, code });
    const wrong = totp.code() === '000000' ? '111111' : '000000';
    const tries = await Promise.all([
      ...Array.from({ length: 6 }, () => answer('totp', one, wrong)),
      ...Array.from({ length: 6 }, () => answer('recovery-code', two, 'AAAA-AAAA-AAAA-AAAA')),
    ]);
    const count = (status: number) => tries.filter(({ statusCode }) => statusCode === status).length;
    expect([count(401), count(429)]).toEqual([10, 2]);
    const locked = await answer('totp', two, totp.code());
    expect([locked.statusCode, locked.json().error.code]).toEqual([429, 'mfa.challenge_locked']);
    expect(Number(locked.headers['retry-after'])).toBeGreaterThan(800);
  }));

test('a token may guess the current password fifty times in a day, and the right one is then refused too', () =>
  onFreshCounters(async (provider, api) => {
    const place = await provider.newEnvironment();
    const [client, ana] = [await place.newClient(), await place.newIdentity()];
    const as = bearer((await api.signedIn(client, ana)).access_token);
    const change = (current: string) =>
      api.put('/password', { current_password: current, new_password: 'a quite different one' }, as);
    const bursts = [];
    for (let burst = 0; burst < 6; burst++) {
      const tries = await Promise.all(Array.from({ length: 10 }, (_, i) => change(`guess ${burst} ${i}`)));
      bursts.push(tries.filter(({ statusCode }) => statusCode === 400).length);
      await provider.query("delete from rate_limits where key like 'own-password-change:%'");
    }
    expect(bursts).toEqual([10, 10, 10, 10, 10, 0]);
    const locked = await change(password);
    expect([locked.statusCode, locked.json().error.code]).toEqual([429, 'rate_limit.exceeded']);
    expect(Number(locked.headers['retry-after'])).toBeGreaterThan(80_000);
  }));

test('a network address may request five links in an hour', async () => {
  const place = await shared.newEnvironment();
  const client = await place.newClient();
  const forgot = (email: string) => apiOf(shared).post('/password/forgot', { client_id: client.clientId, email });
  for (let i = 0; i < 5; i++) expect((await forgot(`a${i}@example.com`)).statusCode).toBe(200);
  expect((await forgot('b@example.com')).statusCode).toBe(429);
});

test('a third-party application uses up its own limit, and not its person’s limit at other applications', async () => {
  const provider = await newProvider({ rateLimits: true, jwtPerMinute: 3 });
  try {
    const place = await provider.newEnvironment();
    const partner = await place.newClient({ consentRequired: true });
    const another = await place.newClient({ consentRequired: true });
    const ana = await place.newIdentity();
    const browser = provider.browser();
    const own = (await tokensFor(browser, await place.newClient(), ana.email)).access_token;
    const allowed = async (client: typeof partner): Promise<string> => {
      const { verifier, challenge } = newPkce();
      const page = await follow(browser, await browser.get(authorizeUrl(client, { code_challenge: challenge })));
      const back = new URL(String((await browser.submit(page, { choice: 'allow' })).headers.location));
      const code = back.searchParams.get('code') as string;
      return (await redeem(provider.app, client, { code, verifier, redirect: redirectUri })).json().access_token;
    };
    const [partners, anothers] = [await allowed(partner), await allowed(another)];
    const ask = async (token: string) => (await userinfo(provider.app, token)).statusCode;
    const me = async (token: string) =>
      (await provider.app.inject({ url: '/v1/identity/auth/me', headers: { authorization: `Bearer ${token}` } }))
        .statusCode;
    expect([await ask(partners), await me(partners), await ask(partners), await ask(partners)]).toEqual([
      200, 403, 200, 429,
    ]);
    expect([await me(partners), await ask(anothers), await ask(own), await me(own)]).toEqual([429, 200, 200, 200]);
    expect([await me(own), await ask(own)]).toEqual([200, 429]);
  } finally {
    await provider.close();
  }
});
