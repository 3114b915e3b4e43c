import { decodeJwt } from 'jose';
import { builtInRoles } from '../../../src/domain/capabilities/administrator-roles.js';
import { createPasswords } from '../../../src/domain/passwords/passwords.js';
import { invite, newMember, rolesByKey, type TestMember } from '../../support/administrators.js';
import { outcomeOf } from '../../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { type Call, callsOf } from '../../support/calls.js';
import { callsWith, newNode } from '../../support/nodes.js';
import { databaseTime, eventsSince } from '../../support/rows.js';

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

const updatesSince = async (since: string) =>
  (await eventsSince(api, account.scope.accountId, since))
    .filter(({ action }) => action.endsWith('.updated'))
    .map(({ action, metadata }) => [action, metadata]);
const get = async ({ call }: TestMember, path: string) => outcomeOf(await call('GET', path));
const inEnvironment = (slug: string, path = '/settings', of = app) => `${of}/environments/${slug}${path}`;

test('a role limited to an application applies there and in all of its environments, and nowhere else', async () => {
  const limits = { application_ids: [account.scope.applicationId] };
  const member = await newMember(api, account, 'developer', undefined, limits);
  expect(await get(member, app)).toBe('200');
  expect(await get(member, `${app}/environments`)).toBe('200');
  for (const slug of ['development', 'production']) expect(await get(member, inEnvironment(slug))).toBe('200');
  expect(outcomeOf(await member.call('PATCH', app, { name: 'Renamed' }))).toBe('200');
  // Another application does not exist for them, exactly like a missing one.
  for (const slug of [other.slug, 'nothing']) {
    const path = `/applications/${slug}`;
    expect(await get(member, path)).toBe('404 application.not_found');
    expect(await get(member, inEnvironment('development', '/settings', path))).toBe('404 application.not_found');
    expect(outcomeOf(await member.call('PATCH', path, { name: 'x' }))).toBe('404 application.not_found');
    expect(outcomeOf(await member.call('DELETE', `${path}?confirm=${slug}`))).toBe('404 application.not_found');
  }
  // The account itself requires a role without limits.
  expect(await get(member, '/members')).toBe('403 account.capability_required');
  expect(outcomeOf(await member.call('POST', '/applications', { name: 'x' }))).toBe('403 account.capability_required');
});

test('a role limited to an environment applies there alone; its application is only the way to it', async () => {
  const limits = { environment_ids: [account.scope.environmentId] };
  const member = await newMember(api, account, 'admin', undefined, limits);
  expect(await get(member, inEnvironment('development'))).toBe('200');
  expect(await get(member, inEnvironment('development', ''))).toBe('200');
  expect(await get(member, inEnvironment('production'))).toBe('404 environment.not_found');
  expect(await get(member, inEnvironment('nothing'))).toBe('404 environment.not_found');
  const renamedApp = await member.call('PATCH', app, { name: 'Renamed' });
  expect(outcomeOf(renamedApp)).toBe('403 account.capability_required');
  expect(outcomeOf(await member.call('DELETE', `${app}?confirm=${account.applicationSlug}`))).toBe(
    '403 account.capability_required',
  );
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

test('what any member may read in an environment is 404 outside of the limits, like a missing one', async () => {
  const member = await newMember(api, account, 'viewer', undefined, {
    environment_ids: [account.scope.environmentId],
  });
  expect(await get(member, inEnvironment('development', '/api-keys'))).toBe('200');
  for (const slug of ['production', 'nothing']) {
    expect(await get(member, inEnvironment(slug, '/api-keys'))).toBe('404 environment.not_found');
    const elsewhere = `/applications/${slug === 'nothing' ? slug : other.slug}`;
    expect(await get(member, inEnvironment('development', '/api-keys', elsewhere))).toBe('404 application.not_found');
  }
});

test('an administrator of a part cannot create an API key that reaches beyond it', async () => {
  const limits = { application_ids: [account.scope.applicationId] };
  const [limited, everywhere] = [
    await newMember(api, account, 'developer', undefined, limits),
    await newMember(api, account, 'developer'),
  ];
  const keys = inEnvironment('production', '/api-keys');
  const full = { name: 'Everything', access_mode: 'full' };
  expect(outcomeOf(await limited.call('POST', keys, full))).toBe('403 api_key.cannot_grant');
  const scoped = { name: 'Reads', access_mode: 'scoped', scopes: ['identity.view'] };
  expect(outcomeOf(await limited.call('POST', keys, scoped))).toBe('201');

  const made = await everywhere.call('POST', keys, full);
  expect(outcomeOf(made)).toBe('201');
  const key = `${keys}/${made.json().data.id}`;
  expect(outcomeOf(await limited.call('POST', `${key}/rotate`, {}))).toBe('403 api_key.cannot_grant');
  expect(outcomeOf(await limited.call('PATCH', key, { is_active: false }))).toBe('200');
  expect(outcomeOf(await limited.call('PATCH', key, { is_active: true }))).toBe('403 api_key.cannot_grant');
  expect(outcomeOf(await everywhere.call('PATCH', key, { is_active: true }))).toBe('200');
  expect(outcomeOf(await limited.call('DELETE', key))).toBe('204');
});

test('roles add up where each applies: one everywhere, one within limits', async () => {
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

test('a change of the limits applies from the next request, and a deleted place reaches nothing', async () => {
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

test('a deleted place is removed from the limits of members and invites, which can be sent back as they are', async () => {
  const roles = await rolesByKey(owner);
  const limits = {
    application_ids: [account.scope.applicationId, other.id].sort(),
    environment_ids: [account.scope.environmentId, account.productionScope.environmentId].sort(),
    node_ids: [],
  };
  const member = await newMember(api, account, 'viewer', undefined, limits);
  const invited = await invite(owner, { role_id: roles.viewer, limits });
  const revoked = await invite(owner, { role_id: roles.viewer, limits });
  await owner('POST', `/administrator-invites/${revoked.id}/revoke`);
  const since = await databaseTime(api);
  await owner('DELETE', `${app}/environments/production?confirm=production`);
  await owner('DELETE', `/applications/${other.slug}?confirm=${other.slug}`);
  const left = {
    application_ids: [account.scope.applicationId],
    environment_ids: [account.scope.environmentId],
    node_ids: [],
  };
  const half = { ...left, application_ids: limits.application_ids };
  expect(await updatesSince(since)).toEqual(
    [half, left].flatMap((now) => [
      ['member.updated', { user_id: member.userId, roles: [{ role_id: roles.viewer, limits: now }] }],
      ['administrator_invite.updated', { limits: now }],
    ]),
  );
  const read = (await owner('GET', `/members/${member.membershipId}`)).json().data;
  expect(read.roles[0].limits).toEqual(left);
  expect((await owner('GET', `/administrator-invites/${invited.id}`)).json().data.limits).toEqual(left);
  const given = [
    { role_id: roles.viewer, limits: read.roles[0].limits },
    { role_id: roles.support, limits: null },
  ];
  expect(outcomeOf(await owner('PATCH', `/members/${member.membershipId}`, { roles: given }))).toBe('200');

  // Without the last of them the role reaches nothing; it does not become unlimited.
  const narrow = await newMember(api, account, 'viewer', undefined, { application_ids: [account.scope.applicationId] });
  await owner('DELETE', `${app}?confirm=${account.applicationSlug}`);
  const nothing = (await owner('GET', `/members/${narrow.membershipId}`)).json().data.roles[0].limits;
  expect(nothing).toEqual({ application_ids: [], environment_ids: [], node_ids: [] });
  expect((await narrow.call('GET', '/applications')).json().items).toEqual([]);
  expect(await get(narrow, '/members')).toBe('403 account.capability_required');

  // It can be sent back, beside another role; but no new role can be assigned with limits that reach nothing.
  const kept = { role_id: roles.viewer, limits: nothing };
  const more = { role_id: roles.support, limits: null };
  const give = async (id: string, ...given: object[]) =>
    outcomeOf(await owner('PATCH', `/members/${id}`, { roles: given }));
  expect(await give(narrow.membershipId, kept, more)).toBe('200');
  expect((await owner('GET', `/members/${narrow.membershipId}`)).json().data.roles).toMatchObject([more, kept]);
  expect(await give(narrow.membershipId, more)).toBe('200');
  expect(await give(narrow.membershipId, kept, more)).toBe('400 validation.failed');
});

test('the deletion of a limit’s node records for its holders what is left of the role', async () => {
  const roles = await rolesByKey(owner);
  const key = callsWith(api, await account.apiKey());
  const [node, kept] = [await newNode(key, 'Gone', null), await newNode(key, 'Kept', null)];
  const member = await newMember(api, account, 'viewer', undefined, { node_ids: [node.id, kept.id].sort() });
  await newMember(api, account, 'viewer', undefined, { node_ids: [kept.id] });
  const since = await databaseTime(api);
  expect(outcomeOf(await key('DELETE', `/nodes/${node.id}`, undefined, node.version))).toBe('204');
  const limits = { application_ids: [], environment_ids: [], node_ids: [kept.id] };
  expect(await updatesSince(since)).toEqual([
    ['member.updated', { user_id: member.userId, roles: [{ role_id: roles.viewer, limits }] }],
  ]);
});

test('a retry of a deletion gets the first answer, though the limits reach nothing any more', async () => {
  const member = await newMember(api, account, 'developer', undefined, { application_ids: [other.id] });
  const remove = () =>
    member.call('DELETE', `/applications/${other.slug}?confirm=${other.slug}`, undefined, {
      'idempotency-key': 'gone',
    });
  expect(outcomeOf(await remove())).toBe('204');
  expect(outcomeOf(await remove())).toBe('204');
});

describe('the lists', () => {
  const listed = async ({ call }: TestMember, path: string) => {
    const answer = await call('GET', path);
    if (answer.statusCode !== 200) return outcomeOf(answer);
    const { items, pagination } = answer.json();
    expect(pagination.item_count).toBe(items.length);
    return items.map(({ slug, access_state, can_access }: Record<string, unknown>) => {
      expect(can_access).toBe(access_state === 'accessible');
      return `${slug} ${access_state}`;
    });
  };
  const sorted = '?sort_by=slug&order=asc';

  test('show an application within the limits with all of its environments, and no other', async () => {
    const limits = { application_ids: [account.scope.applicationId] };
    const member = await newMember(api, account, 'viewer', undefined, limits);
    expect(await listed(member, '/applications')).toEqual([`${account.applicationSlug} accessible`]);
    expect(await listed(member, `/applications?q=${other.slug}`)).toEqual([]);
    expect((await member.call('GET', app)).json().data).toMatchObject({ access_state: 'accessible', can_access: true });
    expect(await listed(member, `${app}/environments${sorted}`)).toEqual([
      'development accessible',
      'production accessible',
    ]);
    expect(await listed(member, `/applications/${other.slug}/environments`)).toBe('404 application.not_found');
  });

  test('show an application on the way to an environment as such, with that environment alone', async () => {
    const limits = { environment_ids: [account.scope.environmentId] };
    const member = await newMember(api, account, 'viewer', undefined, limits);
    expect(await listed(member, '/applications')).toEqual([`${account.applicationSlug} path_only`]);
    expect((await member.call('GET', app)).json().data).toMatchObject({
      slug: account.applicationSlug,
      access_state: 'path_only',
      can_access: false,
    });
    expect(await listed(member, `${app}/environments`)).toEqual(['development accessible']);
    expect(await listed(member, `${app}/environments?type=production`)).toEqual([]);
    expect(await listed(member, `${app}/environments?q=prod`)).toEqual([]);
    expect((await member.call('GET', inEnvironment('development', ''))).json().data).toMatchObject({
      access_state: 'accessible',
      can_access: true,
    });
    expect(await get(member, inEnvironment('production', ''))).toBe('404 environment.not_found');
  });

  test('add up what several roles reach, page by page', async () => {
    const roles = await rolesByKey(owner);
    const member = await newMember(api, account, 'viewer');
    const third = (await owner('POST', '/applications', { name: 'Third' })).json().data;
    const given = [
      { role_id: roles.viewer, limits: { application_ids: [other.id] } },
      { role_id: roles.support, limits: { environment_ids: [account.scope.environmentId] } },
    ];
    await owner('PATCH', `/members/${member.membershipId}`, { roles: given });
    const all = [`${account.applicationSlug} path_only`, `${other.slug} accessible`].sort();
    expect(await listed(member, `/applications${sorted}`)).toEqual(all);
    const second = (await member.call('GET', `/applications${sorted}&take=1&page=2`)).json();
    expect(second.pagination).toMatchObject({ item_count: 2, page_count: 2, has_next_page: false });
    expect(second.items[0].slug).toBe(all[1]?.split(' ')[0]);
    expect(await get(member, `/applications/${third.slug}`)).toBe('404 application.not_found');
  });

  test('require a role that allows viewing, and count only those that do', async () => {
    const role = { name: 'Identities only', description: '', capabilities: ['identities.view'] };
    const { id: roleId } = (await owner('POST', '/administrator-roles', role)).json().data;
    const limits = { environment_ids: [account.scope.environmentId] };
    const member = await newMember(api, account, { roleId }, undefined, limits);
    expect(await listed(member, '/applications')).toBe('403 account.capability_required');
    expect(await listed(member, `${app}/environments`)).toBe('403 account.capability_required');
    expect(await get(member, inEnvironment('development', '/identities'))).toBe('200');

    const roles = await rolesByKey(owner);
    const production = { environment_ids: [account.productionScope.environmentId] };
    await owner('PATCH', `/members/${member.membershipId}`, {
      roles: [
        { role_id: roleId, limits: { application_ids: [other.id], ...limits } },
        { role_id: roles.viewer, limits: production },
      ],
    });
    expect(await listed(member, '/applications')).toEqual([`${account.applicationSlug} path_only`]);
    expect(await listed(member, `${app}/environments`)).toEqual(['production accessible']);
    expect(await get(member, inEnvironment('development', ''))).toBe('403 account.capability_required');
    expect(await get(member, `/applications/${other.slug}`)).toBe('403 account.capability_required');
  });

  test('follow a change of the limits from the next request on, down to nothing', async () => {
    const roles = await rolesByKey(owner);
    const member = await newMember(api, account, 'viewer');
    const limitTo = (limits: object | null) =>
      owner('PATCH', `/members/${member.membershipId}`, { roles: [{ role_id: roles.viewer, limits }] });
    expect(await listed(member, '/applications')).toHaveLength(2);
    await limitTo({ application_ids: [other.id] });
    expect(await listed(member, '/applications')).toEqual([`${other.slug} accessible`]);
    await limitTo({ environment_ids: [account.productionScope.environmentId] });
    expect(await listed(member, '/applications')).toEqual([`${account.applicationSlug} path_only`]);
    expect(await listed(member, `${app}/environments`)).toEqual(['production accessible']);
    await owner('DELETE', `${app}/environments/production?confirm=production`);
    expect(await listed(member, '/applications')).toEqual([]);
    expect(await get(member, app)).toBe('404 application.not_found');
  });
});

test('the last opened environment is one within the limits', async () => {
  const roles = await rolesByKey(owner);
  const limits = { environment_ids: [account.scope.environmentId] };
  const member = await newMember(api, account, 'viewer', undefined, limits);
  const put = (environment_slug: string) =>
    api.app.inject({
      method: 'PUT',
      url: `/portal/v1/accounts/${account.accountSlug}${app}/me/state`,
      headers: member.headers,
      payload: { environment_slug },
    });
  const stored = async () => (await member.call('GET', `${app}/me/state`)).json().data.environment_slug;
  for (const slug of ['production', 'nothing']) expect(outcomeOf(await put(slug))).toBe('400 environment.unknown_slug');
  expect(outcomeOf(await put('development'))).toBe('200');
  expect(await stored()).toBe('development');
  const production = { environment_ids: [account.productionScope.environmentId] };
  await owner('PATCH', `/members/${member.membershipId}`, { roles: [{ role_id: roles.viewer, limits: production }] });
  expect(await stored()).toBeNull();
});

test('/me shows where each role applies and what it allows there', async () => {
  const roles = await rolesByKey(owner);
  const member = await newMember(api, account, 'viewer');
  const limits = { application_ids: [other.id], environment_ids: [], node_ids: [] };
  const given = [
    { role_id: roles.support, limits },
    { role_id: roles.viewer, limits: null },
  ];
  await owner('PATCH', `/members/${member.membershipId}`, { roles: given });
  const { data } = (await member.call('GET', '/me')).json();
  const { support, viewer } = builtInRoles;
  expect(data.roles).toEqual([
    { id: roles.support, name: 'Support', limits, capabilities: support.capabilities },
    { id: roles.viewer, name: 'Viewer', limits: null, capabilities: viewer.capabilities },
  ]);
  expect(data.capabilities).toEqual(viewer.capabilities); // in the account itself
});

describe('an administrator who signs in within limits', () => {
  const password = 'violet tractor 19';
  let passwordHash: string;
  beforeAll(async () => {
    passwordHash = await createPasswords({ breachUrl: null }).hash(password);
  });
  const withPassword = async (member: TestMember) => {
    await api.database.db.transaction('system', (tx) =>
      tx.query('update users set password_hash = $2 where id = $1', [member.userId, passwordHash]),
    );
    return member;
  };
  const post = (url: string, payload?: object, headers = {}) =>
    api.app.inject({ method: 'POST', url: `/v1/auth${url}`, headers, ...(payload && { payload }) });
  const limited = async (limits: object) => withPassword(await newMember(api, account, 'viewer', undefined, limits));
  const boundTo = async (accessToken: string) => {
    const headers = { authorization: `Bearer ${accessToken}` };
    const { account: of, application } = (await api.app.inject({ url: '/v1/auth/me', headers })).json().data;
    return [of?.slug ?? null, application?.slug ?? null];
  };

  test('is bound to the application that they reach, or selects among those', async () => {
    const one = await limited({ environment_ids: [account.scope.environmentId] });
    const signedIn = await post('/login', { email: one.email, password });
    expect(signedIn.json().data).toMatchObject({
      outcome: 'authenticated',
      application: { slug: account.applicationSlug },
    });
    const asked = await post('/login', { email: one.email, password, application_id: other.id });
    expect(asked.json().data).toMatchObject({ outcome: 'application_selection_required' });
    expect(asked.json().data.applications.map(({ slug }: { slug: string }) => slug)).toEqual([account.applicationSlug]);

    const third = (await owner('POST', '/applications', { name: 'Third' })).json().data;
    const two = await limited({ application_ids: [other.id, third.id] });
    const { data } = (await post('/login', { email: two.email, password })).json();
    expect(data.applications.map(({ slug }: { slug: string }) => slug)).toEqual([other.slug, third.slug]);
    const choose = (application_id: string) =>
      post('/select-application', { selection_token: data.selection_token, application_id });
    expect(outcomeOf(await choose(account.scope.applicationId))).toBe('404 application.not_found');
    // The limits change while the selection is open.
    const roles = await rolesByKey(owner);
    await owner('PATCH', `/members/${two.membershipId}`, {
      roles: [{ role_id: roles.viewer, limits: { application_ids: [third.id] } }],
    });
    expect(outcomeOf(await choose(other.id))).toBe('404 application.not_found');
    expect((await choose(third.id)).json().data.application.slug).toBe(third.slug);
  });

  test('is not shown an application that the limits exclude since', async () => {
    const roles = await rolesByKey(owner);
    const member = await limited({ application_ids: [other.id] });
    const signedIn = await post('/login', { email: member.email, password });
    const { access_token: token } = signedIn.json().data;
    expect(await boundTo(token)).toEqual([account.accountSlug, other.slug]);

    const limits = { environment_ids: [account.scope.environmentId] };
    await owner('PATCH', `/members/${member.membershipId}`, { roles: [{ role_id: roles.viewer, limits }] });
    expect(await boundTo(token)).toEqual([account.accountSlug, null]);
    const cookie = signedIn.cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
    const next = (await post('/refresh', undefined, { cookie })).json().data.access_token;
    expect(decodeJwt(next)).toMatchObject({ account_id: account.scope.accountId });
    expect(decodeJwt(next)).not.toHaveProperty('application_id');
    expect(await boundTo(next)).toEqual([account.accountSlug, null]);

    await owner('DELETE', `/members/${member.membershipId}`);
    expect(await boundTo(next)).toEqual([null, null]);
  });
});
