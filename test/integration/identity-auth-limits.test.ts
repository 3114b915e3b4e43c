import { enrollTotp } from '../support/mfa.js';
import { newProvider, password, type TestProvider } from '../support/oauth.js';
import { apiOf, bearer } from './identity-auth-setup.js';

/** What the routes count by themselves may share a provider; who signs in needs one whose counters are fresh. */
let shared: TestProvider;
beforeAll(async () => {
  shared = await newProvider({ rateLimits: true });
});
afterAll(() => shared?.close());

async function onFreshCounters(work: (provider: TestProvider, api: ReturnType<typeof apiOf>) => Promise<void>) {
  const provider = await newProvider({ rateLimits: true });
  try {
    await work(provider, apiOf(provider));
  } finally {
    await provider.close();
  }
}

test('a network address has five sign-ins in fifteen minutes, right or wrong, and is told when to come back', () =>
  onFreshCounters(async (provider, api) => {
    const place = await provider.newEnvironment();
    const [client, ana] = [await place.newClient(), await place.newIdentity()];
    const answers = await Promise.all(Array.from({ length: 12 }, () => api.login(client, ana)));
    expect(answers.filter(({ statusCode }) => statusCode === 200)).toHaveLength(5);
    const origin = 'https://app.example.com';
    const refused = await api.login(client, ana, {}, { origin });
    expect([refused.statusCode, refused.json().error.code]).toEqual([429, 'rate_limit.exceeded']);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(800);
    expect(refused.headers['access-control-allow-origin']).toBe(origin); // a script can tell the person
    expect(refused.headers['ratelimit-policy']).toContain('q=5;w=900');
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

test('ten wrong codes lock whoever’s they are, in every sign-in, for the right code too', () =>
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

test('a token guesses the current password fifty times in a day, and the right one is then refused too', () =>
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

test('five links in an hour are asked for from one network address', async () => {
  const place = await shared.newEnvironment();
  const client = await place.newClient();
  const forgot = (email: string) => apiOf(shared).post('/password/forgot', { client_id: client.clientId, email });
  for (let i = 0; i < 5; i++) expect((await forgot(`a${i}@example.com`)).statusCode).toBe(200);
  expect((await forgot('b@example.com')).statusCode).toBe(429);
});
