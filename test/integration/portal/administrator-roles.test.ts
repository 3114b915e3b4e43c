import { builtInRoles, capabilities } from '../../../src/domain/capabilities/administrator-roles.js';
import { newMember, rolesByKey } from '../../support/administrators.js';
import { outcomeOf, outcomesOf, shape } from '../../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { type Call, callsOf } from '../../support/calls.js';
import { databaseTime, eventsSince } from '../../support/rows.js';

let api: TestApi;
let account: TestAccount;
let owner: Call;
beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  account = await newAccount(api);
  owner = callsOf(api, account.accountSlug, await account.as('owner'));
});
afterAll(() => api.stop());

const path = '/administrator-roles';
const create = (body: object, call = owner) => call('POST', path, { capabilities: ['members.view'], ...body });

test('the built-in roles are those of this release, and read-only', async () => {
  const { items } = (await owner('GET', `${path}?sort_by=name&order=asc`)).json();
  expect(items.map(({ name }: { name: string }) => name)).toEqual(['Admin', 'Developer', 'Owner', 'Support', 'Viewer']);
  for (const item of items) {
    const { name, description, capabilities: allowed } = builtInRoles[item.system_key as 'owner'];
    expect(item).toEqual({
      ...shape,
      name,
      description,
      capabilities: allowed,
      is_system_role: true,
      system_key: item.system_key,
    });
    expect((await owner('GET', `${path}/${item.id}`)).json()).toEqual({ data: item });
    expect(outcomeOf(await owner('PATCH', `${path}/${item.id}`, { name: 'Mine' }))).toBe(
      '409 administrator_role.built_in',
    );
    expect(outcomeOf(await owner('DELETE', `${path}/${item.id}`))).toBe('409 administrator_role.built_in');
  }
});

test('a custom role is created, changed with immediate effect, and deleted when nobody holds it', async () => {
  const since = await databaseTime(api);
  const made = await create({ name: ' Auditor ', capabilities: ['audit.view', 'account.view'] });
  expect(outcomeOf(made)).toBe('201');
  expect(made.json().data).toEqual({
    ...shape,
    name: 'Auditor',
    description: null,
    capabilities: ['account.view', 'audit.view'], // in the catalogue's order
    is_system_role: false,
    system_key: null,
  });
  const { id } = made.json().data;
  const member = await newMember(api, account, { roleId: id });
  expect(outcomeOf(await member.call('GET', ''))).toBe('200');
  expect(outcomeOf(await member.call('GET', '/members'))).toBe('403 account.capability_required');
  const changed = await owner('PATCH', `${path}/${id}`, { description: 'Reads', capabilities: ['members.view'] });
  expect(changed.json().data).toMatchObject({ name: 'Auditor', description: 'Reads', capabilities: ['members.view'] });
  expect(outcomeOf(await member.call('GET', ''))).toBe('403 account.capability_required');
  expect(outcomeOf(await member.call('GET', '/members'))).toBe('200');
  expect(outcomeOf(await owner('PATCH', `${path}/${id}`, { capabilities: ['members.view'] }))).toBe('200'); // no change
  await owner('PATCH', `${path}/${id}`, { description: null, capabilities: ['members.view'] });

  expect(outcomeOf(await owner('DELETE', `${path}/${id}`))).toBe('409 administrator_role.in_use');
  await owner('DELETE', `/members/${member.membershipId}`);
  expect(outcomeOf(await owner('DELETE', `${path}/${id}`))).toBe('204');
  expect(outcomeOf(await owner('GET', `${path}/${id}`))).toBe('404 administrator_role.not_found');
  const events = await eventsSince(api, account.scope.accountId, since);
  expect(events.map(({ action, metadata }) => [action, metadata])).toEqual([
    ['administrator_role.created', { capabilities: ['account.view', 'audit.view'] }],
    ['administrator_role.updated', { changed: ['description', 'capabilities'], capabilities: ['members.view'] }],
    ['administrator_role.updated', { changed: ['description'] }],
    ['member.removed', { user_id: member.userId }],
    ['administrator_role.deleted', {}],
  ]);
});

test('a name is unique in the account whatever its case, also for twenty at once', async () => {
  const neighbour = await newAccount(api);
  await create({ name: 'Auditor' }, callsOf(api, neighbour.accountSlug, await neighbour.as('owner')));
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) => create({ name: i % 2 ? 'Auditor' : 'AUDITOR' })),
  );
  expect(outcomesOf(answers)).toEqual({ 201: 1, '409 administrator_role.name_taken': 19 });
  expect(outcomeOf(await create({ name: 'owner' }))).toBe('409 administrator_role.name_taken');
  const { id } = (await create({ name: 'Second' })).json().data;
  expect(outcomeOf(await owner('PATCH', `${path}/${id}`, { name: 'auditor' }))).toBe(
    '409 administrator_role.name_taken',
  );
  expect(outcomeOf(await owner('PATCH', `${path}/${id}`, { name: 'SECOND' }))).toBe('200');
});

test('nobody can put into a role what they do not hold, nor widen their own', async () => {
  const { id } = (await create({ name: 'Head', capabilities: ['members.view', 'members.manage'] })).json().data;
  const head = await newMember(api, account, { roleId: id });
  const cannot = '403 administrator_role.cannot_grant';
  expect(outcomeOf(await create({ name: 'A', capabilities: ['audit.view'] }, head.call))).toBe(cannot);
  expect(outcomeOf(await create({ name: 'B', capabilities: ['members.manage'] }, head.call))).toBe('201');
  expect(outcomeOf(await head.call('PATCH', `${path}/${id}`, { capabilities: [...capabilities] }))).toBe(cannot);
  const strong = (await create({ name: 'Strong', capabilities: ['audit.view', 'sso.view'] })).json().data.id;
  expect(outcomeOf(await head.call('PATCH', `${path}/${strong}`, { name: 'Stronger' }))).toBe('200');
  expect(outcomeOf(await head.call('PATCH', `${path}/${strong}`, { capabilities: ['audit.view'] }))).toBe('200');
  expect(outcomeOf(await head.call('PATCH', `${path}/${strong}`, { capabilities: ['audit.view', 'sso.view'] }))).toBe(
    cannot,
  );
});

test('a role that is assigned while it is deleted is either assigned or deleted', async () => {
  const roles = await rolesByKey(owner);
  for (let round = 0; round < 5; round++) {
    const { id } = (await create({ name: `Role ${round}` })).json().data;
    const member = await newMember(api, account, 'viewer');
    const given = [{ role_id: roles.viewer }, { role_id: id }];
    const [gave, deleted] = await Promise.all([
      owner('PATCH', `/members/${member.membershipId}`, { roles: given }),
      owner('DELETE', `${path}/${id}`),
    ]);
    expect([outcomeOf(gave), outcomeOf(deleted)].join()).toMatch(
      /^(200,409 administrator_role.in_use|400 validation.failed,204)$/,
    );
  }
});

test('a call without the capability, for another account’s role, or with invalid input is refused', async () => {
  const { id } = (await create({ name: 'Auditor' })).json().data;
  const neighbour = await newAccount(api);
  const viewer = await newMember(api, account, 'viewer');
  const support = await newMember(api, account, 'support');
  const ask = (call: Call) =>
    Promise.all([
      call('GET', path),
      call('GET', `${path}/${id}`),
      call('POST', path, { name: 'x', capabilities: [] }),
      call('PATCH', `${path}/${id}`, { name: 'y' }),
      call('DELETE', `${path}/${id}`),
    ]).then((answers) => answers.map(outcomeOf));
  const refused = '403 account.capability_required';
  expect(await ask(callsOf(api, account.accountSlug, {}))).toEqual(Array(5).fill('401'));
  expect(await ask(support.call)).toEqual(Array(5).fill(refused));
  expect(await ask(viewer.call)).toEqual(['200', '200', refused, refused, refused]);
  const foreign = await ask(callsOf(api, neighbour.accountSlug, await neighbour.as('owner')));
  expect(foreign).toEqual(['200', '404 administrator_role.not_found', '201', ...foreign.slice(3)]);
  expect(foreign.slice(3)).toEqual(Array(2).fill('404 administrator_role.not_found'));
  for (const body of [
    { name: '' },
    { name: 'x', capabilities: ['everything'] },
    { name: 'x', capabilities: ['audit.view', 'audit.view'] },
    { name: 'x', description: 'a\u0000b' },
    { name: 'x', system_key: 'owner' },
    { name: 'x', capabilities: null },
  ]) {
    expect(outcomeOf(await create(body))).toBe('400 validation.failed');
  }
  expect(outcomeOf(await owner('PATCH', `${path}/0192f0c1-1111-7abc-8def-1234567890ab`, { nonsense: 1 }))).toBe(
    '404 administrator_role.not_found',
  );
});
