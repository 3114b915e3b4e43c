import { v7 as uuidv7 } from 'uuid';
import { User } from '../../entities/user.js';
import { provisionAccount } from '../../src/domain/accounts/provisioning.js';
import { slugFrom, withSuffix } from '../../src/domain/slugs.js';
import { newDatabase, rowsAsOwner, type TestDatabase } from '../support/database.js';
import { registrationServices } from '../support/registration.js';

let database: TestDatabase;
let services: ReturnType<typeof registrationServices>;
beforeAll(async () => {
  database = await newDatabase({ poolSize: 10 });
  services = registrationServices(database);
});
afterAll(() => database.close());

const select = (text: string, ...values: unknown[]) => rowsAsOwner(database.ownerUrl, text, values);
const linkInvalid = { code: 'registration.link_invalid' };

test('a confirmed registration creates everything that an Account needs', async () => {
  const { id, request } = await services.park({ accountName: 'Größe & Söhne', applicationName: 'Shop' });
  const { userId, accountId, applicationId } = await services.registrations.provision(id);

  const [user] = await select('select * from users where id = $1', userId);
  expect(user).toMatchObject({ email: request.email, password_hash: request.passwordHash, first_name: 'Ana' });
  expect(user?.email_verified_at).toBeInstanceOf(Date);
  expect(await select('select name, slug from accounts where id = $1', accountId)).toEqual([
    { name: 'Größe & Söhne', slug: 'grosse-sohne' },
  ]);
  expect(await select('select plan, status from subscriptions where account_id = $1', accountId)).toEqual([
    { plan: 'free', status: 'active' },
  ]);
  expect(
    await select('select name, system_key from administrator_roles where account_id = $1 order by name', accountId),
  ).toEqual(
    ['Admin', 'Developer', 'Owner', 'Support', 'Viewer'].map((name) => ({ name, system_key: name.toLowerCase() })),
  );
  expect(
    await select(
      `select role.name from memberships member join membership_roles using (account_id)
       join administrator_roles role on role.id = role_id where member.user_id = $1`,
      userId,
    ),
  ).toEqual([{ name: 'Owner' }]);
  expect(
    await select(
      `select environment.name, slug, type, password_min_length, allowed_origins, version, counter.value from environments environment
       join environment_settings settings on settings.environment_id = environment.id
       join counters counter on counter.environment_id = environment.id and counter.name = 'identities'
       where application_id = $1 order by slug`,
      applicationId,
    ),
  ).toEqual(
    ['Development', 'Production'].map((name) => ({
      name,
      slug: name.toLowerCase(),
      type: name.toLowerCase(),
      password_min_length: 8,
      allowed_origins: [],
      version: 1,
      value: '0',
    })),
  );
});

test('the events name the person behind the link as the actor', async () => {
  const { id } = await services.park();
  const { userId, accountId } = await services.registrations.provision(id);
  const events = await select('select * from events where account_id = $1 order by created_at', accountId);
  expect(events.map(({ action }) => action)).toEqual([
    'account.created',
    'member.added',
    'application.created',
    'environment.created',
    'environment.created',
    'auth.registration_confirmed',
  ]);
  const [registration] = await select('select * from pending_registrations where id = $1', id);
  for (const event of events) {
    expect(event).toMatchObject({
      actor_type: 'platform_admin',
      actor_id: userId,
      correlation_id: registration?.correlation_id,
    });
  }
  expect(registration).toMatchObject({ status: 'confirmed', email: null, password_hash: null, first_name: null });
});

test('twenty confirmations at once create one Account, and all return it', async () => {
  const { id, request } = await services.park();
  const all = await Promise.all(Array.from({ length: 20 }, () => services.registrations.provision(id)));
  expect(new Set(all.map((made) => JSON.stringify(made))).size).toBe(1);
  expect(await select('select from users where email = $1', request.email)).toHaveLength(1);
  expect(await select('select from accounts where name = $1', request.accountName)).toHaveLength(1);
});

test('of several registrations of one address the first confirmed wins, the rest are discarded', async () => {
  const first = await services.park();
  const others = [
    await services.park({ email: first.request.email }),
    await services.park({ email: first.request.email }),
  ];
  const made = await services.registrations.provision(first.id);
  expect(made.discardedIds.sort()).toEqual(others.map(({ id }) => id).sort());
  expect(await services.registrations.provision(first.id)).toEqual({ ...made, discardedIds: expect.any(Array) });
  for (const { id } of others) {
    await expect(services.registrations.provision(id)).rejects.toMatchObject(linkInvalid);
    const [row] = await select('select status, email, ended_reason from pending_registrations where id = $1', id);
    expect(row).toEqual({ status: 'discarded', email: null, ended_reason: 'another_registration_confirmed' });
  }
});

test('one of two simultaneously confirmed links of one address wins', async () => {
  for (let round = 0; round < 5; round++) {
    const one = await services.park();
    const two = await services.park({ email: one.request.email });
    const both = await Promise.allSettled([one.id, two.id].map((id) => services.registrations.provision(id)));
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(both.find((result) => result.status === 'rejected')?.reason).toMatchObject(linkInvalid);
    expect(await select('select from users where email = $1', one.request.email)).toHaveLength(1);
  }
});

test('an address that became a User meanwhile keeps its own password and gets no second one', async () => {
  const { id, request } = await services.park();
  await database.db.transaction('system', (tx) => tx.insert(User, aUser(request.email)));
  await expect(services.registrations.provision(id)).rejects.toMatchObject(linkInvalid);
  const [row] = await select('select status, ended_reason, email from pending_registrations where id = $1', id);
  expect(row).toEqual({ status: 'discarded', ended_reason: 'address_has_a_user', email: null });
});

test('Accounts of one name get different slugs; a requested slug is refused when taken', async () => {
  const now = new Date();
  const user = aUser(`${uuidv7()}@example.com`);
  await database.db.transaction('system', (tx) => tx.insert(User, user));
  const input = { userId: user.id, accountName: 'Twins', applicationName: '日本', now };
  const provision = (accountSlug?: string) =>
    database.db.transaction('system', (tx) => provisionAccount(tx, { ...input, accountSlug }));
  const made = await Promise.all([provision(), provision(), provision()]);
  const slugs = made.map(({ account }) => account.slug).sort();
  expect(slugs[0]).toBe('twins');
  for (const slug of slugs.slice(1)) expect(slug).toMatch(/^twins-[a-z0-9]{5}$/);
  expect(made[0]?.application.slug).toBe('application');
  await expect(provision('twins')).rejects.toMatchObject({ code: 'account.slug_taken' });
});

test('letters outside a to z are replaced by their usual transcription', () => {
  const names = ['Łódź', 'Ørsted & Sønner', 'Straße', 'Þór Ægir', 'IŞIK', 'Œuvre', 'Café 日本', 'ℌaus'];
  expect(names.map((name) => slugFrom(name, 'account'))).toEqual([
    'lodz',
    'orsted-sonner',
    'strasse',
    'thor-aegir',
    'isik',
    'oeuvre',
    'cafe',
    'haus',
  ]);
});

test('every name leads to a slug that the contract allows', () => {
  const pattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
  for (const name of [
    'A',
    '  --x--  ',
    'Ünïcödé & Co.',
    '株式会社',
    'a'.repeat(200),
    `${'ab '.repeat(80)}`,
    '-',
    '9',
  ]) {
    expect(slugFrom(name, 'account')).toMatch(pattern);
    expect(withSuffix(slugFrom(name, 'account'))).toMatch(pattern);
  }
});

const aUser = (email: string): User => ({
  id: uuidv7(),
  email,
  firstName: 'Bo',
  lastName: 'Li',
  passwordHash: 'own',
  passwordChangedAt: null,
  mfaResetAt: null,
  emailChangedAt: null,
  emailVerifiedAt: new Date(),
  createdAt: new Date(),
  updatedAt: new Date(),
});
