import { createPasswords } from '../../src/domain/passwords/passwords.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { newMember, rolesByKey, type TestMember } from './administrators-setup.js';
import { type Call, callsOf, outcomeOf } from './portal-setup.js';

let api: TestApi;
let account: TestAccount;
let owner: Call;
let app: string;
let other: { id: string; slug: string };
beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  account = await newAccount(api);
  owner = callsOf(api, account.accountSlug, await account.as('owner'));
  app = `/applications/${account.applicationSlug}`;
  other = (await owner('POST', '/applications', { name: 'Other' })).json().data;
});
afterAll(() => api.stop());

const get = async ({ call }: TestMember, path: string) => outcomeOf(await call('GET', path));
const inEnvironment = (slug: string, path = '/settings', of = app) => `${of}/environments/${slug}${path}`;

test('within an application a role counts there and in all of its environments, and nowhere else', async () => {
  const limits = { application_ids: [account.scope.applicationId] };
  const member = await newMember(api, account, 'developer', undefined, limits);
  expect(await get(member, app)).toBe('200');
  expect(await get(member, `${app}/environments`)).toBe('200');
  for (const slug of ['development', 'production']) expect(await get(member, inEnvironment(slug))).toBe('200');
  expect(outcomeOf(await member.call('PATCH', app, { name: 'Renamed' }))).toBe('200');
  // Another application is not there for them, exactly like one that nobody has.
  for (const slug of [other.slug, 'nothing']) {
    const path = `/applications/${slug}`;
    expect(await get(member, path)).toBe('404 application.not_found');
    expect(await get(member, inEnvironment('development', '/settings', path))).toBe('404 application.not_found');
    expect(outcomeOf(await member.call('PATCH', path, { name: 'x' }))).toBe('404 application.not_found');
    expect(outcomeOf(await member.call('DELETE', `${path}?confirm=${slug}`))).toBe('404 application.not_found');
  }
  // The account itself asks for a role without limits.
  expect(await get(member, '/applications')).toBe('403 account.capability_required');
  expect(await get(member, '/members')).toBe('403 account.capability_required');
  expect((await member.call('GET', '/me')).json().data).toMatchObject({ capabilities: [] });
});

test('within an environment a role counts there alone; its application is only on the way', async () => {
  const limits = { environment_ids: [account.scope.environmentId] };
  const member = await newMember(api, account, 'admin', undefined, limits);
  expect(await get(member, inEnvironment('development'))).toBe('200');
  expect(await get(member, inEnvironment('development', ''))).toBe('200');
  expect(await get(member, inEnvironment('production'))).toBe('404 environment.not_found');
  expect(await get(member, inEnvironment('nothing'))).toBe('404 environment.not_found');
  expect(await get(member, app)).toBe('403 account.capability_required');
  expect(await get(member, `${app}/environments`)).toBe('403 account.capability_required');
  expect(outcomeOf(await member.call('POST', `${app}/environments`, { name: 'x', type: 'development' }))).toBe(
    '403 account.capability_required',
  );
  expect(await get(member, `/applications/${other.slug}`)).toBe('404 application.not_found');
  const renamed = { name: 'Sandbox', slug: 'sandbox' };
  expect(outcomeOf(await member.call('PATCH', inEnvironment('development', ''), renamed))).toBe('200');
  expect(outcomeOf(await member.call('PATCH', inEnvironment('production', ''), renamed))).toBe(
    '404 environment.not_found',
  );
});

test('roles add up where each counts: one everywhere, one within limits', async () => {
  const roles = await rolesByKey(owner);
  const member = await newMember(api, account, 'support');
  const limits = { environment_ids: [account.scope.environmentId], application_ids: [], node_ids: [] };
  const given = [
    { role_id: roles.support, limits: null },
    { role_id: roles.developer, limits },
  ];
  expect(outcomeOf(await owner('PATCH', `/members/${member.membershipId}`, { roles: given }))).toBe('200');
  expect(await get(member, inEnvironment('development'))).toBe('200'); // as Developer
  expect(await get(member, inEnvironment('production'))).toBe('403 account.capability_required');
  expect(await get(member, inEnvironment('production', '/identities'))).toBe('200'); // as Support
  expect(await get(member, `/applications/${other.slug}`)).toBe('200');
  expect(await get(member, inEnvironment('nothing'))).toBe('404 environment.not_found');
});

test('a change of the limits counts from the next request, and what was deleted reaches nothing', async () => {
  const roles = await rolesByKey(owner);
  const member = await newMember(api, account, 'viewer');
  const limitTo = (limits: object | null) =>
    owner('PATCH', `/members/${member.membershipId}`, { roles: [{ role_id: roles.viewer, limits }] });
  expect(await get(member, '/members')).toBe('200');
  const limited = await limitTo({ application_ids: [other.id.toUpperCase(), other.id] });
  expect(limited.json().data.roles).toEqual([
    {
      role_id: roles.viewer,
      name: 'Viewer',
      limits: { application_ids: [other.id], environment_ids: [], node_ids: [] },
    },
  ]);
  expect(await get(member, '/members')).toBe('403 account.capability_required');
  expect(await get(member, app)).toBe('404 application.not_found');
  expect(await get(member, `/applications/${other.slug}`)).toBe('200');
  await owner('DELETE', `/applications/${other.slug}?confirm=${other.slug}`);
  const again = (await owner('POST', '/applications', { name: 'Other', slug: other.slug })).json().data;
  expect(again.id).not.toBe(other.id);
  expect(await get(member, `/applications/${other.slug}`)).toBe('404 application.not_found');
  expect(await get(member, '/me')).toBe('200');
});

test('a retry of a deletion is answered like the first time, though the limits reach nothing any more', async () => {
  const member = await newMember(api, account, 'developer', undefined, { application_ids: [other.id] });
  const remove = () =>
    member.call('DELETE', `/applications/${other.slug}?confirm=${other.slug}`, undefined, {
      'idempotency-key': 'gone',
    });
  expect(outcomeOf(await remove())).toBe('204');
  expect(outcomeOf(await remove())).toBe('204');
});

test('signing in offers only the applications that a role reaches', async () => {
  const passwordHash = await createPasswords({ breachUrl: null }).hash('violet tractor 19');
  const member = await newMember(api, account, 'viewer', undefined, { environment_ids: [account.scope.environmentId] });
  await api.database.db.transaction('system', (tx) =>
    tx.query('update users set password_hash = $2 where id = $1', [member.userId, passwordHash]),
  );
  const payload = { email: member.email, password: 'violet tractor 19' };
  const signedIn = await api.app.inject({ method: 'POST', url: '/v1/auth/login', payload });
  expect(signedIn.json().data).toMatchObject({
    outcome: 'authenticated',
    application: { slug: account.applicationSlug },
  });
});
