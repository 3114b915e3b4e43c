import { v7 as uuidv7 } from 'uuid';
import { countedAddress } from '../../src/domain/addresses/counted-address.js';
import { createAttempts } from '../../src/domain/logins/attempts.js';
import { minutes, seconds } from '../../src/platform/clock.js';
import { newProvider } from '../support/oauth/provider.js';
import { newOther } from '../support/other-environment.js';

const world = await newProvider();
const environment = await world.newEnvironment();
afterAll(() => world.close());

const attempts = ({ enabled = true } = {}) => createAttempts({ db: world.db, enabled, now: world.now });
let networks = 0;
/** Returns a person who tries to sign in from a network of their own. */
const newcomer = (email = `${uuidv7()}@example.com`) => ({
  accountId: environment.accountId,
  email,
  ipAddress: `2001:db8:${(++networks).toString(16)}::1`,
});
const scope = () => {
  const { accountId, applicationId, environmentId } = environment;
  return { accountId, applicationId, environmentId };
};
const times = (count: number) => Array.from({ length: count });
const locksOf = (identityId: string) =>
  world.query<{ environmentId: string; until: Date | null }>(
    `select environment_id as "environmentId", locked_until as until from environment_memberships
     where identity_id = $1 order by environment_id`,
    [identityId],
  );
const eventsOf = (identityId: string) =>
  world.query('select action, outcome, metadata from events where resource_id = $1 order by created_at, action', [
    identityId,
  ]);

test('an address may fail ten times in fifteen minutes, however it is written and from whatever network', async () => {
  const { begin, closedUntil } = attempts();
  const ana = newcomer();
  for (const _ of times(9)) await begin(ana);
  expect(await closedUntil(ana)).toBeNull();
  expect((await begin(ana)).locksUntil).toBeNull();
  const closed = (await closedUntil(ana)) as Date;
  const [{ at }] = (await world.query('select clock_timestamp() as at')) as [{ at: Date }];
  expect(closed.getTime() - at.getTime()).toBeGreaterThan(minutes(14));
  expect(closed.getTime() - at.getTime()).toBeLessThanOrEqual(minutes(15));
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(await closedUntil(ana)).toEqual(closed); // a second look does not change it
  const elsewhere = newcomer(ana.email.toUpperCase());
  await expect(begin(elsewhere)).rejects.toMatchObject({
    code: 'rate_limit.exceeded',
    options: { retryAfter: expect.any(Number), limit: { name: 'sign-in-address', points: 10, windowSeconds: 900 } },
  });
  await begin({ ...ana, email: `other-${ana.email}` });
  await begin({ ...ana, accountId: uuidv7() }); // the person has another password in another Account
});

test('addresses that PostgreSQL treats as equal count as one, in whatever letters', async () => {
  const { begin } = attempts();
  const ida = newcomer(`iris-${uuidv7()}@example.com`);
  for (const _ of times(10)) await begin(newcomer(ida.email));
  const dotted = newcomer(ida.email.replace('i', 'İ'));
  await expect(begin(dotted)).rejects.toMatchObject({ code: 'rate_limit.exceeded' });

  const letters = await world.query<{ letter: string; lower: string }>(
    `select chr(n) as letter, lower(chr(n)) as lower from generate_series(32, 131071) n
     where n not between 55296 and 57343 and lower(chr(n)) <> chr(n)`,
  );
  expect(letters.length).toBeGreaterThan(1000);
  const apart = letters.filter(({ letter, lower }) => countedAddress(letter) !== countedAddress(lower));
  expect(apart).toEqual([]);
});

test('a network may fail a hundred times, and attempts refused for it lock no address', async () => {
  const { begin } = attempts();
  const { ipAddress } = newcomer();
  for (const _ of times(100)) await begin({ ...newcomer(), ipAddress });
  const ana = newcomer();
  for (const _ of times(12)) {
    const refused = begin({ ...ana, ipAddress });
    await expect(refused).rejects.toMatchObject({
      options: { limit: { name: 'sign-in-ip', points: 100, windowSeconds: 900 } },
    });
  }
  expect(await begin(ana)).toEqual({ ...ana, locksUntil: null });
});

test('a successful attempt does not count, and resets the day’s failures', async () => {
  const { begin, succeeded } = attempts();
  const ana = newcomer();
  for (const _ of times(55)) {
    await begin(ana);
    await succeeded(ana);
  }
  const { ipAddress } = ana;
  for (const _ of times(100)) await begin({ ...newcomer(), ipAddress });
  await expect(begin({ ...newcomer(), ipAddress })).rejects.toMatchObject({ code: 'rate_limit.exceeded' });
});

test('a success after its window leaves the next window with the right count', async () => {
  const { begin, succeeded } = attempts();
  const ana = newcomer();
  await begin(ana);
  await begin(ana);
  await world.query("update rate_limits set expire = 0 where key like 'sign-in-address%'");
  await Promise.all([succeeded(ana), succeeded(ana)]);
  for (const _ of times(10)) await begin(ana);
  await expect(begin(ana)).rejects.toMatchObject({ options: { limit: { name: 'sign-in-address' } } });
  await world.query("update rate_limits set points = 0 where key like 'sign-in-address%'");
  await succeeded(ana);
  for (const _ of times(10)) await begin(ana);
  await expect(begin(ana)).rejects.toMatchObject({ options: { limit: { name: 'sign-in-address' } } });
});

test('an attempt that was refused meanwhile does not count once an allowed one is taken back', async () => {
  const { begin, missed } = attempts();
  const ana = newcomer();
  const before = await Promise.allSettled(times(30).map(() => begin(ana)));
  const counted = before.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  expect(counted).toHaveLength(10);
  for (const each of counted.slice(1)) await missed(scope(), each, { identityId: null, method: 'email_otp' });
  for (const _ of times(9)) await begin(ana);
  await expect(begin(ana)).rejects.toMatchObject({ options: { limit: { name: 'sign-in-address' } } });
});

test('an attempt that guessed no secret counts for its network alone, and locks nobody', async () => {
  const { begin, missed } = attempts();
  const { id, email } = await environment.newIdentity();
  const ana = newcomer(email);
  for (const _ of times(100)) {
    await missed(scope(), { ...(await begin(ana)), locksUntil: new Date() }, { identityId: id, method: 'email_otp' });
  }
  expect(await locksOf(id)).toEqual([{ environmentId: environment.environmentId, until: null }]);
  await expect(begin(ana)).rejects.toMatchObject({ options: { limit: { name: 'sign-in-ip' } } });
  expect((await begin(newcomer(email))).locksUntil).toBeNull();
});

test('without limits nothing is counted', async () => {
  const { begin, succeeded, missed, forgive } = attempts({ enabled: false });
  const ana = newcomer();
  for (const _ of times(12)) expect(await begin(ana)).toEqual({ ...ana, locksUntil: null });
  await succeeded(ana);
  await missed(scope(), { ...ana, locksUntil: null }, { identityId: null, method: 'email_otp' });
  await forgive(scope(), { identityId: uuidv7(), email: ana.email });
});

test('the day’s last failure locks the address’s person, with an event; the earlier ones are recorded', async () => {
  const { failed } = attempts();
  const { id, email } = await environment.newIdentity();
  const attempt = { ...newcomer(email), locksUntil: null };
  await failed(scope(), attempt, { identityId: id, method: 'password' });
  expect(await locksOf(id)).toEqual([{ environmentId: environment.environmentId, until: null }]);
  const locksUntil = new Date(world.now().getTime() + minutes(5));
  const before = (await world.events('identity.locked')).length;
  await failed(scope(), { ...newcomer(), locksUntil }, { identityId: null, method: 'email_otp' });
  expect(await world.events('identity.locked')).toHaveLength(before);
  world.wait(seconds(1));
  await failed(scope(), { ...attempt, locksUntil }, { identityId: id, method: 'password' });
  expect(await locksOf(id)).toEqual([{ environmentId: environment.environmentId, until: locksUntil }]);
  const failure = { action: 'auth.identity_sign_in_failed', outcome: 'failure', metadata: { method: 'password' } };
  expect(await eventsOf(id)).toEqual([
    failure,
    failure,
    { action: 'identity.locked', outcome: 'success', metadata: { locked_until: locksUntil.toISOString() } },
  ]);
});

test('a lock applies in every Environment of the person, and so does its removal in one', async () => {
  const { begin, failed, forgive } = attempts();
  const [blog, ended] = [await newOther(world, environment), await newOther(world, environment)];
  const { id, email } = await environment.newIdentity();
  for (const other of [blog, ended]) await other.join(id);
  // An Environment that is being removed has no owner, and records nothing.
  await world.query('update environments set account_id = null, application_id = null where id = $1', [
    ended.environmentId,
  ]);
  const stranger = await newOther(world, environment);
  const { accountId } = environment;
  const there = { accountId, applicationId: stranger.applicationId, environmentId: stranger.environmentId };
  const locksUntil = new Date(world.now().getTime() + minutes(5));
  await failed(there, { ...newcomer(email), locksUntil }, { identityId: null, method: 'password' });

  const locks = [environment, blog].map(({ environmentId }) => ({ environmentId, until: locksUntil }));
  expect(await locksOf(id)).toEqual([...locks, { environmentId: ended.environmentId, until: null }]);
  const events = await world.query(
    `select account_id as "accountId", application_id as "applicationId", environment_id as "environmentId", metadata
     from events where action = 'identity.locked' and resource_id = $1 order by environment_id`,
    [id],
  );
  const metadata = { locked_until: locksUntil.toISOString() };
  expect(events).toEqual(
    [environment, blog].map(({ applicationId, environmentId }) => ({
      accountId,
      applicationId,
      environmentId,
      metadata,
    })),
  );

  for (const _ of times(10)) await begin(newcomer(email));
  await forgive({ accountId }, { identityId: id, email });
  expect((await locksOf(id)).map(({ until }) => until)).toEqual([null, null, null]);
  expect((await begin(newcomer(email))).locksUntil).toBeNull();
});

test('fifty failures in a day lock until the day is over, in four windows of burst; a removed lock starts the count again', async () => {
  const { begin, failed, forgive } = attempts();
  const { id, email } = await environment.newIdentity();
  const ana = newcomer(email);
  const newWindow = () => world.query("update rate_limits set expire = 0 where key like 'sign-in-address%'");
  for (let i = 1; i < 50; i++) {
    if (i % 10 === 0) await newWindow();
    expect((await begin(ana)).locksUntil).toBeNull();
  }
  await newWindow();
  const last = await begin(ana);
  const day = world.now().getTime() + 86_400_000;
  expect(last.locksUntil?.getTime()).toBeLessThanOrEqual(day);
  expect(last.locksUntil?.getTime()).toBeGreaterThan(world.now().getTime());
  await failed(scope(), last, { identityId: id, method: 'password' });
  await expect(begin(ana)).rejects.toMatchObject({ options: { limit: { name: 'sign-in-day', points: 50 } } });
  await forgive(scope(), { identityId: id, email });
  expect(await locksOf(id)).toEqual([{ environmentId: environment.environmentId, until: null }]);
  expect((await begin(ana)).locksUntil).toBeNull();
});
