import { randomUUID } from 'node:crypto';
import { afterAll, expect, test } from '@jest/globals';
import type { EnvironmentSettings } from '../../../entities/environment-settings.js';
import { waitingMails } from '../../support/identity-mails.js';
import { lockWaits } from '../../support/lock-waits.js';
import { locationOf } from '../../support/oauth/browser.js';
import type { TestClient, TestEnvironment } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';
import { authorizeUrl } from '../../support/oauth/sign-in.js';
import { until } from '../../support/until.js';

const world = await newProvider();
afterAll(() => world.close());

const passwordless = (more: Partial<EnvironmentSettings> = {}) =>
  world.newEnvironment({ passwordLoginEnabled: false, emailOtpLoginEnabled: true, allowSelfSignup: true, ...more });
const newAddress = () => `new-${randomUUID()}@example.com`;

async function asked(of: TestClient, email: string) {
  const browser = world.browser();
  const sent = await browser.submit(await browser.get(authorizeUrl(of)), { email });
  return { browser, sent };
}
/** Requests a code and enters it. */
async function entered(of: TestClient, email: string) {
  const { browser, sent } = await asked(of, email);
  return browser.submit(sent, { code: await world.mailedCode('login') });
}
const identitiesOf = ({ accountId }: TestEnvironment, email: string) =>
  world.query<{ id: string; email: string; email_verified_at: Date | null; password_hash: string | null }>(
    'select * from identities where account_id = $1 and email = $2',
    [accountId, email],
  );
const membershipsOf = ({ environmentId }: TestEnvironment) =>
  world.query<{ identity_id: string; is_active: boolean }>(
    'select identity_id, is_active from environment_memberships where environment_id = $1',
    [environmentId],
  );
const isSignedIn = (page: Awaited<ReturnType<typeof entered>>) =>
  page.statusCode === 303 && locationOf(page).searchParams.has('code');

test('the first right code of an unknown address creates its identity, confirmed and a member; a wrong one does not', async () => {
  const environment = await passwordless();
  const client = await environment.newClient();
  const email = newAddress();
  const { browser, sent } = await asked(client, email);
  expect(sent.body).toContain(`If ${email} can sign in here, a code is on its way.`);
  expect(await identitiesOf(environment, email)).toEqual([]);
  expect(await waitingMails(world, environment.environmentId)).toMatchObject([
    { to: email, values: { first_name: email.split('@')[0] } },
  ]);
  const code = await world.mailedCode('login');
  const wrong = await browser.submit(sent, { code: code === '000000' ? '000001' : '000000' });
  expect(wrong.body).toContain('That code is not right');
  expect(await identitiesOf(environment, email)).toEqual([]);

  expect(isSignedIn(await browser.submit(sent, { code }))).toBe(true);
  const [made] = await identitiesOf(environment, email);
  expect(made).toMatchObject({ email, email_verified_at: world.now(), password_hash: null });
  expect(await membershipsOf(environment)).toEqual([{ identity_id: made?.id, is_active: true }]);
  const created = (await world.events('identity.created')).filter(({ resource_id }) => resource_id === made?.id);
  expect(created).toHaveLength(1);

  expect(isSignedIn(await entered(client, email.toUpperCase()))).toBe(true);
  expect(await membershipsOf(environment)).toHaveLength(1);
});

test('an address beyond the limits of RFC 5321 gets no code, and the usual answer', async () => {
  const environment = await passwordless();
  const { sent } = await asked(await environment.newClient(), 'x@1.2.3.4');
  expect(sent.body).toContain('If x@1.2.3.4 can sign in here, a code is on its way.');
  expect(await waitingMails(world, environment.environmentId)).toEqual([]);
});

test('codes that are entered at the same time create one identity, and both sign in', async () => {
  const environment = await passwordless();
  const client = await environment.newClient();
  const email = newAddress();
  const waiting = [];
  for (let i = 0; i < 4; i++) {
    waiting.push({ ...(await asked(client, email)), code: await world.mailedCode('login') });
  }
  const done = await Promise.all(waiting.map(({ browser, sent, code }) => browser.submit(sent, { code })));
  expect(done.map(isSignedIn)).toEqual([true, true, true, true]);
  expect(await identitiesOf(environment, email)).toHaveLength(1);
  expect(await membershipsOf(environment)).toHaveLength(1);
  const [day] = await world.query('select count from daily_sign_ups where environment_id = $1', [
    environment.environmentId,
  ]);
  expect(day).toEqual({ count: 1 });
});

test('the day’s cap counts exactly; the page that promises a code does not reveal it, only a right code learns of it', async () => {
  const environment = await passwordless({ dailySelfSignupCap: 2 });
  const client = await environment.newClient();
  const waiting = [];
  for (let i = 0; i < 5; i++) {
    waiting.push({ ...(await asked(client, newAddress())), code: await world.mailedCode('login') });
  }
  const done = await Promise.all(waiting.map(({ browser, sent, code }) => browser.submit(sent, { code })));
  expect(done.filter(isSignedIn)).toHaveLength(2);
  expect(done.filter(({ body }) => body.includes('No more accounts can be created here today.'))).toHaveLength(3);
  expect(await membershipsOf(environment)).toHaveLength(2);
  const refused = await world.query(
    `select outcome, metadata from events where environment_id = $1 and action = 'auth.sign_up_refused'`,
    [environment.environmentId],
  );
  expect(refused).toEqual(Array(3).fill({ outcome: 'denied', metadata: { reason: 'sign_up.daily_cap_reached' } }));
  const late = await asked(client, newAddress());
  expect(late.sent.body).toContain('a code is on its way');

  const known = await environment.newIdentity(); // the cap does not apply to them
  expect(isSignedIn(await entered(client, known.email))).toBe(true);
});

test('an identity of the Account joins; a deactivated member does not come back', async () => {
  const environment = await passwordless();
  const client = await environment.newClient();
  const elsewhere = await environment.newIdentity({ isMember: false, emailVerifiedAt: null });
  expect(isSignedIn(await entered(client, elsewhere.email))).toBe(true);
  const [joined] = await identitiesOf(environment, elsewhere.email);
  expect(joined).toMatchObject({ id: elsewhere.id, email_verified_at: world.now() });
  expect(await membershipsOf(environment)).toEqual([{ identity_id: elsewhere.id, is_active: true }]);
  const verified = await environment.newIdentity({ isMember: false });
  expect(isSignedIn(await entered(client, verified.email))).toBe(true);
  const told = async (action: string) => {
    const events = await world.query<{ resource_id: string; metadata: object }>(
      'select resource_id, metadata from events where environment_id = $1 and action = $2 order by created_at',
      [environment.environmentId, action],
    );
    return events.map(({ resource_id: id, metadata }) => [id, metadata]);
  };
  expect(await told('identity.email_verified')).toEqual([[elsewhere.id, { method: 'email_otp' }]]);
  const how = { joined: true, signed_up: true };
  expect(await told('identity.created')).toEqual([
    [elsewhere.id, how],
    [verified.id, how],
  ]);

  const gone = await environment.newIdentity({ isActive: false });
  const page = await entered(client, gone.email);
  expect(page.statusCode).toBe(200);
  expect(page.body).toContain('That code is not right');
  const mails = await waitingMails(world, environment.environmentId);
  expect(mails.map(({ to }) => to)).not.toContain(gone.email);
});

test('nobody joins while their erasure is under way', async () => {
  const environment = await passwordless();
  const client = await environment.newClient();
  const { id, email } = await environment.newIdentity({ isMember: false });
  await environment.beginErasure(id);
  const page = await entered(client, email);
  expect(page.body).toContain('That code is not right');
  expect(await membershipsOf(environment)).toEqual([]);
});

test('a person who became a member while their code was on its way signs in by it, unless deactivated since', async () => {
  for (const isActive of [true, false]) {
    const environment = await passwordless();
    const { browser, sent } = await asked(
      await environment.newClient(),
      `new-${environment.environmentId}@example.com`,
    );
    const code = await world.mailedCode('login');
    await environment.newIdentity({ email: `new-${environment.environmentId}@example.com`, isActive });
    expect(isSignedIn(await browser.submit(sent, { code }))).toBe(isActive);
    expect(await membershipsOf(environment)).toMatchObject([{ is_active: isActive }]);
  }
});

test.each([
  ['a member at the same moment signs in', true],
  ['an identity of the Account, but no member, at the same moment joins', false],
])('a person who is made %s', async (_, isMember) => {
  const environment = await passwordless();
  const email = newAddress();
  const { browser, sent } = await asked(await environment.newClient(), email);
  const code = await world.mailedCode('login');
  const faster = await environment.newIdentity({ isMember });
  const waiting = () => lockWaits(world.database.ownerUrl, 'insert into%identities%');
  let entering: ReturnType<typeof entered> | undefined;
  let page: Awaited<typeof entering>;
  await world.db.transaction({ accountId: environment.accountId }, async (tx) => {
    await tx.query('update identities set email = $2 where id = $1', [faster.id, email]); // invisible until it commits
    entering = browser.submit(sent, { code }).then((answer) => {
      page = answer;
      return answer;
    });
    await until('the new identity waits for the address', async () => page ?? (await waiting()) > 0);
  });
  page = await entering;
  expect(page && isSignedIn(page)).toBe(true);
  expect(await membershipsOf(environment)).toEqual([{ identity_id: faster.id, is_active: true }]);
  expect(await identitiesOf(environment, email)).toMatchObject([{ id: faster.id }]);
});

test('no code is mailed to an invalid address', async () => {
  const environment = await passwordless();
  const { sent } = await asked(await environment.newClient(), 'no address');
  expect(sent.body).toContain('a code is on its way');
  expect(await waitingMails(world, environment.environmentId)).toEqual([]);
});

test('without self sign-up, or with passwords allowed, an unknown address stays unknown', async () => {
  for (const settings of [{ allowSelfSignup: false }, { passwordLoginEnabled: true }]) {
    const environment = await passwordless(settings);
    const client = await environment.newClient();
    const email = newAddress();
    const browser = world.browser();
    const sent = await browser.submit(await browser.get(authorizeUrl(client, { method: 'code' })), { email });
    expect(sent.body).toContain('a code is on its way');
    expect((await browser.submit(sent, { code: await world.mailedCode('login') })).body).toContain(
      'That code is not right',
    );
    expect(await identitiesOf(environment, email)).toEqual([]);
    const [row] = await world.query('select identity_id, email from emailed_codes where environment_id = $1', [
      environment.environmentId,
    ]);
    expect(row).toEqual({ identity_id: null, email: null });
  }
});

test('disabling self sign-up also affects codes that are on their way', async () => {
  const environment = await passwordless();
  const client = await environment.newClient();
  const { browser, sent } = await asked(client, newAddress());
  await world.query('update environment_settings set allow_self_signup = false where environment_id = $1', [
    environment.environmentId,
  ]);
  world.wait(1_001); // a process may cache settings for a second
  expect((await browser.submit(sent, { code: await world.mailedCode('login') })).body).toContain(
    'That code is not right',
  );
  expect(await membershipsOf(environment)).toEqual([]);
});
