import { decodeJwt } from 'jose';
import type { EnvironmentSettings } from '../../../entities/environment-settings.js';
import { loginMails } from '../../../src/domain/logins/mails.js';
import { mfaMails } from '../../../src/domain/mfa/mails.js';
import { aal2 } from '../../../src/domain/sessions/first-factor.js';
import type { OwnProofOf } from '../../../src/domain/sessions/own-proof.js';
import { days, minutes, seconds } from '../../../src/platform/clock.js';
import { renderEmail } from '../../../src/platform/mail/templates.js';
import { waitingMails } from '../../support/identity-mails.js';
import { alertOf, codeIn, enrollTotp, hidden, passwordStep, strongSession, totpCode } from '../../support/mfa.js';
import { hiddenFields, locationOf } from '../../support/oauth/browser.js';
import { password, redirectUri } from '../../support/oauth/environment.js';
import { newProvider, type TestProvider } from '../../support/oauth/provider.js';
import { authorizeUrl } from '../../support/oauth/sign-in.js';
import { redeem } from '../../support/oauth/tokens.js';

const provider = await newProvider();
afterAll(() => provider.close());

/** Signs in a person without a factor, where one is required, by password. */
async function newArrival(settings: Partial<EnvironmentSettings> = {}, more: Record<string, string> = {}) {
  const environment = await provider.newEnvironment({ mfaPolicy: 'required', mfaGracePeriodDays: 7, ...settings });
  const client = await environment.newClient();
  const ana = await environment.newIdentity();
  const browser = provider.browser();
  const { page, verifier } = await passwordStep(browser, client, ana, more);
  return { environment, client, ana, browser, page, verifier };
}
const keyOn = (page: { body: string }) =>
  (/<dd class="code">([A-Z2-7 ]+)<\/dd>/.exec(page.body)?.[1] ?? '').replaceAll(' ', '');
const factorsOf = (identityId: string) =>
  provider.query<{ type: string }>('select type from mfa_factors where identity_id = $1 order by enrolled_at', [
    identityId,
  ]);
async function accessOf(client: Awaited<ReturnType<typeof newArrival>>['client'], code: string, verifier: string) {
  const tokens = await redeem(provider.app, client, { code, verifier, redirect: redirectUri });
  return decodeJwt(tokens.json().access_token);
}

test('the page offers the factors and names the deadline; "Later" signs in with the password alone', async () => {
  const { page, browser, client, verifier } = await newArrival();
  const deadline = new Intl.DateTimeFormat('en', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });
  expect(page.body).toContain(`You can put it off until ${deadline.format(provider.now().getTime() + days(7))} UTC.`);
  for (const factor of ['totp', 'webauthn', 'email_otp'])
    expect(page.body).toContain(`name="factor" value="${factor}"`);
  const code = codeIn(await browser.submit(page, { choice: 'later' }));
  expect(await accessOf(client, code, verifier)).toMatchObject({ amr: ['pwd'], acr: 'urn:gatehouse:aal1' });
  const again = await browser.submit(page, { choice: 'later' }); // postponed once: the session goes on
  expect(again.cookies).toEqual([]);
  codeIn(await browser.get(String(again.headers.location)));
});

test('an authenticator app is enrolled by picture, key and first code; recovery codes come once, and the sign-in is aal2', async () => {
  const { page, browser, client, ana, verifier } = await newArrival();
  const totp = await browser.submit(page, { factor: 'totp' });
  expect(totp.body).toMatch(/<div class="qr" role="img" aria-label="QR code for your authenticator app"><svg /);
  expect(totp.headers['content-security-policy']).toContain('img-src data:;');
  // The browser may cache pages to go back to, but no secret.
  expect([page, totp].map(({ headers }) => headers['cache-control'])).toEqual([
    'private, max-age=0, must-revalidate',
    'no-store',
  ]);
  const secret = keyOn(totp);
  expect(secret).toMatch(/^[A-Z2-7]{32}$/); // 160 bits
  const uri = new URL(/href="(otpauth:[^"]*)"/.exec(totp.body)?.[1]?.replaceAll('&amp;', '&') ?? '');
  expect(decodeURIComponent(uri.pathname)).toContain(`Acme:${ana.email}`);
  expect(Object.fromEntries(uri.searchParams)).toMatchObject({ secret, issuer: 'Acme' });

  const wrong = await browser.submit(totp, { code: '000000' });
  expect(alertOf(wrong)).toMatch(/That code is not right/);
  expect(wrong.headers['cache-control']).toBe('no-store');
  expect(keyOn(wrong)).toBe(secret); // still the secret in the app
  expect(await factorsOf(ana.id)).toEqual([]);

  const confirmed = await browser.submit(wrong, { code: totpCode(secret, provider.now()) });
  expect(confirmed.statusCode).toBe(303);
  const codesUrl = `${locationOf(confirmed).pathname}${locationOf(confirmed).search}`;
  expect(codesUrl).toMatch(/^\/oauth\/mfa-enroll-codes\?codes_token=/);
  expect((await provider.app.inject({ method: 'HEAD', url: codesUrl })).statusCode).toBe(400); // uses nothing up
  const codes = await browser.get(codesUrl);
  const shown = [...codes.body.matchAll(/<li>([^<]*)<\/li>/g)].map(([, code]) => code);
  expect(shown).toHaveLength(10);
  expect(codes.headers['cache-control']).toContain('no-store');
  const again = await browser.get(codesUrl);
  expect(again.body).toContain('Your recovery codes were shown already');
  expect(again.body).not.toContain(shown[0]);

  expect(hidden(again, 'enrollment_token')).toMatch(/./); // the sign-in continues from there too
  const done = await browser.submit(codes, {});
  // A person who goes back to it later continues signed in, or in the account, where new codes can be made.
  const over = await browser.get(codesUrl);
  expect(over.body).toContain('Your recovery codes were shown already');
  expect(over.body).not.toContain('<form');
  expect(over.body).toMatch(/<title>[^<]* · Acme</);
  const linksOn = [...over.body.matchAll(/<a [^>]*href="([^"]+)"/g)].map(
    ([, url]) => url?.replaceAll('&amp;', '&') ?? '',
  );
  codeIn(await browser.get(linksOn[0] ?? ''));
  expect(linksOn[1]).toBe(`${provider.baseUrl}/oauth/account?client_id=${client.clientId}`);
  expect(await accessOf(client, codeIn(done), verifier)).toMatchObject({
    amr: ['pwd', 'otp', 'mfa'],
    acr: 'urn:gatehouse:aal2',
  });
  const twice = await browser.submit(codes, {}); // by the session
  expect(twice.cookies).toEqual([]);
  codeIn(await browser.get(String(twice.headers.location)));
  expect((await provider.browser().submit(codes, {})).statusCode).toBe(400);
  const stored = await provider.query<{ secret: string; code_hash: Buffer }>(
    'select f.secret, c.code_hash from mfa_factors f join recovery_codes c using (identity_id) where identity_id = $1',
    [ana.id],
  );
  expect(JSON.stringify(stored)).not.toContain(secret);
});

test('recovery codes are shown even if the client has ceased to accept the request meanwhile', async () => {
  const { page, browser, client } = await newArrival();
  const totp = await browser.submit(page, { factor: 'totp' });
  const confirmed = await browser.submit(totp, { code: totpCode(keyOn(totp), provider.now()) });
  await provider.query(
    `update oauth_clients set redirect_uris = '{https://elsewhere.example/cb}' where client_id = $1`,
    [client.clientId],
  );
  provider.wait(seconds(2));
  const codes = await browser.get(String(confirmed.headers.location));
  expect(codes.body.match(/<li>[A-Z2-7-]{19}<\/li>/g)).toHaveLength(10);
  expect(codes.body).not.toContain('<form');
});

test('the code that enrolled is used up, and the next sign-in needs another', async () => {
  const { page, browser, client, ana } = await newArrival();
  const totp = await browser.submit(page, { factor: 'totp' });
  const code = totpCode(keyOn(totp), provider.now());
  await browser.submit(totp, { code });
  const next = provider.browser();
  const { page: challenge } = await passwordStep(next, client, ana);
  expect(alertOf(await next.submit(challenge, { code }))).toMatch(/not right/);
  provider.wait(30_000);
  codeIn(await next.submit(challenge, { code: totpCode(keyOn(totp), provider.now()) }));
});

test('a page of recovery codes that is left keeps the factor; nobody else can continue from it', async () => {
  const { page, browser, client, ana } = await newArrival({}, { ui_locales: 'de' });
  const totp = await browser.submit(page, { factor: 'totp' });
  const secret = keyOn(totp);
  const codes = await browser.submit(totp, { code: totpCode(secret, provider.now()) });
  const token = locationOf(codes).searchParams.get('codes_token') ?? '';
  for (const forged of [token.slice(0, -2), `${token.slice(0, 40)}AAAA${token.slice(44)}`, 'x', '', `${token}\u0000`]) {
    const answer = await browser.get(`/oauth/mfa-enroll-codes?codes_token=${encodeURIComponent(forged)}`);
    expect(answer.statusCode).toBe(400);
  }
  provider.wait(minutes(10));
  const late = await browser.get(`/oauth/mfa-enroll-codes${locationOf(codes).search}`);
  expect(late.statusCode).toBe(400);
  expect(late.body).toContain('<html lang="de">');
  const next = provider.browser();
  codeIn(await next.submit((await passwordStep(next, client, ana)).page, { code: totpCode(secret, provider.now()) }));
});

test('the link to the recovery codes works in the browser that enrolled: any other is shown nothing, and not signed in', async () => {
  const { page, browser, client, verifier } = await newArrival({}, { ui_locales: 'de' });
  const totp = await browser.submit(page, { factor: 'totp' });
  const enrolled = await browser.submit(totp, { code: totpCode(keyOn(totp), provider.now()) });
  expect(enrolled.cookies).toEqual([
    expect.objectContaining({ name: 'recovery_codes', httpOnly: true, sameSite: 'Lax', path: '/', maxAge: 30 * 60 }),
  ]);
  const link = `/oauth/mfa-enroll-codes${locationOf(enrolled).search}`;

  const stranger = provider.browser();
  await newTab(stranger); // which has enrolled a factor as well
  for (const other of [provider.browser(), stranger]) {
    const shown = await other.get(link);
    expect([shown.statusCode, shown.body]).toEqual([400, expect.stringContaining('In diesem Browser')]);
    expect(shown.body).not.toContain('<form');
    expect(shown.body).not.toContain(hidden(page, 'enrollment_token'));
    const told = await other.get(link, { accept: 'application/json' });
    expect([told.statusCode, told.json()]).toEqual([
      400,
      { error: 'other_browser', error_description: expect.any(String) },
    ]);
  }

  const codes = await browser.get(link); // the codes were not shown yet
  expect([...codes.body.matchAll(/<li>([^<]*)<\/li>/g)]).toHaveLength(10);
  const carried = await stranger.submit(codes, {});
  expect([carried.statusCode, carried.cookies]).toEqual([400, []]);
  const { codes_token: _, ...bare } = Object.fromEntries(new URLSearchParams(locationOf(enrolled).search));
  const tokenAlone = { ...bare, enrollment_token: hidden(page, 'enrollment_token') };
  expect((await browser.post('/oauth/mfa-enroll-codes', tokenAlone)).statusCode).toBe(400);
  provider.wait(minutes(15)); // time to save them
  expect(await accessOf(client, codeIn(await browser.submit(codes, {})), verifier)).toMatchObject({ acr: aal2 });
});

/** Enrolls an app in a browser; returns the address of its codes. */
async function newTab(browser: ReturnType<TestProvider['browser']>) {
  const environment = await provider.newEnvironment({ mfaPolicy: 'required' });
  const { page } = await passwordStep(browser, await environment.newClient(), await environment.newIdentity());
  const totp = await browser.submit(page, { factor: 'totp' });
  const enrolled = await browser.submit(totp, { code: totpCode(keyOn(totp), provider.now()) });
  return `/oauth/mfa-enroll-codes${locationOf(enrolled).search}`;
}

test('two tabs of a browser enroll, and each shows its codes and continues', async () => {
  const browser = provider.browser();
  const links = [await newTab(browser), await newTab(browser)];
  const pages = await Promise.all(links.map((link) => browser.get(link)));
  for (const page of pages) codeIn(await browser.submit(page, {}));
});

test('an enrollment token that has proved nothing is refused at the codes page', async () => {
  const { page, browser } = await newArrival();
  const params = { enrollment_token: hidden(page, 'enrollment_token') };
  expect((await browser.post('/oauth/mfa-enroll-codes', params)).statusCode).toBe(400);
});

test('codes by mail are a factor that counts, and never aal2', async () => {
  const { page, browser, client, ana, verifier } = await newArrival({ mfaAllowedFactors: ['email_otp'] });
  const offered = await browser.submit(page, { factor: 'email_otp' });
  expect(offered.body).toContain(`We will send a code to ${ana.email}`);
  const sent = await browser.submit(offered, {});
  const mails = await waitingMails(provider, client.environmentId);
  expect(mails.at(-1)).toMatchObject({ template: 'factor-code', to: ana.email });
  const code = await provider.mailedCode('mfa_enrollment');
  const wrong = await browser.submit(sent, { code: code === '111111' ? '222222' : '111111' });
  expect(alertOf(wrong)).toMatch(/no longer works/);
  const done = await browser.submit(wrong, { code });
  expect(await accessOf(client, codeIn(done), verifier)).toMatchObject({
    amr: ['pwd', 'otp'],
    acr: 'urn:gatehouse:aal1',
  });
  expect(await factorsOf(ana.id)).toEqual([{ type: 'email_otp' }]); // and no recovery codes, which are not allowed
});

test('a code that was mailed late in an enrollment is valid as long as its mail says; after half an hour none is mailed', async () => {
  const { page, browser } = await newArrival({ mfaAllowedFactors: ['email_otp'] });
  const offered = await browser.submit(page, { factor: 'email_otp' });
  provider.wait(minutes(29));
  const sent = await browser.submit(offered, {});
  const code = await provider.mailedCode('mfa_enrollment');
  provider.wait(minutes(2));
  expect((await browser.submit(offered, {})).body).toContain('This sign-in has expired');
  provider.wait(minutes(7));
  codeIn(await browser.submit(sent, { code }));
});

test('a person who has got a factor meanwhile must use it: an old enrollment page adds none', async () => {
  const { environment, page, browser, ana } = await newArrival();
  const waiting = await browser.submit(page, { factor: 'totp' });
  await enrollTotp(provider, environment, ana);
  const overtaken = await browser.submit(waiting, { code: totpCode(keyOn(waiting), provider.now()) });
  expect(overtaken.statusCode).toBe(400);
  expect(overtaken.body).toContain('This sign-in has expired');
  expect(await factorsOf(ana.id)).toHaveLength(1);
  const later = await browser.submit(page, { choice: 'later' });
  expect(later.body).toContain('name="challenge_token"');
});

test('a secret can be enrolled once, by the person who was shown it', async () => {
  const ana = await newArrival();
  const ben = await newArrival();
  const totp = await ana.browser.submit(ana.page, { factor: 'totp' });
  const fields = { totp_token: hidden(totp, 'totp_token'), code: totpCode(keyOn(totp), provider.now()) };
  const bens = await ben.browser.submit(ben.page, { factor: 'totp' });
  expect((await ben.browser.submit(bens, fields)).statusCode).toBe(400);
  const both = await Promise.all([ana.browser.submit(totp, fields), ana.browser.submit(totp, fields)]);
  expect(both.map(({ statusCode }) => statusCode)).toEqual([303, 303]); // the same form twice
  expect(await factorsOf(ana.ana.id)).toHaveLength(1);
  expect(await factorsOf(ben.ana.id)).toEqual([]);
});

test.each([
  ['/oauth/mfa/enroll', { factor: 'totp' }],
  ['/oauth/mfa/totp/enroll', { code: '123456', totp_token: 'x' }],
  ['/oauth/mfa/email-otp/enroll/send', {}],
  ['/oauth/mfa/email-otp/enroll/verify', { code: '123456' }],
  ['/oauth/mfa-enroll-codes', {}],
])('%s refuses an unknown token, a challenge token, changed parameters and another site', async (url, fields) => {
  const { environment, page, browser, client } = await newArrival();
  const ben = await environment.newIdentity();
  await enrollTotp(provider, environment, ben);
  const challenge = (await passwordStep(provider.browser(), client, ben)).page;
  const token = hidden(page, 'enrollment_token');
  const post = (more: Record<string, string>, headers = {}) => browser.post(url, { ...fields, ...more }, headers);
  expect((await post({ enrollment_token: 'x'.repeat(43) })).statusCode).toBe(400);
  expect((await post({ enrollment_token: hidden(challenge, 'challenge_token') })).body).toContain('has expired');
  const swapped = await post({ enrollment_token: token, redirect_uri: 'http://127.0.0.1/cb' });
  expect(swapped.body).toContain('redirect_uri differs from the value that the sign-in started with');
  expect((await post({ enrollment_token: token }, { origin: 'https://evil.example' })).statusCode).toBe(403);
});

test('a factor that the Environment does not allow is not enrolled', async () => {
  const { page, browser, ana } = await newArrival({ mfaAllowedFactors: ['email_otp'] });
  const totp = await browser.submit(page, { factor: 'totp' });
  expect((await browser.submit(totp, { code: totpCode(keyOn(totp), provider.now()) })).statusCode).toBe(400);
  expect(await factorsOf(ana.id)).toEqual([]);
});

test('a browser whose session has outlived the grace lets another person sign in', async () => {
  const { environment, page, browser, client, ana } = await newArrival();
  codeIn(await browser.submit(page, { choice: 'later' }));
  await provider.query('update mfa_graces set expires_at = $2 where identity_id = $1', [ana.id, provider.now()]);
  const refused = await browser.get(authorizeUrl(client, { login_hint: ana.email, prompt: 'consent' }));
  expect([refused.statusCode, refused.body]).toEqual([403, expect.stringContaining('Ask your administrator')]);
  const [, link = ''] = /<a href="([^"]+)">Use another account</.exec(refused.body) ?? [];
  const form = await browser.get(link.replaceAll('&amp;', '&'));
  expect(form.body).toContain('name="password"');
  expect(form.body).not.toContain(ana.email);
  expect(hidden(form, 'prompt')).toBe('login consent');
  const ben = await environment.newIdentity();
  const offered = await browser.submit(form, { email: ben.email, password });
  codeIn(await browser.submit(offered, { choice: 'later' }));
  codeIn(await browser.get(authorizeUrl(client))); // Ben's from here on
});

test('after the grace the sign-in is refused, on the page and in JSON', async () => {
  const { environment, page, browser, client, ana } = await newArrival();
  codeIn(await browser.submit(page, { choice: 'later' }));
  provider.wait(days(7));
  const next = provider.browser();
  const refused = (await passwordStep(next, client, ana)).page;
  expect(refused.statusCode).toBe(403);
  expect(refused.body).toContain('Ask your administrator');
  const json = { accept: 'application/json', 'content-type': 'application/json' };
  const fields = Object.fromEntries(new URL(authorizeUrl(client), 'http://x').searchParams);
  const told = await provider.app.inject({
    method: 'POST',
    url: '/oauth/authorize',
    headers: json,
    payload: { ...fields, email: ana.email, password },
  });
  expect([told.statusCode, told.json().error]).toEqual([403, 'mfa.enrollment_required']);
  const refusals = await provider.query(
    `select outcome, metadata from events where action = 'auth.identity_sign_in_failed' and resource_id = $1`,
    [ana.id],
  );
  const refusal = { outcome: 'denied', metadata: { method: 'password', reason: 'mfa.enrollment_required' } };
  expect(refusals).toEqual([refusal, refusal]); // a person who asks why they cannot sign in gets the reason

  // It works again after an administrator's reset.
  const { accountId, applicationId, environmentId } = environment;
  await provider.logins.mfaReset({ accountId, applicationId, environmentId }, ana.id);
  expect((await passwordStep(next, client, ana)).page.body).toContain('value="later"');
});

test('a reset removes everything: factors, codes, trust and half-done sign-ins; the person gets a mail', async () => {
  const { environment, client, ana } = await newArrival();
  const totp = await enrollTotp(provider, environment, ana);
  const browser = provider.browser();
  const { page } = await passwordStep(browser, client, ana);
  const { accountId, applicationId, environmentId } = environment;
  const scope = { accountId, applicationId, environmentId };
  await provider.logins.mfaReset(scope, ana.id);
  expect((await browser.submit(page, { code: totp.code() })).statusCode).toBe(400);
  expect(await factorsOf(ana.id)).toEqual([]);
  expect(await provider.logins.recoveryCodes.remaining(scope, ana.id)).toMatchObject({ remaining: 0 });
  expect((await passwordStep(browser, client, ana)).page.body).toContain('name="enrollment_token"');
  const mails = await provider.query(
    `select m.template from emails m join events e on e.id = m.subject_id where e.resource_id = $1 and e.action = 'identity.mfa_reset'`,
    [ana.id],
  );
  expect(mails).toEqual([{ template: 'security-notice' }]);
  const stranger = await newArrival();
  await expect(provider.logins.mfaReset(scope, stranger.ana.id)).rejects.toMatchObject({ code: 'identity.not_found' });
});

test('if the earlier factor is not allowed any more, a later one ends the grace', async () => {
  const { environment, ana, client } = await newArrival();
  const totp = await enrollTotp(provider, environment, ana);
  await provider.query(
    `update environment_settings set mfa_allowed_factors = '{email_otp}' where environment_id = $1`,
    [environment.environmentId],
  );
  provider.wait(2_000); // the process's cache of a client
  const browser = provider.browser();
  const { page } = await passwordStep(browser, client, ana);
  const graces = () => provider.query('select status from mfa_graces where identity_id = $1', [ana.id]);
  expect(await graces()).toEqual([{ status: 'running' }]);
  const choice = await browser.submit(page, { code: totp.code() }); // proved, but not enough
  const sent = await browser.submit(await browser.submit(choice, { factor: 'email_otp' }), {});
  codeIn(await browser.submit(sent, { code: await provider.mailedCode('mfa_enrollment') }));
  expect(await graces()).toEqual([{ status: 'enrolled' }]);
});

test('a client that requests aal2 makes the person enroll first, without a way around', async () => {
  const { page, browser, client, verifier } = await newArrival(
    { mfaPolicy: 'off' },
    { acr_values: 'urn:gatehouse:aal2' },
  );
  expect(page.body).not.toContain('value="later"');
  const insisting = await browser.submit(page, { choice: 'later' });
  expect(insisting.body).toContain('name="enrollment_token"');
  const totp = await browser.submit(insisting, { factor: 'totp' });
  const codes = await browser.submit(totp, { code: totpCode(keyOn(totp), provider.now()) });
  const shown = await browser.get(`/oauth/mfa-enroll-codes${locationOf(codes).search}`);
  expect(await accessOf(client, codeIn(await browser.submit(shown, {})), verifier)).toMatchObject({
    amr: ['pwd', 'otp', 'mfa'],
    acr: 'urn:gatehouse:aal2',
  });
});

test('a mailed code alone cannot enroll an app: it proves the person first, then the app is enrolled', async () => {
  const { page, browser, ana, client } = await newArrival({ mfaAllowedFactors: ['email_otp', 'totp'] });
  const sent = await browser.submit(await browser.submit(page, { factor: 'email_otp' }), {});
  codeIn(await browser.submit(sent, { code: await provider.mailedCode('mfa_enrollment') }));

  const next = provider.browser();
  const { page: challenge, verifier } = await passwordStep(next, client, ana, { acr_values: 'urn:gatehouse:aal2' });
  expect(challenge.body).toContain('action="/oauth/mfa/email-otp/send"');
  expect(challenge.body).not.toContain('name="enrollment_token"');
  const asked = await next.submit(challenge, {});
  const [, resendUrl = ''] = /formaction="([^"]+)" formnovalidate name="again" value="true"/.exec(asked.body) ?? [];
  const resent = await next.post(resendUrl, { ...hiddenFields(asked), code: '', again: 'true' });
  expect(resent.body).toContain('role="status">We sent a new code.');
  const choice = await next.submit(asked, { code: await provider.mailedCode('mfa') });
  expect(choice.body).toContain('name="factor" value="totp"');
  const totp = await next.submit(choice, { factor: 'totp' });
  const done = await next.submit(totp, { code: totpCode(keyOn(totp), provider.now()) });
  expect(await accessOf(client, codeIn(done), verifier)).toMatchObject({
    amr: ['pwd', 'otp', 'mfa'],
    acr: 'urn:gatehouse:aal2',
  });
});

test('enrolling and removing are events with a mail that says what and where; the last factor’s removal deletes the codes', async () => {
  const { environment, ana } = await newArrival({ mfaPolicy: 'optional' });
  await enrollTotp(provider, environment, ana);
  const { accountId, applicationId, environmentId } = environment;
  const scope = { accountId, applicationId, environmentId };
  const [factor] = await provider.logins.factors.list(scope, ana.id);
  const person = await strongSession(provider, scope, ana.id);
  await provider.logins.factors.remove(person, factor?.id ?? '');
  await expect(provider.logins.factors.remove(person, factor?.id ?? '')).rejects.toMatchObject({
    code: 'mfa.factor_not_found',
  });
  expect(await provider.logins.recoveryCodes.remaining(scope, ana.id)).toEqual({ generation: 1, remaining: 0 });
  const mails = await provider.query<{ action: string; subject_id: string }>(
    `select e.action, m.subject_id from emails m join events e on e.id = m.subject_id
     where m.template = 'security-notice' and e.resource_id = $1 order by e.id`,
    [ana.id],
  );
  expect(mails.map(({ action }) => action)).toEqual(['identity.mfa_enrolled', 'identity.mfa_removed']);
  const subjects = mfaMails({ now: provider.now, baseUrl: provider.baseUrl });
  const texts: string[] = [];
  for (const { subject_id } of mails) {
    const content = await provider.db.transaction('system', (tx) => subjects['security-notice'](tx, subject_id, 'de'));
    if (!content) throw new Error('nothing to send');
    expect(content.to).toBe(ana.email);
    texts.push((await renderEmail('security-notice', 'de', content.values)).text);
  }
  expect(texts[0]).toContain('Ein zweiter Anmeldeschritt wurde eingerichtet: Authenticator-App.');
  expect(texts[1]).toContain('Ein zweiter Anmeldeschritt wurde entfernt: Authenticator-App.');
  expect(texts[1]).toContain('Acme');
  expect(texts[1]).toContain('ändern Sie sofort Ihr Passwort und');
});

test.each<[string, Partial<EnvironmentSettings>, boolean]>([
  ['with a password', {}, true],
  ['without a password, in an Environment without password login', { passwordLoginEnabled: false }, false],
])('mails to a person who signs in %s advise only what that person can do', async (_name, settings, hasPassword) => {
  const { environment, ana } = await newArrival({ mfaPolicy: 'optional', ...settings });
  await enrollTotp(provider, environment, ana);
  const { logins } = provider;
  await logins.emailFactor.send(environment, 'mfa_enrollment', { identityId: ana.id, flow: 'flow', locale: 'en' });
  const mails = await provider.query<{ template: 'security-notice' | 'factor-code'; subject_id: string }>(
    `select template, subject_id from emails where environment_id = $1`,
    [environment.environmentId],
  );
  const notices = mfaMails({ now: provider.now, baseUrl: provider.baseUrl });
  const codes = loginMails(provider);
  const said: string[] = [];
  for (const { template, subject_id } of mails) {
    const content = await provider.db.transaction('system', async (tx) =>
      template === 'factor-code' ? codes[template](tx, subject_id, 'en') : notices[template](tx, subject_id, 'en'),
    );
    said.push((await renderEmail(template, 'en', content?.values as never)).text.replace(/\s+/g, ' '));
  }
  expect(said).toHaveLength(2);
  for (const text of said) expect(text.includes('change your password')).toBe(hasPassword);
  expect(said.some((text) => text.includes('sign out everywhere else in your account at once'))).toBe(!hasPassword);
  expect(said.some((text) => text.includes('how you sign in: tell the team of Acme.'))).toBe(!hasPassword);
});

test('another account or another person cannot see or remove a factor', async () => {
  const { environment, ana } = await newArrival();
  const other = await newArrival();
  await enrollTotp(provider, environment, ana);
  const scopeOf = ({ accountId, applicationId, environmentId }: typeof environment) => ({
    accountId,
    applicationId,
    environmentId,
  });
  const [factor] = await provider.logins.factors.list(scopeOf(environment), ana.id);
  const { factors } = provider.logins;
  const removing = (person: OwnProofOf) => factors.remove(person, factor?.id ?? '');
  const own = await strongSession(provider, environment, ana.id);
  for (const [scope, id] of [
    [scopeOf(other.environment), ana.id],
    [scopeOf(environment), other.ana.id],
  ] as const) {
    expect(await factors.list(scope, id)).toEqual([]);
    const foreign = removing({ ...own, ...scope, identityId: id });
    await expect(foreign).rejects.toMatchObject({ code: 'auth.invalid_credentials' });
  }
  const neighbour = await environment.newIdentity();
  for (const [scope, id] of [
    [other.environment, other.ana.id],
    [environment, neighbour.id],
  ] as const) {
    const theirs = removing(await strongSession(provider, scope, id));
    await expect(theirs).rejects.toMatchObject({ code: 'mfa.factor_not_found' });
  }
  expect(await factors.list(own, ana.id)).toHaveLength(1);
});

test('a script enrolls an app without a page', async () => {
  const { environment, client } = await newArrival();
  const ben = await environment.newIdentity();
  const parameters = Object.fromEntries(new URL(authorizeUrl(client), 'http://x').searchParams);
  const headers = { accept: 'application/json', 'content-type': 'application/json' };
  const send = (url: string, fields: object) =>
    provider.app.inject({ method: 'POST', url, headers, payload: { ...parameters, ...fields } });
  const asked = (await send('/oauth/authorize', { email: ben.email, password })).json();
  expect(asked).toMatchObject({
    error: 'mfa_enrollment_required',
    factors: ['totp', 'webauthn', 'email_otp'],
    grace_expires_at: new Date(provider.now().getTime() + days(7)).toISOString(),
  });
  const { enrollment_token } = asked;
  const begun = (await send('/oauth/mfa/enroll', { enrollment_token, factor: 'totp' })).json();
  expect(begun.otpauth_uri).toContain(begun.secret);
  const { secret, totp_token } = begun;
  const wrong = await send('/oauth/mfa/totp/enroll', { enrollment_token, totp_token, code: '000000' });
  expect([wrong.statusCode, wrong.json()]).toMatchObject([
    401,
    {
      error: 'access_denied',
      error_description: expect.stringMatching(/^That code is not right\./),
      reason: 'mfa_enroll_totp.error',
      secret,
    },
  ]);
  const code = totpCode(secret, provider.now());
  const { redirect_to } = (await send('/oauth/mfa/totp/enroll', { enrollment_token, totp_token, code })).json();
  const codes = await provider.app.inject({ url: redirect_to, headers: { accept: 'application/json' } });
  expect(codes.json().recovery_codes).toHaveLength(10);
  const shown = await provider.app.inject({ url: redirect_to, headers: { accept: 'application/json' } });
  expect([shown.statusCode, shown.json().error, shown.json().recovery_codes]).toEqual([400, 'shown', null]);
  const done = await send('/oauth/mfa-enroll-codes', { enrollment_token });
  expect(done.json().redirect_to).toMatch(/^https:\/\/app\.example\.com\/callback\?tenant=1&code=/);
  const over = await send('/oauth/mfa/enroll', { enrollment_token, factor: 'totp' });
  expect([over.statusCode, over.json().error]).toEqual([400, 'expired']);
});

test('a script enrolls its address without a page', async () => {
  const { client, ana } = await newArrival({ mfaAllowedFactors: ['email_otp'] });
  const parameters = Object.fromEntries(new URL(authorizeUrl(client), 'http://x').searchParams);
  const headers = { accept: 'application/json', 'content-type': 'application/json' };
  const send = (url: string, fields: object) =>
    provider.app.inject({ method: 'POST', url, headers, payload: { ...parameters, ...fields } });
  const { enrollment_token } = (await send('/oauth/authorize', { email: ana.email, password })).json();
  const sent = await send('/oauth/mfa/email-otp/enroll/send', { enrollment_token });
  expect(sent.json()).toEqual({ enrollment_token: expect.any(String), code_sent: true });
  const verify = (code: string) => send('/oauth/mfa/email-otp/enroll/verify', { enrollment_token, code });
  const code = await provider.mailedCode('mfa_enrollment');
  const wrong = await verify(code === '111111' ? '222222' : '111111');
  expect([wrong.statusCode, wrong.json()]).toEqual([
    401,
    {
      error: 'access_denied',
      error_description: expect.stringMatching(/^That code is not right,/),
      reason: 'mfa_challenge.error.email_otp',
      enrollment_token: expect.any(String),
      code_sent: true,
    },
  ]);
  expect((await verify(code)).json().redirect_to).toMatch(/^https:\/\/app\.example\.com\/callback/);
});

test('malformed requests are refused without a server error', async () => {
  const { page } = await newArrival();
  const enrollment_token = hidden(page, 'enrollment_token');
  const odd = [
    '\u0000',
    'x'.repeat(50_000),
    ['a', 'b'],
    { a: 1 },
    7,
    true,
    null,
    '\ud800',
    'test.AAAA',
    '.',
    '__proto__',
  ];
  const names = ['factor', 'choice', 'code', 'totp_token', 'enrollment_token', 'client_id', 'ui_locales'];
  const headers = { accept: 'text/html', 'content-type': 'application/json' };
  for (const url of [
    '/oauth/mfa/enroll',
    '/oauth/mfa/totp/enroll',
    '/oauth/mfa/email-otp/enroll/send',
    '/oauth/mfa/email-otp/enroll/verify',
    '/oauth/mfa-enroll-codes',
  ]) {
    for (const name of names) {
      for (const value of odd) {
        const payload = JSON.stringify({ enrollment_token, [name]: value });
        const { statusCode } = await provider.app.inject({ method: 'POST', url, headers, payload });
        expect([url, name, value, statusCode < 500]).toEqual([url, name, value, true]);
      }
    }
  }
  for (const value of odd) {
    const url = `/oauth/mfa-enroll-codes?codes_token=${encodeURIComponent(String(value).replaceAll('\ud800', '?'))}`;
    expect((await provider.app.inject(url)).statusCode).toBe(400);
  }
});
