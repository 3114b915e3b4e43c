import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createCaptcha } from '../../../src/platform/captcha.js';
import { faultOf } from '../../../src/platform/faults.js';
import type { Browser } from '../../support/oauth/browser.js';
import { password } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';
import { authorizeUrl } from '../../support/oauth/sign-in.js';
import { patience } from '../../support/patience.js';
import { startTurnstile, type Turnstile } from '../../support/turnstile.js';

const field = 'cf-turnstile-response';
const outage = 'the service for that is not responding';
const refusal = 'We could not check that you are a person.';

const turnstile = await startTurnstile();
const world = await newProvider({ captchaUrl: turnstile.url });
const environment = await world.newEnvironment({ loginRequireCaptcha: true, emailOtpLoginEnabled: true });
const client = await environment.newClient();
const { email } = await environment.newIdentity();
afterAll(async () => {
  await world.close();
  await turnstile.close();
});
beforeEach(() => {
  turnstile.behave('well');
  turnstile.asked.length = 0;
});

const policyOf = (page: Awaited<ReturnType<Browser['get']>>) => String(page.headers['content-security-policy']);

describe.each([
  ['the password form', {}, { password }],
  ['the form that mails a code', { method: 'code' }, {}],
])('%s', (_, method, typed) => {
  const submit = async (token: Record<string, string>, of = client) => {
    const browser = world.browser();
    const page = await browser.get(authorizeUrl(of, method));
    return { page, answer: await browser.submit(page, { email, ...typed, ...token }) };
  };
  const passes = (answer: Awaited<ReturnType<Browser['get']>>) =>
    answer.statusCode === 303 || answer.body.includes('a code is on its way');

  test('has the widget, the only foreign source of its policy, and continues with a solved one', async () => {
    const { page, answer } = await submit({ [field]: 'solved' });
    expect(page.body).toContain('class="cf-turnstile" data-sitekey="site-key"');
    const [, nonce] =
      /src="https:\/\/challenges\.cloudflare\.com\/[^"]+" async defer nonce="([^"]+)"/.exec(page.body) ?? [];
    expect(policyOf(page)).toContain(`script-src 'nonce-${nonce}' https://challenges.cloudflare.com;`);
    expect(policyOf(page)).toContain('frame-src https://challenges.cloudflare.com;');
    expect(passes(answer)).toBe(true);
    expect(turnstile.asked).toEqual([{ secret: 'secret-key', response: 'solved', remoteip: '127.0.0.1' }]);
  });

  test('returns with an error when it was not solved, before anything is verified', async () => {
    const tokens: Record<string, string>[] = [
      {},
      { [field]: '' },
      { [field]: 'made up' },
      { [field]: 'x'.repeat(5000) },
    ];
    for (const token of tokens) {
      const { answer } = await submit(token);
      expect(answer.statusCode).toBe(200);
      expect(answer.body).toContain(refusal);
      expect(answer.body).toContain(`value="${email}"`);
      expect(answer.body).toContain('class="cf-turnstile"');
    }
    expect(turnstile.asked.map(({ response }) => response)).toEqual(['made up']);
  });

  test('stays closed while the service is broken, answers nonsense, checks no token or is another service', async () => {
    for (const behavior of ['broken', 'garbled', 'busy', 'keyless', 'foreign'] as const) {
      turnstile.behave(behavior);
      const { answer } = await submit({ [field]: 'solved' });
      expect(answer.body).toContain(outage);
      expect(answer.body).not.toContain(refusal);
      expect(answer.body).not.toContain('aria-invalid=');
    }
  });

  test('reports such an outage to a script like any other, and refuses nobody for it', async () => {
    turnstile.behave('broken');
    const { page } = await submit({});
    const answer = await world
      .browser()
      .submit(page, { email, ...typed, [field]: 'solved' }, { accept: 'application/json' });
    expect([answer.statusCode, answer.json().error]).toEqual([503, 'service.unavailable']);
    expect(answer.headers['retry-after']).toBe('5');
  });

  test('stays closed without configured keys', async () => {
    const keyless = await newProvider();
    const other = await keyless.newEnvironment({ loginRequireCaptcha: true, emailOtpLoginEnabled: true });
    const browser = keyless.browser();
    const page = await browser.get(authorizeUrl(await other.newClient(), method));
    expect(page.body).not.toContain('cf-turnstile');
    expect(policyOf(page)).not.toContain('cloudflare');
    const answer = await browser.submit(page, { email, ...typed, [field]: 'solved' });
    expect(answer.body).toContain(outage);
    await keyless.close();
  });

  test('names no foreign source if no captcha is required, and asks nobody', async () => {
    const free = await world.newEnvironment({ emailOtpLoginEnabled: true });
    const { page } = await submit({ [field]: 'solved' }, await free.newClient());
    expect(page.body).not.toContain('cloudflare');
    expect(policyOf(page)).not.toMatch(/cloudflare|frame-src/);
    expect(turnstile.asked).toEqual([]);
  });
});

test('the page that asks for a code has the widget for another code, and entering a code needs none', async () => {
  const browser = world.browser();
  const form = await browser.get(authorizeUrl(client, { method: 'code' }));
  const sent = await browser.submit(form, { email, [field]: 'solved' });
  expect(sent.body).toContain('class="cf-turnstile"');
  expect(policyOf(sent)).toContain('frame-src https://challenges.cloudflare.com;');
  const resend = { ...sent, body: sent.body.slice(sent.body.indexOf('</form>')) } as typeof sent;
  // If the captcha fails, the page still accepts the code that has arrived.
  const unsent = await browser.submit(resend, {});
  expect(unsent.body.split('</form>').map((form) => form.includes(refusal))).toEqual([false, true, false]);
  expect(unsent.body).not.toContain('aria-invalid=');
  expect((await browser.submit(unsent, { code: await world.mailedCode('login') })).statusCode).toBe(303);
});

test('if a code may create the identity, the captcha of sign-ups protects it', async () => {
  const open = await world.newEnvironment({
    passwordLoginEnabled: false,
    emailOtpLoginEnabled: true,
    allowSelfSignup: true,
    selfSignupRequireCaptcha: true,
  });
  const browser = world.browser();
  const form = await browser.get(authorizeUrl(await open.newClient()));
  expect((await browser.submit(form, { email })).body).toContain(refusal);
  expect((await browser.submit(form, { email, [field]: 'solved' })).body).toContain('a code is on its way');
});

test('a success with a refusal’s status is a success, and a redirect is an outage: the secret goes nowhere else', async () => {
  const captcha = createCaptcha({ siteKey: 'site-key', secretKey: 'secret-key', verifyUrl: turnstile.url });
  const verdictOf = (behavior: Parameters<Turnstile['behave']>[0]) => {
    turnstile.behave(behavior);
    return captcha.verify('solved', '127.0.0.1');
  };
  expect(await verdictOf('well')).toBe('passed');
  expect(await verdictOf('forbidding')).toBe('refused');
  expect(await verdictOf('moved')).toBe('unavailable');
  expect(turnstile.asked).toHaveLength(3);
});

test('a key that Cloudflare does not know any more is logged for the operator, by what Cloudflare answers', async () => {
  const faults: string[] = [];
  const captcha = createCaptcha({
    siteKey: 'site-key',
    secretKey: 'replaced',
    verifyUrl: turnstile.url,
    onOutage: (error) => faults.push(faultOf(error)),
  });
  turnstile.behave('keyless');
  expect(await captcha.verify('solved', '127.0.0.1')).toBe('unavailable');
  turnstile.behave('busy');
  expect(await captcha.verify('solved', '127.0.0.1')).toBe('unavailable');
  expect(faults).toEqual(['NotVerified invalid-input-secret', 'NotVerified 429']);
});

test('a service that does not answer is given five seconds, and this is logged for the operator', async () => {
  turnstile.behave('silent');
  const outages: unknown[] = [];
  const captcha = createCaptcha({
    siteKey: 'site-key',
    secretKey: 'secret-key',
    verifyUrl: turnstile.url,
    onOutage: (error) => outages.push(error),
  });
  const start = performance.now();
  expect(await captcha.verify('solved', '127.0.0.1')).toBe('unavailable');
  expect(performance.now() - start).toBeGreaterThan(4_900);
  expect(performance.now() - start).toBeLessThan(patience);
  expect(outages).toHaveLength(1);
  const keyless = createCaptcha({
    siteKey: null,
    secretKey: null,
    verifyUrl: turnstile.url,
    onOutage: (e) => outages.push(e),
  });
  expect(await keyless.verify('solved', '127.0.0.1')).toBe('unavailable');
  expect(outages).toHaveLength(2);
});
