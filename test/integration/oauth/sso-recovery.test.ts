import type { Identity } from '../../../entities/identity.js';
import { createHashing } from '../../../src/domain/passwords/hashing.js';
import { createSsoRecoveryCodes } from '../../../src/domain/sso-connections/recovery-codes.js';
import { minutes } from '../../../src/platform/clock.js';
import { cheapCodes } from '../../support/cheap-codes.js';
import { alertOf, codeIn, enrollTotp, hidden, passwordStep } from '../../support/mfa.js';
import type { TestClient, TestEnvironment } from '../../support/oauth/environment.js';
import { newProvider, type TestProvider } from '../../support/oauth/provider.js';
import { authorizeUrl } from '../../support/oauth/sign-in.js';
import { newOrganization } from '../../support/organizations.js';
import { newOidcConnection } from '../../support/sso.js';

let world: TestProvider;
let environment: TestEnvironment;
let client: TestClient;
beforeAll(async () => {
  world = await newProvider();
  environment = await world.newEnvironment({ mfaPolicy: 'optional' });
  client = await environment.newClient();
});
afterAll(() => world.close());

const provider = { issuer: 'https://127.0.0.1:1', clientId: 'gatehouse', clientSecret: 'secret' };

/** Creates a member of an organization that requires its provider, which is down, with recovery codes for that. */
async function newMember(
  status: 'active' | 'auto_disabled' = 'auto_disabled',
  before: (person: Pick<Identity, 'email'>) => Promise<void> = async () => {},
) {
  const person = await environment.newIdentity();
  await before(person);
  const policy = { require_sso: true };
  const organization = await newOrganization(world, environment, { policy, members: [person] });
  const overrides = { organizationId: organization.id, status };
  const connection = await newOidcConnection(world, environment, provider, overrides);
  const { accountId, applicationId, environmentId } = environment;
  const codes = createSsoRecoveryCodes({ db: world.db, passwords: createHashing(cheapCodes), now: world.now });
  const set = await codes.renew({ accountId, applicationId, environmentId }, organization.id);
  return { person, organization, connection, codes: set.codes as [string, ...string[]] };
}
const recover = (browser: ReturnType<TestProvider['browser']>, page: Parameters<typeof alertOf>[0], code: string) =>
  browser.submit(page, { recovery_code: code });

test('a code lets in a member after the first factor, once; the session continues', async () => {
  const { person, organization, connection, codes } = await newMember();
  const browser = world.browser();
  const { page } = await passwordStep(browser, client, person);
  expect(page.statusCode).toBe(403);
  expect(page.body).toContain('action="/oauth/sso/recovery"');
  const wrong = await recover(browser, page, 'AAAA-AAAA-AAAA-AAAA');
  expect([wrong.statusCode, alertOf(wrong)]).toEqual([403, 'This code is wrong or has already been used.']);
  expect(codeIn(await recover(browser, wrong, codes[0].toLowerCase().replaceAll('-', ' ')))).toBeTruthy();
  expect(codeIn(await browser.get(authorizeUrl(client)))).toBeTruthy();
  const events = await world.query(
    `select action, metadata from events where resource_id = $1 and action = 'auth.sso_recovery_code_used'`,
    [person.id],
  );
  expect(events).toEqual([
    expect.objectContaining({ metadata: { organization_id: organization.id, connection_id: connection.id } }),
  ]);
  // Another browser needs another code.
  const other = world.browser();
  const again = (await passwordStep(other, client, person)).page;
  expect((await recover(other, again, codes[0])).statusCode).toBe(403);
  expect(codeIn(await recover(other, again, codes[1] as string))).toBeTruthy();
});

test('codes of an organization without an own connection replace the environment’s, the default or not', async () => {
  const place = await world.newEnvironment();
  const person = await place.newIdentity();
  const policy = { require_sso: true };
  const organization = await newOrganization(world, place, { policy, members: [person] });
  const connection = await newOidcConnection(world, place, provider, { status: 'auto_disabled' });
  const codes = createSsoRecoveryCodes({ db: world.db, passwords: createHashing(cheapCodes), now: world.now });
  const set = await codes.renew(place, organization.id);
  const browser = world.browser();
  const { page } = await passwordStep(browser, await place.newClient(), person);
  expect(codeIn(await recover(browser, page, set.codes[0] as string))).toBeTruthy();
  const [session] = await world.query('select sso_connection_id from sessions where identity_id = $1', [person.id]);
  expect(session).toEqual({ sso_connection_id: connection.id });
});

test('one of eight parallel requests with one code succeeds', async () => {
  const { person, codes } = await newMember();
  const browser = world.browser();
  const { page } = await passwordStep(browser, client, person);
  const all = await Promise.all(Array.from({ length: 8 }, () => recover(world.browser(), page, codes[0])));
  expect(all.filter(({ statusCode }) => statusCode === 303 || statusCode === 302)).toHaveLength(1);
});

test.each(['one after the other', 'at once'])(
  'a form that is sent twice, %s, succeeds twice in its browser',
  async (order) => {
    const { person, codes } = await newMember();
    const browser = world.browser();
    const { page } = await passwordStep(browser, client, person);
    const send = (from = browser) => recover(from, page, codes[0]);
    const both = order === 'at once' ? await Promise.all([send(), send()]) : [await send(), await send()];
    for (const answer of both) expect(codeIn(answer)).toBeTruthy();
    const used = `select from events where resource_id = $1 and action = 'auth.sso_recovery_code_used'`;
    expect(await world.query(used, [person.id])).toHaveLength(1);
    const failed = `select from events where resource_id = $1 and action = 'auth.identity_sign_in_failed'
    and metadata->>'reason' = 'sso_recovery_code_wrong'`;
    expect(await world.query(failed, [person.id])).toEqual([]);
    const stranger = world.browser();
    await passwordStep(stranger, client, (await newMember()).person); // known as another browser from here on
    for (const other of [world.browser(), stranger]) expect((await send(other)).statusCode).toBe(403); // a copy of it
    const again = (await passwordStep(browser, client, person, { prompt: 'login' })).page; // another sign-in
    expect(alertOf(await recover(browser, again, codes[0]))).toBe('This code is wrong or has already been used.');
    world.wait(minutes(1));
    expect((await send()).statusCode).toBe(403);
  },
);

test('a person who has another address by now has to begin again', async () => {
  const { person, codes } = await newMember();
  const browser = world.browser();
  const { page } = await passwordStep(browser, client, person);
  await world.query("update identities set email = 'new-' || email where id = $1", [person.id]);
  const answer = await recover(browser, page, codes[0]);
  expect(answer.headers.location).toBeUndefined();
  expect(await world.query('select from sessions where identity_id = $1', [person.id])).toEqual([]);
});

test('a second factor is required all the same', async () => {
  const { person, codes } = await newMember();
  const totp = await enrollTotp(world, environment, person);
  const browser = world.browser();
  const { page } = await passwordStep(browser, client, person);
  const challenge = await recover(browser, page, codes[0]);
  expect(challenge.body).toContain('action="/oauth/mfa-challenge"');
  expect(codeIn(await browser.submit(challenge, { code: totp.code() }))).toBeTruthy();
});

test('a code of another organization is refused, and a first factor is valid for one sign-in and ten minutes', async () => {
  const [mine, other] = [await newMember(), await newMember()];
  const browser = world.browser();
  const { page } = await passwordStep(browser, client, mine.person);
  expect((await recover(browser, page, other.codes[0])).statusCode).toBe(403);
  const stranger = await environment.newClient();
  const elsewhere = await browser.get(authorizeUrl(stranger));
  const token = hidden(page, 'sso_recovery_token').replaceAll('&#39;', "'");
  const query = new URL(authorizeUrl(stranger), 'http://x').searchParams;
  const moved = await browser.post('/oauth/sso/recovery', {
    ...Object.fromEntries(query),
    sso_recovery_token: token,
    recovery_code: mine.codes[0],
  });
  expect([elsewhere.statusCode, moved.statusCode]).toEqual([200, 400]);
  world.wait(minutes(11));
  expect((await recover(browser, page, mine.codes[0])).statusCode).toBe(400);
});

test('a password change in between ends it, with a message', async () => {
  const { person, codes } = await newMember();
  const browser = world.browser();
  const { page } = await passwordStep(browser, client, person);
  world.wait(minutes(1));
  await world.query('update identities set password_changed_at = $2 where id = $1', [person.id, world.now()]);
  const { statusCode, body } = await recover(browser, page, codes[0]);
  expect([statusCode, body.includes('<form')]).toEqual([400, false]);
  expect(await world.query('select from sessions where identity_id = $1', [person.id])).toEqual([]);
});

test('guesses lock the person whose sign-in it is', async () => {
  const { person, codes } = await newMember();
  const limited = await newProvider({ rateLimits: true, beside: world });
  const browser = limited.browser();
  const { page } = await passwordStep(browser, client, person);
  const statuses: number[] = [];
  for (let i = 0; i < 11; i++) statuses.push((await recover(browser, page, 'AAAA-AAAA-AAAA-AAAA')).statusCode);
  expect(statuses).toContain(403);
  expect(statuses.at(-1)).toBe(429);
  expect((await recover(browser, page, codes[0])).statusCode).toBe(429);
  await limited.close();
});

test('a script gets the token, and continues with it', async () => {
  const { person, codes } = await newMember();
  const browser = world.browser();
  const start = await browser.get(authorizeUrl(client));
  const json = { accept: 'application/json' };
  const barred = await browser.submit(start, { email: person.email, password: 'correct horse battery' }, json);
  expect(barred.json()).toMatchObject({ error: 'sso_required', sso_recovery_token: expect.any(String) });
  const { sso_recovery_token } = barred.json();
  const fields = Object.fromEntries(new URL(authorizeUrl(client), 'http://x').searchParams);
  const context = [...start.body.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)];
  const params = Object.fromEntries(context.map(([, name, value]) => [name, (value ?? '').replaceAll('&amp;', '&')]));
  const done = await browser.post(
    '/oauth/sso/recovery',
    { ...fields, ...params, sso_recovery_token, recovery_code: codes[0] },
    json,
  );
  expect([done.statusCode, done.json().redirect_to]).toEqual([200, expect.stringContaining('code=')]);
});

describe('a sign-in for an organization leads to its provider at once', () => {
  const linkTo = (body: string, method: string) =>
    [...body.matchAll(/href="(\/oauth\/authorize\?[^"]*)"/g)]
      .map(([, url]) => (url as string).replaceAll('&amp;', '&'))
      .find((url) => new URL(url, 'http://x').searchParams.get('method') === method) ?? '';
  const prove = (browser: ReturnType<TestProvider['browser']>, page: Parameters<typeof alertOf>[0], email: string) =>
    browser.submit(page, { email, password: 'correct horse battery' });

  test.each(['active', 'auto_disabled'] as const)(
    'the page of a provider that is down (%s) leads to the recovery code',
    async (status) => {
      const { person, organization, codes } = await newMember(status);
      const client = await environment.newClient(); // another client is cached from before the connection
      const browser = world.browser();
      const failed = await browser.get(authorizeUrl(client, { organization: organization.id }));
      expect(failed.statusCode).toBe(status === 'active' ? 503 : 403);
      expect(linkTo(failed.body, 'password')).toBe('');
      const page = await browser.get(linkTo(failed.body, 'recovery'));
      expect(alertOf(page)).toBe('First confirm who you are. Then we ask for your organization’s recovery code.');
      const barred = await prove(browser, page, person.email);
      // The proof is not enough, and starts no session.
      expect(barred.statusCode).toBe(403);
      expect((await browser.get(authorizeUrl(client, { prompt: 'none' }))).headers.location).toContain(
        'login_required',
      );
      expect(codeIn(await recover(browser, barred, codes[0]))).toBeTruthy();
      expect(codeIn(await browser.get(authorizeUrl(client, { organization: organization.id })))).toBeTruthy();
    },
  );

  test('method=recovery leads to recovery codes, also after a mailed code, and lets in no stranger of the organization', async () => {
    const { organization } = await newMember('active');
    const outsider = await environment.newIdentity();
    const page = await world.browser().get(authorizeUrl(client, { organization: organization.id, method: 'recovery' }));
    const fields = Object.fromEntries(
      [...page.body.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)].map(([, name, value]) => [
        name as string,
        (value as string).replaceAll('&#x2F;', '/'),
      ]),
    );
    const email = outsider.email;
    const sent = await world.browser().post('/oauth/login/email-otp/start', { ...fields, email });
    expect([sent.statusCode, hidden(sent, 'method')]).toEqual([200, 'recovery']);
    const refused = await prove(world.browser(), page, email);
    expect(refused.headers.location).toContain('error=access_denied');
  });

  test('a person whose earlier session is not enough is led to it as well', async () => {
    const browser = world.browser();
    const { person, codes } = await newMember('active', async (member) => {
      expect(codeIn((await passwordStep(browser, client, member)).page)).toBeTruthy();
    });
    const barred = await browser.get(authorizeUrl(client));
    expect(barred.statusCode).toBe(403);
    const page = await browser.get(linkTo(barred.body, 'recovery'));
    expect(codeIn(await recover(browser, await prove(browser, page, person.email), codes[0]))).toBeTruthy();
  });
});
