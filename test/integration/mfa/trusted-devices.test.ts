import { v7 as uuidv7 } from 'uuid';
import type { EnvironmentSettings } from '../../../entities/environment-settings.js';
import { settleNewPassword } from '../../../src/domain/passwords/new-password.js';
import { days, hours } from '../../../src/platform/clock.js';
import { interleaved } from '../../support/interleaving.js';
import { codeIn, enrollTotp, giveFactor, hidden, passwordStep, strongSession } from '../../support/mfa.js';
import type { Browser } from '../../support/oauth/browser.js';
import type { TestEnvironment } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';

const provider = await newProvider();
afterAll(() => provider.close());

/** Creates a person with a trusted browser. */
async function newTrusted(settings: Partial<EnvironmentSettings> = {}, given?: { browser?: Browser }) {
  const environment = await provider.newEnvironment(settings);
  const client = await environment.newClient();
  const ana = await environment.newIdentity();
  const totp = await enrollTotp(provider, environment, ana);
  const browser = given?.browser ?? provider.browser();
  await trust(browser, { client, ana, totp });
  return { environment, client, ana, totp, browser };
}
type Known = Pick<Awaited<ReturnType<typeof newTrusted>>, 'client' | 'ana' | 'totp'>;

async function trust(browser: Browser, { client, ana, totp }: Known) {
  browser.cookies.delete('hosted_session');
  const { page } = await passwordStep(browser, client, ana);
  const answer = await browser.submit(page, { code: totp.code(), remember_device: 'true' });
  provider.wait(30_000);
  codeIn(answer);
  return answer;
}
/** Enrolls email codes as a factor, as the pages do. */
const enrollEmail = (environment: TestEnvironment, { id }: { id: string }) =>
  giveFactor(provider, environment, id, { id: uuidv7(), type: 'email_otp', label: 'Email' });
/** Whether this browser signs in by the password alone. */
async function passes(browser: Browser, { client, ana }: Pick<Known, 'client' | 'ana'>) {
  browser.cookies.delete('hosted_session');
  const { page } = await passwordStep(browser, client, ana);
  return page.statusCode === 303;
}
const cookieOf = (browser: Browser) => browser.cookies.get('trusted_device') ?? '';
const withCookie = (value: string) => {
  const browser = provider.browser();
  browser.cookies.set('trusted_device', value);
  return browser;
};
const scopeOf = ({ accountId, applicationId, environmentId }: TestEnvironment) => ({
  accountId,
  applicationId,
  environmentId,
});

test('the box that was ticked beside a wrong code stays ticked for the next one', async () => {
  const environment = await provider.newEnvironment();
  const [client, ana] = [await environment.newClient(), await environment.newIdentity()];
  await enrollTotp(provider, environment, ana);
  const browser = provider.browser();
  const { page } = await passwordStep(browser, client, ana);
  const ticked = /name="remember_device" value="true" checked/;
  expect(page.body).not.toMatch(ticked);
  const wrong = await browser.submit(page, { code: '000000', remember_device: 'true' });
  expect(wrong.body).toMatch(ticked);
  expect((await browser.submit(page, { code: '000000' })).body).not.toMatch(ticked);
});

test('a ticked box is kept when the person chooses another factor; the typed code is ignored then', async () => {
  const environment = await provider.newEnvironment();
  const [client, ana] = [await environment.newClient(), await environment.newIdentity()];
  await enrollTotp(provider, environment, ana);
  const browser = provider.browser();
  const { page } = await passwordStep(browser, client, ana);
  expect(page.body).toMatch(/ id="answer">/);
  expect(page.body).toMatch(
    /<button [^>]*form="answer" formaction="\/oauth\/mfa-challenge" formnovalidate name="choice" value="recovery_code">/,
  );
  const choose = (choice: string) => browser.submit(page, { code: '00', remember_device: 'true', choice });
  const recovery = await choose('recovery_code');
  expect(recovery.body).toMatch(/name="remember_device" value="true" checked/);
  expect(recovery.body).not.toContain('role="alert"');
  const byMail = await choose('email_otp');
  expect(hidden(byMail, 'remember_device')).toBe('true');
  const sent = await browser.submit(byMail, {});
  expect(sent.body).toMatch(/name="remember_device" value="true" checked/);
  expect(
    await provider.query('select from events where resource_id = $1 and outcome = $2', [ana.id, 'failure']),
  ).toEqual([]);
});

test('a trusted browser needs the password alone, for as long as the Environment says', async () => {
  const known = await newTrusted({ mfaTrustedDeviceDays: 3 });
  expect(await passes(known.browser, known)).toBe(true);
  provider.wait(days(2));
  expect(await passes(known.browser, known)).toBe(true);
  provider.wait(days(1));
  expect(await passes(known.browser, known)).toBe(false);
});

test('the cookie is a secret of this host, equally long-lived, and stored as a hash', async () => {
  const environment = await provider.newEnvironment({ mfaTrustedDeviceDays: 3 });
  const client = await environment.newClient();
  const ana = await environment.newIdentity();
  const totp = await enrollTotp(provider, environment, ana);
  const answer = await trust(provider.browser(), { client, ana, totp });
  const cookie = answer.cookies.find(({ name }) => name === 'trusted_device');
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Lax', path: '/', maxAge: days(3) / 1000 });
  expect(cookie?.value).toMatch(/^[\w-]{43}$/);
  const [row] = await provider.query<{ device_hash: Buffer }>('select * from trusted_devices where identity_id = $1', [
    ana.id,
  ]);
  expect(JSON.stringify(row)).not.toContain(cookie?.value);
  expect(row?.device_hash).toHaveLength(32);
});

test('no browser is trusted if the person did not ask, or the Environment does not allow it', async () => {
  const environment = await provider.newEnvironment({ mfaTrustedDeviceDays: 0 });
  const client = await environment.newClient();
  const ana = await environment.newIdentity();
  const totp = await enrollTotp(provider, environment, ana);
  const browser = provider.browser();
  const { page } = await passwordStep(browser, client, ana);
  expect(page.body).not.toContain('remember_device');
  codeIn(await browser.submit(page, { code: totp.code(), remember_device: 'true' }));
  expect(browser.cookies.has('trusted_device')).toBe(false);

  const asked = await newTrusted();
  const other = provider.browser();
  const step = await passwordStep(other, asked.client, asked.ana);
  codeIn(await other.submit(step.page, { code: asked.totp.code(), remember_device: 'no' }));
  expect(other.cookies.has('trusted_device')).toBe(false);
});

test('a wrong code does not make the browser trusted', async () => {
  const { client, ana } = await newTrusted();
  const browser = provider.browser();
  const { page } = await passwordStep(browser, client, ana);
  await browser.submit(page, { code: '000000', remember_device: 'true' });
  expect(browser.cookies.has('trusted_device')).toBe(false);
});

test('a code by mail that is not enough for the client’s request trusts no browser yet', async () => {
  const environment = await provider.newEnvironment();
  const client = await environment.newClient();
  const ana = await environment.newIdentity();
  await enrollEmail(environment, ana);
  const browser = provider.browser();
  const { page } = await passwordStep(browser, client, ana, { acr_values: 'urn:gatehouse:aal2' });
  const sent = await browser.submit(page, {});
  const code = await provider.mailedCode('mfa');
  const next = await browser.submit(sent, { code, remember_device: 'true' });
  expect(next.body).toContain('action="/oauth/mfa/enroll"');
  expect(cookieOf(browser)).toBe('');
  const later = await browser.submit((await passwordStep(browser, client, ana)).page, {});
  codeIn(await browser.submit(later, { code: await provider.mailedCode('mfa'), remember_device: 'true' }));
  expect(cookieOf(browser)).not.toBe('');
});

test("forged, foreign, other people's and other Environments' cookies have no effect", async () => {
  const ana = await newTrusted();
  const ben = await newTrusted();
  const carl = await ana.environment.newIdentity();
  await enrollTotp(provider, ana.environment, carl);
  for (const value of ['x'.repeat(43), cookieOf(ben.browser), '', 'short', `${cookieOf(ana.browser)}x`]) {
    expect(await passes(withCookie(value), ana)).toBe(false);
  }
  expect(await passes(ana.browser, { client: ana.client, ana: carl })).toBe(false);
  expect(await passes(ana.browser, ana)).toBe(true);
});

test('several people and Environments can trust one browser; each trust creates a new cookie', async () => {
  const ana = await newTrusted();
  const first = cookieOf(ana.browser);
  const ben = await newTrusted({}, ana);
  expect(cookieOf(ana.browser)).not.toBe(first);
  expect(await passes(ana.browser, ana)).toBe(true);
  expect(await passes(ben.browser, ben)).toBe(true);
  expect(await passes(withCookie(first), ana)).toBe(false); // a planted old value gains nothing
});

test('the use of a trusted browser is recorded once an hour', async () => {
  const known = await newTrusted();
  const used = async () =>
    (await provider.logins.trustedDevices.list(scopeOf(known.environment), known.ana.id))[0][0]?.lastUsedAt.getTime();
  const trusted = await used();
  provider.wait(hours(1) / 2);
  await passes(known.browser, known);
  expect(await used()).toBe(trusted);
  provider.wait(hours(1) / 2);
  await passes(known.browser, known);
  expect(await used()).toBe(provider.now().getTime());
});

test('a step-up asks a trusted browser too, and its session says what was proved', async () => {
  const known = await newTrusted();
  const aal2 = { acr_values: 'urn:gatehouse:aal2' };
  known.browser.cookies.delete('hosted_session');
  const { page } = await passwordStep(known.browser, known.client, known.ana, aal2);
  expect(page.body).toContain('name="challenge_token"');
});

test.each<[string, (known: Awaited<ReturnType<typeof newTrusted>>) => Promise<unknown>]>([
  [
    'one device is forgotten',
    async ({ environment, ana }) => {
      const [[device]] = await provider.logins.trustedDevices.list(scopeOf(environment), ana.id);
      await provider.logins.trustedDevices.revoke(scopeOf(environment), ana.id, device?.id ?? '');
    },
  ],
  [
    'a factor is removed',
    async ({ environment, ana }) => {
      await enrollTotp(provider, environment, ana);
      const [factor] = await provider.logins.factors.list(scopeOf(environment), ana.id);
      await provider.logins.factors.remove(await strongSession(provider, environment, ana.id), factor?.id ?? '');
    },
  ],
  [
    'the password is changed',
    ({ environment, ana }) =>
      provider.db.transaction({ accountId: environment.accountId }, (tx) =>
        settleNewPassword(
          tx,
          { ...scopeOf(environment), identityId: ana.id, membershipId: null },
          { passwordHash: String(ana.passwordHash), method: 'change', provesEmail: false, now: provider.now() },
        ),
      ),
  ],
])('trust ends when %s', async (_, happens) => {
  const known = await newTrusted();
  expect(await passes(known.browser, known)).toBe(true);
  await happens(known);
  expect(await passes(known.browser, known)).toBe(false);
});

test('all devices are forgotten once, including those trusted by then, if a person asks twice or trusts one meanwhile', async () => {
  const { trustedDevices } = provider.logins;
  for (let at = 2; at <= 5; at++) {
    const { environment, ana } = await newTrusted();
    const scope = scopeOf(environment);
    const trustAnother = { identityId: ana.id, days: 30, device: null, userAgent: null };
    const forget = () => trustedDevices.revokeAll(scope, ana.id);
    const another = () => trustedDevices.trust(scope, trustAnother, provider.db);
    await interleaved(provider.database.ownerUrl, at, forget, forget);
    await another();
    await interleaved(provider.database.ownerUrl, at, forget, another);
    const [left] = await trustedDevices.list(scope, ana.id);
    const told = await provider.query<{ ids: string[] }>(
      `select metadata -> 'device_ids' as ids from events where action = 'auth.trusted_devices_revoked' and resource_id = $1`,
      [ana.id],
    );
    expect([
      at,
      told.flatMap(({ ids }) => ids).length + left.length,
      new Set(told.flatMap(({ ids }) => ids)).size,
    ]).toEqual([at, 3, 3 - left.length]);
  }
});

test('nobody can forget another person’s device', async () => {
  const [ana, ben] = [await newTrusted(), await newTrusted()];
  const [[device]] = await provider.logins.trustedDevices.list(scopeOf(ana.environment), ana.ana.id);
  for (const [environment, id] of [
    [ben.environment, ben.ana.id],
    [ana.environment, ben.ana.id],
    [ben.environment, ana.ana.id],
  ] as const) {
    await expect(
      provider.logins.trustedDevices.revoke(scopeOf(environment), id, device?.id ?? ''),
    ).rejects.toMatchObject({ code: 'mfa.trusted_device_not_found' });
  }
});
