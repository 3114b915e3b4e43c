import { outcomeOf } from '../../support/answers.js';
import { newAccount, send } from '../../support/api.js';
import { callsOf } from '../../support/calls.js';
import { callsWith } from '../../support/nodes.js';
import { rowsOf } from '../../support/rows.js';
import {
  anAddress,
  heldBy,
  make,
  newDirectory,
  newGroup,
  newUser,
  operations,
  type ScimCall,
  scimOutcome,
  startDirectory,
  verified,
} from '../../support/scim.js';
import { comingUpon } from '../../support/uncommitted.js';

const { api, account, call } = await startDirectory();
afterAll(() => api.stop());
const [root] = await rowsOf<{ id: string }>(
  api,
  'select id from nodes where environment_id = $1 and parent_node_id is null',
  [account.scope.environmentId],
);
const rootId = root?.id as string;

let roles = 0;
const newRole = async () =>
  (await make(api, account, '/roles', { name: `Role ${++roles}`, permission_keys: ['hierarchy.view'] })).id;
const portal = async (
  method: 'POST' | 'PATCH' | 'DELETE',
  path: string,
  payload?: object,
  role: 'owner' | 'viewer' | 'developer' = 'owner',
) => callsOf(api, account.accountSlug, await account.as(role))(method, path, payload);
async function map(scimGroup: string, more: object = {}): Promise<{ id: string; role_id: string; node_id: string }> {
  const body = {
    environment_id: account.scope.environmentId,
    scim_group: scimGroup,
    role_id: await newRole(),
    ...more,
  };
  const answer = await portal('POST', '/scim/group-mappings', body);
  expect(outcomeOf(answer)).toBe('201');
  return answer.json().data;
}
const asHeld = ({ role_id, node_id }: { role_id: string; node_id: string }) => `${role_id} ${node_id}`;
const membersOf = async (id: string): Promise<string[]> =>
  ((await call('GET', `/Groups/${id}`)).json().members ?? []).map(({ value }: { value: string }) => value).sort();

test('a group is created, read, renamed and deleted; its members see it', async () => {
  const [ana, ben] = [await newUser(call), await newUser(call)];
  const made = await call('POST', '/Groups', { displayName: 'Team', externalId: 'g-1', members: [{ value: ana.id }] });
  expect(made.statusCode).toBe(201);
  const group = made.json();
  expect(group).toMatchObject({ displayName: 'Team', externalId: 'g-1', members: [{ value: ana.id, type: 'User' }] });
  expect((await call('GET', `/Users/${ana.id}`)).json().groups).toMatchObject([{ value: group.id, display: 'Team' }]);
  const put = await call(
    'PUT',
    `/Groups/${group.id}`,
    { displayName: 'Crew', members: [{ value: ben.id }] },
    { 'if-match': group.meta.version },
  );
  expect(put.json()).toMatchObject({ displayName: 'Crew', members: [{ value: ben.id }] });
  expect((await call('DELETE', `/Groups/${group.id}`, undefined, { 'if-match': group.meta.version })).statusCode).toBe(
    412,
  );
  const listed = (filter: string) =>
    call('GET', `/Groups?filter=${encodeURIComponent(filter)}&excludedAttributes=members`);
  expect((await listed('displayName eq "CREW"')).json().Resources).toMatchObject([{ id: group.id }]);
  expect((await listed(`members.value eq "${ben.id}"`)).json().totalResults).toBe(1);
  expect((await call('DELETE', `/Groups/${group.id}`)).statusCode).toBe(204);
  expect((await call('GET', `/Groups/${group.id}`)).statusCode).toBe(404);
  const events = await rowsOf<{ action: string; actor_type: string }>(
    api,
    'select action, actor_type from events where resource_id = $1 order by created_at, id',
    [group.id],
  );
  expect(events.map(({ action, actor_type }) => `${action} ${actor_type}`)).toEqual([
    'scim_group.created scim_token',
    'scim_group.updated scim_token',
    'scim_group.deleted scim_token',
  ]);
});

test('a mapping whose role is deleted while a group changes ends, and the change is completed', async () => {
  const [ana, group] = [await newUser(call), await newGroup(call, 'Going')];
  const mapping = await map('Going');
  const change = await comingUpon(
    api.database,
    (tx) => tx.query('delete from roles where id = $1', [mapping.role_id]),
    () => call('PATCH', `/Groups/${group}`, operations({ op: 'add', path: 'members', value: [{ value: ana.id }] })),
  );
  expect(change.statusCode).toBeLessThan(300);
  expect(await membersOf(group)).toEqual([ana.id]);
  expect(await heldBy(api, ana.id)).toEqual([]);
});

test('members are added and removed in every way that directories use', async () => {
  const ids = [];
  for (let i = 0; i < 3; i++) ids.push((await newUser(call)).id);
  const [a, b, c] = ids.sort() as [string, string, string];
  const id = await newGroup(call, 'Writers');
  const patch = async (...list: object[]) => scimOutcome(await call('PATCH', `/Groups/${id}`, operations(...list)));
  expect(await patch({ op: 'add', path: 'members', value: [{ value: a }, { value: b }] })).toBe('204');
  expect(await patch({ op: 'Add', value: { members: [{ value: b }, { value: c }], id } })).toBe('204');
  expect(await membersOf(id)).toEqual([a, b, c]);
  expect(await patch({ op: 'remove', path: `members[value eq "${a}"]` })).toBe('204');
  expect(await patch({ op: 'Remove', path: 'members', value: [{ value: b }] })).toBe('204');
  expect(await membersOf(id)).toEqual([c]);
  expect(
    await patch(
      { op: 'replace', path: 'members', value: [{ value: a }] },
      { op: 'replace', path: 'displayName', value: 'W' },
    ),
  ).toBe('204');
  expect(await membersOf(id)).toEqual([a]);
  expect(await patch({ op: 'remove', path: 'members' })).toBe('204');
  expect(await membersOf(id)).toEqual([]);
  expect(await patch({ op: 'add', path: 'members', value: [{ value: '00000000-0000-7000-8000-000000000001' }] })).toBe(
    '400 invalidValue',
  );
  expect(await patch({ op: 'remove', path: 'displayName' })).toBe('400 mutability');
});

test('a group has a new version once a member is deleted, whoever deletes them', async () => {
  const key = callsWith(api, await account.apiKey());
  for (const remove of [
    (id: string) => call('DELETE', `/Users/${id}`),
    (id: string) => key('DELETE', `/identities/${id}`),
  ]) {
    const [gone, stays] = await Promise.all([newUser(call), newUser(call)]);
    const [group, other] = [await newGroup(call, 'Left', gone.id, stays.id), await newGroup(call, 'Other', stays.id)];
    const before = await call('GET', `/Groups/${group}`);
    const { etag } = before.headers as { etag: string };
    const untouched = (await call('GET', `/Groups/${other}`)).headers.etag;
    api.clock.advance(1_000);
    expect((await remove(gone.id)).statusCode).toBe(204);
    const after = await call('GET', `/Groups/${group}`, undefined, { 'if-none-match': etag });
    expect(after.statusCode).toBe(200);
    expect(after.json().members).toEqual([expect.objectContaining({ value: stays.id })]);
    expect(Date.parse(after.json().meta.lastModified)).toBeGreaterThan(Date.parse(before.json().meta.lastModified));
    const replaced = { displayName: 'Left', members: [] };
    expect((await call('PUT', `/Groups/${group}`, replaced, { 'if-match': etag })).statusCode).toBe(412);
    expect((await call('GET', `/Groups/${other}`)).headers.etag).toBe(untouched);
  }
});

test('a page of groups with their members ends before it gets too large', async () => {
  const own = await newDirectory(api, await newAccount(api));
  const user = await newUser(own);
  const [one, two] = [await newGroup(own, 'One', user.id), await newGroup(own, 'Two', user.id)];
  await rowsOf(api, 'update scim_groups set members_at_most = 15000 where id = any($1)', [[one, two]]);
  const page = async (query: string) => (await own('GET', `/Groups?${query}`)).json();
  expect(await page('')).toMatchObject({ totalResults: 2, itemsPerPage: 1, Resources: [{ id: one }] });
  expect(await page('startIndex=2')).toMatchObject({ itemsPerPage: 1, Resources: [{ id: two }] });
  expect(await page('excludedAttributes=members')).toMatchObject({ itemsPerPage: 2 });
  expect(await page(`filter=${encodeURIComponent(`members eq "${user.id}" and displayName sw "T"`)}`)).toMatchObject({
    Resources: [{ id: two, members: [{ value: user.id }] }],
  });
  for (const filter of ['members sw "0"', 'members[constructor eq "x"]', 'members[__proto__ pr]'])
    expect([filter, scimOutcome(await own('GET', `/Groups?filter=${encodeURIComponent(filter)}`))]).toEqual([
      filter,
      '400 invalidFilter',
    ]);
});

test('a search over users and groups returns as many groups as fit, and more without their members', async () => {
  const own = await newDirectory(api, await newAccount(api));
  for (let i = 0; i < 21; i++) await newGroup(own, `Group ${i}`);
  const search = async (more: object) =>
    (await own('POST', '/.search', { filter: 'displayName sw "Group"', ...more })).json();
  expect(await search({})).toMatchObject({ totalResults: 21, itemsPerPage: 20 });
  expect(await search({ excludedAttributes: ['members'] })).toMatchObject({ totalResults: 21, itemsPerPage: 21 });
});

test('a group that seems full is counted, and then accepts members', async () => {
  const [ana, ben] = [await newUser(call), await newUser(call)];
  const id = await newGroup(call, 'Full', ana.id);
  await rowsOf(api, 'update scim_groups set members_at_most = 20000 where id = $1', [id]);
  const add = operations({ op: 'add', path: 'members', value: [{ value: ben.id }] });
  expect((await call('PATCH', `/Groups/${id}`, add)).statusCode).toBe(204);
  expect(await rowsOf(api, 'select members_at_most from scim_groups where id = $1', [id])).toEqual([
    { members_at_most: 2 },
  ]);
  const { headers } = await call('GET', `/Groups/${id}`);
  expect((await call('GET', `/Groups/${id}`, undefined, { 'if-none-match': String(headers.etag) })).statusCode).toBe(
    304,
  );
});

test('a group’s members hold what it is mapped to, by name or by id', async () => {
  const user = await newUser(call);
  const byName = await map('ADMINS');
  const id = await newGroup(call, 'Admins', user.id);
  const byId = await map(id);
  expect(await heldBy(api, user.id)).toEqual([asHeld(byName), asHeld(byId)].sort());
  await call('PATCH', `/Groups/${id}`, operations({ op: 'replace', path: 'displayName', value: 'Others' }));
  expect(await heldBy(api, user.id)).toEqual([asHeld(byId)]);
  const roleId = await newRole();
  expect(outcomeOf(await portal('PATCH', `/scim/group-mappings/${byId.id}`, { role_id: roleId }))).toBe('200');
  expect(await heldBy(api, user.id)).toEqual([`${roleId} ${rootId}`]);
  expect(outcomeOf(await portal('DELETE', `/scim/group-mappings/${byId.id}`))).toBe('204');
  expect(await heldBy(api, user.id)).toEqual([]);
  for (const [method, body] of [['PATCH', { role_id: roleId }], ['DELETE']] as const)
    expect(outcomeOf(await portal(method, `/scim/group-mappings/${byId.id}`, body))).toBe(
      '404 scim_group_mapping.not_found',
    );
});

test('what two groups give stays until both are gone, and what was assigned by hand stays for good', async () => {
  const user = await newUser(call);
  const one = await map('First');
  const two = await map('Second', { role_id: one.role_id });
  const [first, second] = [await newGroup(call, 'First', user.id), await newGroup(call, 'Second', user.id)];
  expect(asHeld(two)).toBe(asHeld(one));
  await call('DELETE', `/Groups/${first}`);
  expect(await heldBy(api, user.id)).toEqual([asHeld(one)]);
  await call('PATCH', `/Groups/${second}`, operations({ op: 'remove', path: 'members' }));
  expect(await heldBy(api, user.id)).toEqual([]);
  const body = { role_assignments: [{ identity_id: user.id, role_id: one.role_id, node_id: null }] };
  await send(api.app, 200, {
    method: 'POST',
    url: '/api/v1/role-assignments',
    headers: await account.apiKey(),
    payload: body,
  });
  await call('PATCH', `/Groups/${second}`, operations({ op: 'add', path: 'members', value: [{ value: user.id }] }));
  await call('DELETE', `/Groups/${second}`);
  expect(await heldBy(api, user.id)).toEqual([asHeld(one)]);
});

test('parallel changes of groups end as if they had come one after the other', async () => {
  const mapping = await map('Crowd');
  await map('Crowd too', { role_id: mapping.role_id });
  const users = await Promise.all(Array.from({ length: 6 }, () => newUser(call)));
  const [one, two] = [await newGroup(call, 'Crowd'), await newGroup(call, 'Crowd too', ...users.map(({ id }) => id))];
  const add = users.map(({ id }) =>
    call('PATCH', `/Groups/${one}`, operations({ op: 'add', path: 'members', value: [{ value: id }] })),
  );
  expect((await Promise.all(add)).map(scimOutcome)).toEqual(users.map(() => '204'));
  expect(await membersOf(one)).toHaveLength(6);
  const remove = users.flatMap(({ id }) =>
    [one, two].map((group) =>
      call('PATCH', `/Groups/${group}`, operations({ op: 'remove', path: `members[value eq "${id}"]` })),
    ),
  );
  expect((await Promise.all(remove)).map(scimOutcome)).toEqual(remove.map(() => '204'));
  for (const { id } of users) expect(await heldBy(api, id)).toEqual([]);
});

test('mappings give no more than their creator may assign, and name what exists', async () => {
  const body = { environment_id: account.scope.environmentId, scim_group: 'X', role_id: await newRole() };
  const refused = async (more: object, role: 'owner' | 'viewer' | 'developer' = 'owner') =>
    outcomeOf(await portal('POST', '/scim/group-mappings', { ...body, ...more }, role));
  expect(await refused({}, 'viewer')).toBe('403 account.capability_required');
  const unknown = '00000000-0000-7000-8000-000000000001';
  expect(await refused({ environment_id: unknown })).toBe('404 environment.not_found');
  expect(await refused({ organization_id: unknown })).toBe('404 organization.not_found');
  expect(await refused({ role_id: unknown })).toBe('404 role.not_found');
  expect(await refused({ node_id: unknown })).toBe('404 nodes.node_not_found');
  const organization = await make(api, account, '/organizations', { name: 'Inside' });
  expect(await refused({ organization_id: organization.id, node_id: rootId })).toBe('400 validation.failed');
  expect(await refused({})).toBe('201');
  expect(await refused({ scim_group: 'x' })).toBe('409 scim_group_mapping.exists');
});

describe('the directory of an organization', () => {
  let organization: string;
  let own: ScimCall;
  beforeAll(async () => {
    organization = (await make(api, account, '/organizations', { name: 'Acme' })).id;
    own = await newDirectory(api, account, organization);
  });
  const isMember = async (identityId: string) =>
    (
      await rowsOf(api, 'select from organization_members where organization_id = $1 and identity_id = $2', [
        organization,
        identityId,
      ])
    ).length === 1;
  const isThere = async (identityId: string) =>
    (await rowsOf(api, 'select from environment_memberships where identity_id = $1', [identityId])).length === 1;

  const isLetIn = async (identityId: string) =>
    (
      await rowsOf<{ is_active: boolean }>(
        api,
        'select is_active from environment_memberships where identity_id = $1',
        [identityId],
      )
    )[0]?.is_active;

  test('has its own people: they are members, and nobody else is seen', async () => {
    const outsider = await newUser(call);
    const user = await newUser(own);
    expect(await isMember(user.id)).toBe(true);
    expect((await own('GET', `/Users/${outsider.id}`)).statusCode).toBe(404);
    expect((await own('GET', '/Users')).json().totalResults).toBe(1);
    expect((await own('DELETE', `/Users/${user.id}`)).statusCode).toBe(204);
    expect(await isThere(user.id)).toBe(false);
  });

  test('lets nobody in again whom the environment has kept out since', async () => {
    const elsewhere = (await make(api, account, '/organizations', { name: 'Elsewhere' })).id;
    const key = callsWith(api, await account.apiKey());
    const active = (id: string, value: boolean) =>
      own('PATCH', `/Users/${id}`, operations({ op: 'replace', path: 'active', value }));
    const bothTimes = async (keptOut: (id: string) => Promise<unknown>) => {
      const { id } = await newUser(own);
      await key('POST', `/organizations/${elsewhere}/members`, { identity_id: id });
      await keptOut(id);
      await key('POST', `/identities/${id}/deactivate`);
      return [(await active(id, true)).statusCode, await isLetIn(id)];
    };
    const fromOrganization = async (id: string) => {
      expect((await active(id, false)).statusCode).toBe(200);
      expect([await isMember(id), await isLetIn(id)]).toEqual([false, true]);
    };
    expect(await bothTimes(fromOrganization)).toEqual([403, false]);
    const fromEnvironment = async (id: string) => {
      await key('DELETE', `/organizations/${elsewhere}/members/${id}`);
      expect((await active(id, false)).statusCode).toBe(200);
      expect(await isLetIn(id)).toBe(false);
      await key('POST', `/identities/${id}/activate`);
      expect(await isLetIn(id)).toBe(true);
    };
    expect(await bothTimes(fromEnvironment)).toEqual([403, false]);
    // A person who is out already is kept out by the last one to say so.
    const andStay = async (id: string) => {
      await key('DELETE', `/organizations/${elsewhere}/members/${id}`);
      expect((await active(id, false)).statusCode).toBe(200);
      expect(await isLetIn(id)).toBe(false);
    };
    expect(await bothTimes(andStay)).toEqual([403, false]);
  });

  test('what its groups give inside an organization below ends with the mapping, the group and the membership', async () => {
    const inner = (await make(api, account, '/organizations', { name: 'Inner', parent_node_id: organization })).id;
    const more = { organization_id: organization, node_id: inner };
    const [kept, unmapped] = [await map('Nested', more), await map('Nested', more)];
    const user = await newUser(own);
    await make(api, account, `/organizations/${inner}/members`, { identity_id: user.id });
    const group = await newGroup(own, 'Nested', user.id);
    expect(await heldBy(api, user.id)).toEqual([asHeld(kept), asHeld(unmapped)].sort());
    expect(outcomeOf(await portal('DELETE', `/scim/group-mappings/${unmapped.id}`))).toBe('204');
    expect(await heldBy(api, user.id)).toEqual([asHeld(kept)]);
    const active = (value: boolean) => operations({ op: 'replace', path: 'active', value });
    expect((await own('PATCH', `/Users/${user.id}`, active(false))).statusCode).toBe(200);
    expect(await heldBy(api, user.id)).toEqual([]);
    expect((await own('PATCH', `/Users/${user.id}`, active(true))).statusCode).toBe(200);
    expect(await heldBy(api, user.id)).toEqual([asHeld(kept)]);
    // By the Public API, which knows nothing of directories.
    const url = `/api/v1/organizations/${organization}/members/${user.id}`;
    await send(api.app, 204, { method: 'DELETE', url, headers: await account.apiKey() });
    expect(await heldBy(api, user.id)).toEqual([]);
    await make(api, account, `/organizations/${organization}/members`, { identity_id: user.id });
    await own('PATCH', `/Groups/${group}`, operations({ op: 'replace', path: 'displayName', value: 'NESTED' }));
    expect(await heldBy(api, user.id)).toEqual([asHeld(kept)]);
    expect((await own('DELETE', `/Groups/${group}`)).statusCode).toBe(204);
    expect(await heldBy(api, user.id)).toEqual([]);
  });

  test('groups of the same name in another directory give nothing', async () => {
    const mapping = await map('Twins');
    const inside = await map('Twins', { organization_id: organization });
    const user = await newUser(own);
    await newGroup(own, 'Twins', user.id);
    expect(inside.node_id).toBe(organization);
    expect(await heldBy(api, user.id)).toEqual([asHeld(inside)]);
    expect(await heldBy(api, user.id)).not.toContain(asHeld(mapping));
  });

  test('accepts people of the account only if the organization has verified the domain', async () => {
    const stranger = anAddress();
    await make(api, account, '/identities', { email: stranger });
    expect(scimOutcome(await own('POST', '/Users', { userName: stranger }))).toBe('409 uniqueness');
    const domain = await verified(api, account, organization);
    const theirs = anAddress(domain);
    const { id } = await make(api, account, '/identities', { email: theirs });
    expect((await own('POST', '/Users', { userName: theirs })).json()).toMatchObject({ id });
    expect(await isMember(id)).toBe(true);
    // A person who was in the environment before stays in it.
    expect((await own('DELETE', `/Users/${id}`)).statusCode).toBe(204);
    expect([await isMember(id), await isThere(id)]).toEqual([false, true]);
  });

  test('puts nobody into a group whom it may not take over, by any request', async () => {
    const newMember = async (email: string) => {
      const { id } = await make(api, account, '/identities', { email });
      await make(api, account, `/organizations/${organization}/members`, { identity_id: id });
      return id;
    };
    const group = await newGroup(own, 'Closed');
    const outcomesOf = async (value: string) => {
      const body = { displayName: 'Closed', members: [{ value }] };
      const patch = operations({ op: 'add', path: 'members', value: body.members });
      const answers = [
        await own('POST', '/Groups', body),
        await own('PUT', `/Groups/${group}`, body),
        await own('PATCH', `/Groups/${group}`, patch),
      ];
      return answers.map(scimOutcome);
    };
    expect(await outcomesOf(await newMember(anAddress()))).toEqual(Array(3).fill('403'));
    const named = anAddress(await verified(api, account, organization));
    await newUser(own, { userName: named, emails: [{ value: anAddress() }] });
    expect(await outcomesOf(await newMember(named))).toEqual(Array(3).fill('409 uniqueness'));
  });

  test('gives a person of its provider no address of another’s', async () => {
    const [mine, mineToo] = [await verified(api, account, organization), await verified(api, account, organization)];
    const theirs = await verified(api, account, (await make(api, account, '/organizations', { name: 'Theirs' })).id);
    const { id } = await newUser(own, { userName: anAddress(mine) });
    const moved = async (domain: string) => {
      const operation = { op: 'replace', path: 'userName', value: anAddress(domain) };
      return (await own('PATCH', `/Users/${id}`, operations(operation))).statusCode;
    };
    // Nobody has signed in as this person; still, the address would make them one of the other organization.
    expect([await moved(theirs), await moved('nobodys.example'), await moved(mine)]).toEqual([403, 200, 200]);
    const body = { type: 'saml', name: 'Mine' };
    await make(api, account, `/organizations/${organization}/sso-connection`, body);
    await rowsOf(
      api,
      `insert into sso_links (id, account_id, connection_id, subject, identity_id, created_at, last_login_at)
       select gen_random_uuid(), account_id, id, 'eve', $2, now(), now() from sso_connections where organization_id = $1`,
      [organization, id],
    );
    expect([await moved(theirs), await moved('nobodys.example'), await moved(mineToo)]).toEqual([403, 403, 200]);
  });

  test('keeps its own people out of the environment, and others out of the organization only', async () => {
    const mapping = await map('Sales', { organization_id: organization });
    const other = (await make(api, account, '/organizations', { name: 'Other' })).id;
    const user = await newUser(own);
    await newGroup(own, 'Sales', user.id);
    const set = async (active: boolean) =>
      (await own('PATCH', `/Users/${user.id}`, operations({ op: 'replace', path: 'active', value: active }))).json();
    const isLetIn = async () =>
      (
        await rowsOf<{ is: boolean }>(
          api,
          'select is_active as is from environment_memberships where identity_id = $1',
          [user.id],
        )
      )[0]?.is;
    expect(await set(false)).toMatchObject({ active: false });
    expect(await isLetIn()).toBe(false);
    expect(await set(true)).toMatchObject({ active: true });
    await make(api, account, `/organizations/${other}/members`, { identity_id: user.id });
    expect(await set(false)).toMatchObject({ active: false });
    expect([await isLetIn(), await isMember(user.id), await heldBy(api, user.id)]).toEqual([true, false, []]);
    expect(await set(true)).toMatchObject({ active: true });
    expect([await isMember(user.id), await heldBy(api, user.id)]).toEqual([true, [asHeld(mapping)]]);
    // An organization cannot let in a person whom the application has deactivated.
    const url = `/api/v1/identities/${user.id}/deactivate`;
    await send(api.app, 200, { method: 'POST', url, headers: await account.apiKey() });
    expect(
      (await own('PATCH', `/Users/${user.id}`, operations({ op: 'replace', path: 'active', value: true }))).statusCode,
    ).toBe(403);
  });
});
