import type { LightMyRequestResponse } from 'fastify';
import { v7 as uuidv7 } from 'uuid';
import { DomainError } from '../../../src/domain/errors.js';
import { createMfaAttempts } from '../../../src/domain/mfa/attempts.js';
import { minutes } from '../../../src/platform/clock.js';
import { alertOf, codeIn, enrollTotp, hidden, passwordStep } from '../../support/mfa.js';
import { newProvider } from '../../support/oauth/provider.js';
import { comingUpon } from '../../support/uncommitted.js';

/** A provider with limits. Each answer comes from a new address, unless the address is what is counted. */
const provider = await newProvider({ rateLimits: true });
afterAll(() => provider.close());

let addresses = 0;
const newAddress = () => `198.51.${Math.floor(++addresses / 250)}.${(addresses % 250) + 1}`;

async function newChallenge() {
  const environment = await provider.newEnvironment();
  const client = await environment.newClient();
  const ana = await environment.newIdentity();
  const totp = await enrollTotp(provider, environment, ana);
  const browser = provider.browser();
  return { client, ana, totp, browser, page: (await passwordStep(browser, client, ana)).page };
}
const answer = (page: LightMyRequestResponse, fields: Record<string, string>, remoteAddress = newAddress()) =>
  provider.app.inject({
    method: 'POST',
    url: '/oauth/mfa-challenge',
    remoteAddress,
    headers: { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ challenge_token: hidden(page, 'challenge_token'), ...fields }).toString(),
  });

test('ten wrong codes lock their person, in every sign-in and from everywhere; the page says until when', async () => {
  const { client, ana, totp, page } = await newChallenge();
  for (let i = 0; i < 10; i++) expect(alertOf(await answer(page, { code: '000000' }))).toMatch(/not right/);
  const another = (await passwordStep(provider.browser(), client, ana)).page;
  for (const shown of [page, another]) {
    const proofs: Record<string, string>[] = [{ code: totp.code() }, { recovery_code: totp.recoveryCodes?.[0] ?? '' }];
    for (const fields of proofs) {
      const locked = await answer(shown, fields);
      expect(locked.statusCode).toBe(429);
      const retryAfter = Number(locked.headers['retry-after']);
      expect(retryAfter).toBeGreaterThan(800);
      expect(retryAfter).toBeLessThanOrEqual(minutes(15) / 1000);
      expect(locked.body).toContain('Too many wrong codes');
      expect(locked.body).not.toContain('/oauth/password/forgot'); // a new password does not end the lock
    }
  }
  expect(await provider.logins.recoveryCodes.remaining(ana, ana.id)).toMatchObject({ remaining: 10 }); // none was used
});

test('ten of many parallel guesses are verified', async () => {
  const { page } = await newChallenge();
  const answers = await Promise.all(Array.from({ length: 25 }, () => answer(page, { code: '000000' })));
  expect(answers.filter(({ statusCode }) => statusCode === 200)).toHaveLength(10);
  expect(answers.filter(({ statusCode }) => statusCode === 429)).toHaveLength(15);
});

test('a right code after the quarter of an hour gives the next one no additional guess', async () => {
  const attempts = createMfaAttempts({ db: provider.db, enabled: true, now: provider.now });
  const id = uuidv7();
  const right = () => provider.query(`update rate_limits set expire = 0 where key like 'mfa-identity:%'`);
  await attempts.counted(id, right);
  for (let i = 0; i < 10; i++) await attempts.counted(id, async () => null);
  await expect(attempts.counted(id, right)).rejects.toMatchObject({ code: 'mfa.challenge_locked' });
});

test('a code that an outage or overload kept from being verified does not count; a refused one does', async () => {
  const attempts = createMfaAttempts({ db: provider.db, enabled: true, now: provider.now });
  const id = uuidv7();
  const fails = (error: Error) => attempts.counted(id, async () => Promise.reject(error));
  const outages = [new Error('the database is away'), new DomainError('service.unavailable')];
  for (let i = 0; i < 10; i++) for (const error of outages) await expect(fails(error)).rejects.toBe(error);
  const refusal = new DomainError('mfa.code_invalid');
  for (let i = 0; i < 10; i++) await expect(fails(refusal)).rejects.toBe(refusal);
  await expect(fails(refusal)).rejects.toMatchObject({ code: 'mfa.challenge_locked' });
});

/** Ends the current quarter of an hour. */
const nextBurst = () => provider.query(`delete from rate_limits where key like 'mfa-identity:%'`);

test('fifty wrong codes of any kind in a day lock until the day is over', async () => {
  const { client, ana, totp, page } = await newChallenge();
  for (let i = 0; i < 50; i++) {
    if (i % 10 === 0) await nextBurst();
    const fields: Record<string, string> = i % 2 ? { code: '000000' } : { recovery_code: 'AAAA-AAAA-AAAA-AAAA' };
    expect((await answer(page, fields)).statusCode).toBe(200);
  }
  await nextBurst();
  const another = (await passwordStep(provider.browser(), client, ana)).page;
  const proofs: Record<string, string>[] = [{ code: totp.code() }, { recovery_code: totp.recoveryCodes?.[0] ?? '' }];
  for (const fields of proofs) {
    const locked = await answer(another, fields);
    expect([locked.statusCode, locked.headers['ratelimit-policy']]).toEqual([429, '"mfa-identity-day";q=50;w=86400']);
    expect(Number(locked.headers['retry-after'])).toBeGreaterThan(86_000);
    expect(locked.body).toContain('Too many wrong codes');
  }
});

test('a right code of the app resets the day’s count, a right one by mail does not: the mailbox’s owner could guess on', async () => {
  const attempts = createMfaAttempts({ db: provider.db, enabled: true, now: provider.now });
  const wrong = (id: string) => attempts.counted(id, async () => null);
  const guessed = async () => {
    const id = uuidv7();
    for (let i = 0; i < 49; i++) {
      if (i % 10 === 0) await nextBurst();
      await wrong(id);
    }
    await nextBurst();
    return id;
  };
  const [forgotten, kept] = [await guessed(), await guessed()];
  await attempts.counted(forgotten, async () => 'right');
  await attempts.counted(
    kept,
    async () => 'right',
    () => false,
  );
  for (const id of [forgotten, kept]) await wrong(id);
  await wrong(forgotten);
  await expect(wrong(kept)).rejects.toMatchObject({
    code: 'mfa.challenge_locked',
    options: { limit: { name: 'mfa-identity-day', points: 50, windowSeconds: 86_400 } },
  });
});

test('a sign-in that ends while an answer to it is being checked does not reset the day’s count', async () => {
  const { ana, totp, page } = await newChallenge();
  const attempts = createMfaAttempts({ db: provider.db, enabled: true, now: provider.now });
  for (let i = 0; i < 49; i++) {
    if (i % 10 === 0) await nextBurst();
    await attempts.counted(ana.id, async () => null);
  }
  await nextBurst();
  const late = await comingUpon(
    provider.database,
    (tx) => tx.query('update pending_sign_ins set completed_at = now() where identity_id = $1', [ana.id]),
    () => answer(page, { code: totp.code() }),
  );
  expect(late.statusCode).toBe(400);
  await attempts.counted(ana.id, async () => null);
  await nextBurst();
  await expect(attempts.counted(ana.id, async () => null)).rejects.toMatchObject({ code: 'mfa.challenge_locked' });
});

test('a right code does not count as a guess', async () => {
  const { client, ana, totp, page } = await newChallenge();
  for (let i = 0; i < 9; i++) await answer(page, { code: '000000' });
  for (let i = 0; i < 3; i++) {
    const next = (await passwordStep(provider.browser(), client, ana)).page;
    codeIn(await answer(next, { code: totp.code() }));
    provider.wait(30_000);
  }
  expect(
    (await answer((await passwordStep(provider.browser(), client, ana)).page, { code: '000000' })).statusCode,
  ).toBe(200);
  const last = (await passwordStep(provider.browser(), client, ana)).page;
  expect((await answer(last, { code: totp.code() })).statusCode).toBe(429);
});

test.each([
  ['/oauth/mfa-challenge', 10, 60],
  ['/oauth/mfa/email-otp/send', 3, 60],
  ['/oauth/mfa/email-otp/verify', 10, 60],
  ['/oauth/mfa/totp/enroll', 10, 60],
  ['/oauth/mfa/email-otp/enroll/send', 3, 60],
  ['/oauth/mfa/email-otp/enroll/verify', 10, 60],
])('%s answers %d requests of an address in %d seconds', async (url, points, window) => {
  const remoteAddress = newAddress();
  const send = (accept: string) =>
    provider.app.inject({ method: 'POST', url, remoteAddress, headers: { accept }, payload: { code: '000000' } });
  const answers = await Promise.all(Array.from({ length: points + 2 }, () => send('text/html')));
  expect(answers.filter(({ statusCode }) => statusCode === 400)).toHaveLength(points);
  const refused = answers.filter(({ statusCode }) => statusCode === 429);
  expect(refused).toHaveLength(2);
  expect(Number(refused[0]?.headers['retry-after'])).toBeLessThanOrEqual(window);
  expect(refused[0]?.body).toContain('Too many attempts');
  const json = await send('application/json');
  expect(json.statusCode).toBe(429);
  expect(json.json()).toMatchObject({ error: 'rate_limit.exceeded' });
});

test('a mailbox gets ten codes in a quarter of an hour, wherever they are requested', async () => {
  const { page, ana } = await newChallenge();
  const fields = Object.fromEntries(
    [...page.body.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)].map(([, name, value]) => [
      name,
      value,
    ]),
  );
  const send = (more = {}) =>
    provider.app.inject({
      method: 'POST',
      url: '/oauth/mfa/email-otp/send',
      remoteAddress: newAddress(),
      headers: { accept: 'text/html', 'content-type': 'application/json' },
      payload: { ...fields, ...more, redirect_uri: 'https://app.example.com/callback?tenant=1' },
    });
  for (let i = 0; i < 10; i++) expect(alertOf(await send())).toBeNull();
  const refused = await send();
  expect(refused.statusCode).toBe(200);
  expect(alertOf(refused)).toMatch(/Too many codes were sent/);
  expect(refused.body).toContain('action="/oauth/mfa/email-otp/send"'); // still the page that asks for one
  // The latest code still works, so its field stays.
  const again = await send({ again: 'true' });
  expect(alertOf(again)).toMatch(/Too many codes were sent/);
  expect(again.body).toContain('We sent a code to your email address.');
  expect(again.body).toMatch(/<input id="code"[^>]* autofocus aria-describedby="message">/);
  const [mailed] = await provider.query<{ count: string }>(
    'select count(*) from emailed_codes where identity_id = $1',
    [ana.id],
  );
  expect(mailed?.count).toBe('10');
});

test('if too many codes were mailed for an enrollment, the latest one can still be entered', async () => {
  const environment = await provider.newEnvironment({ mfaPolicy: 'required' });
  const { page } = await passwordStep(
    provider.browser(),
    await environment.newClient(),
    await environment.newIdentity(),
  );
  const enrollment_token = hidden(page, 'enrollment_token');
  const send = (more = {}) =>
    provider.app.inject({
      method: 'POST',
      url: '/oauth/mfa/email-otp/enroll/send',
      remoteAddress: newAddress(),
      headers: { accept: 'text/html', 'content-type': 'application/json' },
      payload: { enrollment_token, ...more },
    });
  for (let i = 0; i < 10; i++) expect(alertOf(await send())).toBeNull();
  const refused = await send();
  expect(alertOf(refused)).toMatch(/Too many codes were sent/);
  expect(refused.body).not.toContain('id="code"');
  const again = await send({ again: 'true' });
  expect(alertOf(again)).toMatch(/Too many codes were sent/);
  expect(again.body).toMatch(/<input id="code"[^>]* autofocus aria-describedby="message">/);
});
