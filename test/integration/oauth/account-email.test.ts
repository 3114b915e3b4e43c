import { afterAll, beforeEach, expect, test } from '@jest/globals';
import { minutes } from '../../../src/platform/clock.js';
import { accountUrl, noticeOf, openAccount, send } from '../../support/account.js';
import { waitingMails } from '../../support/identity-mails.js';
import { alertOf, enrollTotp } from '../../support/mfa.js';
import { type Browser, locationOf } from '../../support/oauth/browser.js';
import type { TestClient, TestEnvironment, TestIdentity } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';

let environment: TestEnvironment;
let client: TestClient;
let ana: TestIdentity;
let wanted: string;
let laptop: Browser;

const world = await newProvider();
afterAll(() => world.close());
beforeEach(async () => {
  environment = await world.newEnvironment({ allowEmailChange: true });
  client = await environment.newClient();
  ana = await environment.newIdentity();
  wanted = `new-${ana.email}`;
  laptop = world.browser();
});

const url = (more: Record<string, string> = {}) => accountUrl(client, more, '/email');
const open = (browser = laptop, more: Record<string, string> = {}) => openAccount(browser, url(more), ana);
const mailedCode = () => world.mailedCode('email_change');
const emailNow = async () =>
  (await world.query<{ email: string }>('select email::text from identities where id = $1', [ana.id]))[0]?.email;
const mails = async () =>
  (await waitingMails(world, environment.environmentId)).map(({ template, to, locale }) => [template, to, locale]);
const allow = (isOn: boolean) =>
  world.query('update environment_settings set allow_email_change = $2 where environment_id = $1', [
    environment.environmentId,
    isOn,
  ]);

test('a person changes their address, and is signed out everywhere else', async () => {
  const phone = world.browser();
  await openAccount(phone, accountUrl(client), ana);
  const overview = await openAccount(laptop, accountUrl(client), ana);
  expect(overview.body).toContain('aria-label="Change: Email"');
  const form = await open();
  expect(form.body).toContain(ana.email);
  const sent = await laptop.submit(form, { email: `  ${wanted} ` });
  expect(sent.statusCode).toBe(200);
  expect(sent.body).toContain(`We sent an email to ${wanted}.`);
  expect(await emailNow()).toBe(ana.email);
  const wrong = await laptop.submit(sent, { code: '12' });
  expect([wrong.statusCode, alertOf(wrong)]).toEqual([400, expect.stringContaining('That code is not right')]);
  expect(wrong.body).toContain(wanted);
  const done = await laptop.submit(wrong, { code: await mailedCode() });
  const page = await laptop.get(locationOf(done).pathname + locationOf(done).search, {
    'sec-fetch-site': 'same-origin',
  });
  expect(noticeOf(page)).toBe('Your email address is changed, and you are signed out everywhere else.');
  expect(page.body).toContain(`Ana Arendt · ${wanted}`);
  expect(await emailNow()).toBe(wanted);
  expect((await phone.get(accountUrl(client))).statusCode).toBe(303);
  expect(await mails()).toEqual([['identity-email-changed', ana.email, 'en']]);
});

test('the page looks the same for an address that somebody has, apart from the address', async () => {
  const owner = await environment.newIdentity();
  const form = await open();
  const [taken, free] = [
    await laptop.submit(form, { email: owner.email }),
    await laptop.submit(form, { email: wanted }),
  ];
  const shape = (body: string) =>
    body
      .replaceAll(owner.email, '@')
      .replaceAll(wanted, '@')
      .replace(/nonce(="|-)[^"']+/g, 'nonce');
  expect(shape(taken.body)).toBe(shape(free.body));
  expect(await mails()).toEqual([
    ['identity-email-taken', owner.email, 'en'],
    ['security-notice', ana.email, 'en'],
    ['identity-email-code', wanted, 'en'],
    ['security-notice', ana.email, 'en'],
  ]);
});

test('the code is in the language of the page, and the warning in that of the environment', async () => {
  const form = await open(laptop, { ui_locales: 'de' });
  expect(form.body).toContain('Neue E-Mail-Adresse');
  await laptop.submit(form, { email: wanted });
  expect(await mails()).toEqual([
    ['identity-email-code', wanted, 'de'],
    ['security-notice', ana.email, 'en'],
  ]);
});

test('another code replaces the first', async () => {
  const sent = await laptop.submit(await open(), { email: wanted });
  const first = await mailedCode();
  const again = await laptop.submit(sent, { again: 'true' });
  expect(again.body).toContain('We sent a new code.');
  const second = await mailedCode();
  if (first !== second) expect((await laptop.submit(again, { code: first })).statusCode).toBe(400);
  expect((await laptop.submit(again, { code: second })).statusCode).toBe(303);
});

test.each([
  ['their own address', () => ana.email, 409, 'That is your current address. Enter the new one.'],
  ['no address', () => 'nonsense', 400, 'Enter an email address, such as ana@example.com.'],
  ['nothing', () => '', 400, 'Enter an email address, such as ana@example.com.'],
])('for %s the form is shown again with the reason', async (_, typed, status, reason) => {
  const page = await laptop.submit(await open(), { email: typed() });
  expect([page.statusCode, alertOf(page)]).toEqual([status, reason]);
  expect(page.body).toContain('name="email" type="email"');
  expect(await mails()).toEqual([]);
});

test('an address that somebody got meanwhile is explained, and the form for another one shown', async () => {
  const sent = await laptop.submit(await open(), { email: wanted });
  await environment.newIdentity({ email: wanted });
  const page = await laptop.submit(sent, { code: await mailedCode() });
  expect([page.statusCode, alertOf(page)]).toEqual([409, expect.stringContaining('so it cannot become yours')]);
  expect(await emailNow()).toBe(ana.email);
});

test('it takes a recent sign-in, with the second factor; a code may come later', async () => {
  const form = await open();
  world.wait(minutes(11));
  const away = await laptop.submit(form, { email: wanted });
  expect([away.statusCode, locationOf(away).pathname]).toEqual([303, '/oauth/authorize']);
  expect(await mails()).toEqual([]);
  const sent = await laptop.submit(await open(), { email: wanted });
  world.wait(minutes(9));
  expect((await laptop.submit(sent, { code: await mailedCode() })).statusCode).toBe(303);
  expect(await emailNow()).toBe(wanted);
  await enrollTotp(world, environment, ana);
  const weak = await laptop.get(url());
  expect(locationOf(weak).searchParams.get('acr_values')).toBe('urn:gatehouse:aal2');
});

test('it is an unknown page where it is not allowed, also for a form that was opened before', async () => {
  const form = await open();
  const sent = await laptop.submit(form, { email: wanted });
  await allow(false);
  expect((await laptop.get(url())).statusCode).toBe(404);
  expect((await laptop.submit(form, { email: wanted })).statusCode).toBe(404);
  expect((await laptop.submit(sent, { code: await mailedCode() })).statusCode).toBe(404);
  const overview = await openAccount(laptop, accountUrl(client), ana);
  expect(overview.body).not.toContain('/oauth/account/email');
  expect(await emailNow()).toBe(ana.email);
});

test('whose address an organization manages is told so on the overview', async () => {
  await openAccount(laptop, accountUrl(client), ana);
  await world.query(
    `insert into sso_domains (id, account_id, domain, token, status, claimed_by_type, claimed_by, created_at, started_at)
     values (gen_random_uuid(), $1, 'example.com', 'token', 'verified', 'platform_admin', gen_random_uuid(), now(), now())`,
    [environment.accountId],
  );
  const away = await laptop.get(url());
  const page = await laptop.get(locationOf(away).pathname + locationOf(away).search);
  expect(noticeOf(page)).toBe(
    'An organization manages your email address, so you cannot change it here. Nothing was changed.',
  );
  expect(page.body).not.toContain('/oauth/account/email');
  const script = await laptop.get(url(), { accept: 'application/json' });
  expect([script.statusCode, script.json().error]).toEqual([403, 'email_change.managed']);
});

test('an address in a domain that was verified is refused on the form', async () => {
  const form = await open();
  await world.query(
    `insert into sso_domains (id, account_id, domain, token, status, claimed_by_type, claimed_by, created_at, started_at)
     values (gen_random_uuid(), $1, 'acme.example', 'token', 'verified', 'platform_admin', gen_random_uuid(), now(), now())`,
    [environment.accountId],
  );
  const page = await laptop.submit(form, { email: 'ana@acme.example' });
  expect([page.statusCode, alertOf(page)]).toEqual([403, expect.stringContaining('An organization manages')]);
});

test('only the person to whom the page was shown, and only from a page of ours', async () => {
  const form = await open();
  const foreign = await send(laptop, form, 'email', { email: wanted }, { origin: 'https://evil.example' });
  expect(foreign.statusCode).toBe(403);
  const ben = await environment.newIdentity();
  const desk = world.browser();
  await openAccount(desk, accountUrl(client), ben);
  const changed = await send(desk, form, 'email', { email: wanted });
  expect(locationOf(changed).searchParams.get('done')).toBe('session_changed');
  expect(await mails()).toEqual([]);
});

test('a script gets JSON', async () => {
  const form = await open();
  const json = { accept: 'application/json' };
  expect((await laptop.get(url(), json)).json()).toEqual({ email: ana.email, sent: false });
  expect((await laptop.submit(form, { email: wanted }, json)).json()).toEqual({ email: wanted, sent: true });
  const wrong = await laptop.submit(form, { code: '1' }, json);
  expect([wrong.statusCode, wrong.json().error]).toEqual([400, 'email_change.code_invalid']);
  const none = await laptop.submit(form, { email: '' }, json);
  expect([none.statusCode, none.json().error]).toEqual([400, 'validation.failed']);
});

test('an address gets three codes an hour: then the page says when to try again, and still accepts the latest code', async () => {
  const limited = await newProvider({ rateLimits: true, beside: world });
  limited.wait(world.now().getTime() - limited.now().getTime()); // other tests have moved the clock
  try {
    const desk = limited.browser();
    const form = await open(desk);
    let page = await desk.submit(form, { email: wanted });
    for (let i = 0; i < 2; i++) page = await desk.submit(page, { again: 'true' });
    const reason = expect.stringMatching(/^Too many codes were requested\. Try again in (1 hour|\d+ minutes)\.$/);
    const unsent = await desk.submit(form, { email: wanted });
    expect([unsent.statusCode, alertOf(unsent)]).toEqual([429, reason]);
    expect(unsent.body).toMatch(
      new RegExp(`id="email"[^>]* value="${wanted}"[^>]* autofocus aria-describedby="message">`),
    );
    const refused = await desk.submit(page, { again: 'true' });
    expect([refused.statusCode, alertOf(refused)]).toEqual([429, reason]);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(3_000);
    expect(refused.body).toMatch(/<input id="code"[^>]* autofocus aria-describedby="message">/);
    const script = await desk.submit(page, { again: 'true' }, { accept: 'application/json' });
    expect([script.statusCode, script.json().error]).toEqual([429, 'rate_limit.exceeded']);
    expect((await desk.submit(refused, { code: await mailedCode() })).statusCode).toBe(303);
    expect(await emailNow()).toBe(wanted);
  } finally {
    await limited.close();
  }
});
