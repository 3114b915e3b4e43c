import { v7 as uuidv7 } from 'uuid';
import { newMember } from '../../support/administrators.js';
import { outcomeOf, outcomesOf, shape } from '../../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { membersOf, newOrganization, newPerson, newRole, rolesHeld } from '../../support/api-organizations.js';
import { assign, type Calls, callsWith, newIdentity, newNode, rootOf } from '../../support/nodes.js';
import { databaseTime, eventsSince, rowsOf } from '../../support/rows.js';

let api: TestApi;
let account: TestAccount;
let key: Calls;
let acme: string;
let path: string;
beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  account = await newAccount(api);
  key = callsWith(api, await account.apiKey());
  acme = (await newOrganization(key, 'Acme')).id;
  path = `/organizations/${acme}/members`;
});
afterAll(() => api.stop());

const join = async (identityId: string, roleIds: string[] = [], organizationId = acme) => {
  const answer = await key('POST', `/organizations/${organizationId}/members`, {
    identity_id: identityId,
    role_ids: roleIds,
  });
  if (answer.statusCode !== 201) throw new Error(answer.body);
};
const eventsOf = async (since: string) =>
  (await eventsSince(api, account.scope.accountId, since))
    .filter(({ action }) => action.startsWith('organization.'))
    .map(({ action, metadata }) => ({ action, ...metadata }));
const countOf = async () => (await key('GET', `/organizations/${acme}`)).json().data.member_count;

describe('a caller who manages one organization', () => {
  test('cannot add members of other organizations to it: that would let the caller change their address and their sign-in', async () => {
    const globex = (await newOrganization(key, 'Globex')).id;
    const inside = (await newOrganization(key, 'Acme Labs', { parent_node_id: acme })).id;
    const [ben, lena] = [await newPerson(api, account), await newPerson(api, account)];
    await join(ben, [], globex);
    await join(lena, [], inside);
    const manager = await newIdentity(api, account, [['organization_manager', acme]]);
    const limited = await newMember(api, account, 'developer', undefined, { node_ids: [acme] });
    for (const calls of [callsWith(api, manager.headers), callsWith(api, limited.headers, account.portalPath(''))]) {
      const add = async (identity_id: string) => outcomeOf(await calls('POST', path, { identity_id }));
      expect(await add(ben)).toBe('404 identity.not_found');
      expect(await add(uuidv7())).toBe('404 identity.not_found');
      expect(await add(lena)).toBe('201');
      expect(await add(manager.id)).toBe('404 identity.not_found');
      await key('DELETE', `${path}/${lena}`);
    }
    // Permissions held at an inactive organization do not apply.
    const both = await newIdentity(api, account, [
      ['organization_manager', acme],
      ['organization_manager', globex],
    ]);
    const takes = async () => outcomeOf(await callsWith(api, both.headers)('POST', path, { identity_id: ben }));
    const turn = async (status: string) => {
      const { version } = (await key('GET', `/nodes/${globex}`)).json().data;
      expect(outcomeOf(await key('PATCH', `/nodes/${globex}`, { status }, version))).toBe('200');
    };
    await turn('inactive');
    expect(await takes()).toBe('404 identity.not_found');
    await turn('active');
    expect(await takes()).toBe('201');
    await key('DELETE', `${path}/${ben}`);
    const everywhere = await newIdentity(api, account, [['organization_manager', (await rootOf(key)).id]]);
    expect(outcomeOf(await callsWith(api, everywhere.headers)('POST', path, { identity_id: ben }))).toBe('201');
  });
});

describe('a caller who assigns roles in one organization', () => {
  const given = (calls: Calls, id: string, role_id: string, node_id = acme) =>
    calls('POST', `/identities/${id}/role-assignments`, { role_id, node_id });

  test('assigns none to people of others: it would reveal them, and mail them', async () => {
    const globex = (await newOrganization(key, 'Globex')).id;
    const inside = (await newOrganization(key, 'Acme Labs', { parent_node_id: acme })).id;
    const reader = await newRole(key, 'Reader', ['hierarchy.view']);
    const person = async (organization?: string) => {
      const id = await newPerson(api, account);
      if (organization) await join(id, [], organization);
      return id;
    };
    const [ben, kai, lena, free] = [await person(globex), await person(globex), await person(inside), await person()];
    await given(key, kai, reader, inside);
    // A role here that was removed is none.
    const { assignment_id } = (await given(key, ben, reader, inside)).json().data;
    expect(outcomeOf(await key('DELETE', `/identities/${ben}/role-assignments/${assignment_id}`))).toBe('204');
    const manager = callsWith(api, (await newIdentity(api, account, [['organization_manager', acme]])).headers);
    expect(outcomeOf(await given(manager, ben, reader))).toBe('404 identity.not_found');
    const many = [ben, lena].map((identity_id) => ({ identity_id, role_id: reader, node_id: acme }));
    const { items } = (await manager('POST', '/role-assignments', { role_assignments: many })).json();
    expect(items.map((one: { error: { code: string } | null }) => one.error?.code)).toEqual([
      'identity.not_found',
      undefined,
    ]);
    // A person with a role here is known already, and one in no organization belongs to none.
    for (const id of [kai, free]) expect(outcomeOf(await given(manager, id, reader))).toBe('201');
    const shown: { id: string }[] = (await manager('GET', `/nodes/${acme}/identities`)).json().items;
    expect(shown.map(({ id }) => id)).toEqual(expect.arrayContaining([kai, lena, free]));
    expect(shown.map(({ id }) => id)).not.toContain(ben);
    const { id: root } = await rootOf(key);
    const everywhere = await newIdentity(api, account, [['organization_manager', root]]);
    const reading = await newIdentity(api, account, [
      ['organization_manager', acme],
      ['viewer', root],
    ]);
    for (const calls of [callsWith(api, everywhere.headers), callsWith(api, reading.headers), key])
      expect(outcomeOf(await given(calls, await person(globex), reader))).toBe('201');
  });

  test('assigns them to members of an organization around a part of it, but not by a role that does not apply', async () => {
    const globex = (await newOrganization(key, 'Globex')).id;
    const { id: team } = await newNode(key, 'Team', acme);
    const reader = await newRole(key, 'Reader', ['hierarchy.view']);
    const [ben, lena] = [await newPerson(api, account), await newPerson(api, account)];
    await join(ben, [], globex);
    await join(lena);
    const lead = await newIdentity(api, account, [
      ['organization_manager', team],
      ['organization_manager', globex],
    ]);
    const calls = callsWith(api, lead.headers);
    expect(outcomeOf(await given(calls, lena, reader, team))).toBe('201');
    const { version } = (await key('GET', `/nodes/${globex}`)).json().data;
    await key('PATCH', `/nodes/${globex}`, { status: 'inactive' }, version);
    expect(outcomeOf(await given(calls, ben, reader, team))).toBe('404 identity.not_found');
  });

  test('assigns them to its members, whatever is inactive elsewhere and in other accounts', async () => {
    const reader = await newRole(key, 'Reader', ['hierarchy.view']);
    const inside = (await newOrganization(key, 'Acme Labs', { parent_node_id: acme })).id;
    const lena = await newPerson(api, account);
    await join(lena, [], inside);
    const manager = callsWith(api, (await newIdentity(api, account, [['organization_manager', acme]])).headers);
    const neighbour = callsWith(api, await (await newAccount(api)).apiKey());
    await newNode(neighbour, 'Closed', null, { status: 'inactive' });
    await newNode(key, 'Closed', null, { status: 'inactive' });
    expect(outcomeOf(await given(manager, lena, reader))).toBe('201');
  });
});

describe('a member', () => {
  test('is added with roles, shown with them, changed and removed', async () => {
    const since = await databaseTime(api);
    const email = `ben.${uuidv7()}@example.com`;
    const ben = await newPerson(api, account, email);
    const [reader, writer] = [await newRole(key, 'Reader', ['hierarchy.view']), await newRole(key, 'Writer', [])];
    const added = await key('POST', path, { identity_id: ben, role_ids: [reader] });
    expect(outcomeOf(added)).toBe('201');
    const role = {
      assignment_id: shape.id,
      id: reader,
      name: 'Reader',
      node_id: acme,
      node_name: 'Acme',
      effective_from: null,
      effective_to: null,
    };
    const member = {
      identity_id: ben,
      email,
      first_name: 'Ben',
      last_name: 'Adler',
      name: 'Ben Adler',
      avatar_url: null,
      is_active: true,
      role_ids: [reader],
      roles: [role],
      created_at: shape.created_at,
    };
    expect(added.json().data).toEqual(member);
    expect((await key('GET', path)).json()).toMatchObject({
      items: [added.json().data],
      pagination: { item_count: 1 },
    });
    expect((await key('GET', `${path}/${ben}`)).json()).toEqual(added.json());
    expect(outcomeOf(await key('GET', `${path}/${uuidv7()}`))).toBe('404 organization.member_not_found');
    expect(await countOf()).toBe(1);

    const changed = await key('PATCH', `${path}/${ben}`, { role_ids: [writer] });
    expect(changed.json().data).toMatchObject({ role_ids: [writer], roles: [{ id: writer, name: 'Writer' }] });
    expect(await rolesHeld(api, ben, acme)).toEqual([writer]);
    expect(outcomeOf(await key('PATCH', `${path}/${ben}`, { role_ids: [writer] }))).toBe('200');
    expect(outcomeOf(await key('DELETE', `${path}/${ben}`))).toBe('204');
    expect([await countOf(), await rolesHeld(api, ben, acme)]).toEqual([0, []]);
    expect(outcomeOf(await key('GET', `${path}/${ben}`))).toBe('404 organization.member_not_found');
    expect(outcomeOf(await key('GET', `/identities/${ben}`))).toBe('200');
    expect(await eventsOf(since)).toEqual([
      { action: 'organization.member_added', identity_id: ben, role_ids: [reader] },
      { action: 'organization.member_updated', identity_id: ben, added: [writer], removed: [reader] },
      { action: 'organization.member_removed', identity_id: ben },
    ]);
  });

  test('is recorded with the roles that were assigned, not with those held before', async () => {
    const ben = await newPerson(api, account);
    const [held, given] = [await newRole(key, 'Held', []), await newRole(key, 'Given', [])];
    await key('POST', `/identities/${ben}/role-assignments`, { role_id: held, node_id: acme });
    const since = await databaseTime(api);
    expect(outcomeOf(await key('POST', path, { identity_id: ben, role_ids: [held, given] }))).toBe('201');
    expect(await eventsOf(since)).toEqual([
      { action: 'organization.member_added', identity_id: ben, role_ids: [given] },
    ]);
  });

  test('is one once, however many add it at the same time', async () => {
    const ben = await newPerson(api, account);
    const adding = Array.from({ length: 8 }, () => key('POST', path, { identity_id: ben }));
    expect(outcomesOf(await Promise.all(adding))).toEqual({ 201: 1, '409 organization.already_member': 7 });
    expect(await membersOf(api, acme)).toEqual({ members: [ben], count: 1 });
    const removing = Array.from({ length: 8 }, () => key('DELETE', `${path}/${ben}`));
    expect(outcomesOf(await Promise.all(removing))).toEqual({ 204: 1, '404 organization.member_not_found': 7 });
    expect(await membersOf(api, acme)).toEqual({ members: [], count: 0 });
  });

  test('is added once by retries with one Idempotency-Key', async () => {
    const ben = await newPerson(api, account);
    const again = callsWith(api, { ...(await account.apiKey()), 'idempotency-key': uuidv7() });
    for (let i = 0; i < 3; i++) expect(outcomeOf(await again('POST', path, { identity_id: ben }))).toBe('201');
    expect(await countOf()).toBe(1);
  });

  test('belongs to this environment, as organization and roles do', async () => {
    const ben = await newPerson(api, account);
    const elsewhere = { scope: account.productionScope };
    const stranger = await newPerson(api, elsewhere);
    const production = callsWith(api, await account.as('owner'), account.portalPath('', 'production'));
    const foreign = (await newOrganization(production, 'Foreign')).id;
    const foreignRole = await newRole(production, 'Foreign', []);
    const add = async (organization: string, identity_id: string, role_ids: string[] = []) =>
      outcomeOf(await key('POST', `/organizations/${organization}/members`, { identity_id, role_ids }));
    expect(await add(acme, stranger)).toBe('404 identity.not_found');
    expect(await add(acme, uuidv7())).toBe('404 identity.not_found');
    expect(await add(foreign, ben)).toBe('404 organization.not_found');
    expect(await add((await rootOf(key)).id, ben)).toBe('404 organization.not_found');
    expect(await add(acme, ben, [foreignRole])).toBe('404 role.not_found');
    await join(ben);
    expect(outcomeOf(await key('PATCH', `${path}/${ben}`, { role_ids: [foreignRole] }))).toBe('404 role.not_found');
    for (const at of [`${path}/${stranger}`, `${path}/${uuidv7()}`]) {
      expect(outcomeOf(await key('PATCH', at, { role_ids: [] }))).toBe('404 organization.member_not_found');
      expect(outcomeOf(await key('PATCH', at, { role_ids: 1 }))).toBe('404 organization.member_not_found');
      expect(outcomeOf(await key('DELETE', at))).toBe('404 organization.member_not_found');
    }
    expect(outcomeOf(await key('GET', `/organizations/${foreign}/members`))).toBe('404 organization.not_found');
    expect(outcomeOf(await key('DELETE', `/organizations/${foreign}/members/${ben}`))).toBe(
      '404 organization.not_found',
    );
  });

  test.each([
    [{}],
    [{ identity_id: 'ben' }],
    [{ identity_id: uuidv7(), role_ids: ['x'] }],
    [{ identity_id: uuidv7(), role_ids: null }],
    [{ identity_id: uuidv7(), roles: [] }],
  ])('is not created from %j', async (body) => {
    expect(outcomeOf(await key('POST', path, body))).toBe('400 validation.failed');
  });
});

describe('the list', () => {
  test('is searched by name and address, sorted and paged', async () => {
    const names = ['ana', 'ben', 'cleo'];
    const people: string[] = [];
    expect((await key('GET', path)).json()).toMatchObject({ items: [], pagination: { item_count: 0 } });
    for (const name of names) {
      people.push(await newPerson(api, account, `${name}.${uuidv7()}@example.com`));
      await join(people.at(-1) as string);
      api.clock.advance(1_000);
    }
    await newPerson(api, account, `ana.${uuidv7()}@example.com`);
    const found = async (query: string) => {
      const { items, pagination } = (await key('GET', `${path}${query}`)).json();
      const ids = items.map(({ identity_id }: { identity_id: string }) => names[people.indexOf(identity_id)]);
      return [...ids, pagination.item_count];
    };
    expect(await found('')).toEqual(['cleo', 'ben', 'ana', 3]);
    expect(await found('?sort_by=email&order=asc')).toEqual(['ana', 'ben', 'cleo', 3]);
    expect(await found('?sort_by=last_name&take=2&page=2')).toEqual([expect.any(String), 3]);
    expect(await found('?take=1&page=3')).toEqual(['ana', 3]);
    expect(await found('?page=2')).toEqual([3]);
    expect(await found('?q=ANA')).toEqual(['ana', 1]);
    expect(await found('?q=adler&take=2')).toEqual(['cleo', 'ben', 3]);
    expect(await found('?q=adler&take=2&page=2')).toEqual(['ana', 3]);
    expect(outcomeOf(await key('GET', `${path}?sort_by=role`))).toBe('400 validation.failed');
  });

  test('shows roles at the organization only', async () => {
    const ben = await newPerson(api, account);
    const [role, elsewhere] = [await newRole(key, 'Here', []), await newRole(key, 'Elsewhere', [])];
    await key('POST', `/identities/${ben}/role-assignments`, { role_id: elsewhere });
    await join(ben, [role]);
    expect((await key('GET', path)).json().items[0].role_ids).toEqual([role]);
    await key('POST', `/identities/${ben}/deactivate`);
    expect((await key('GET', path)).json().items[0].is_active).toBe(false);
  });
});

describe('roles', () => {
  test('that are held already keep their window, and those elsewhere stay', async () => {
    const ben = await newPerson(api, account);
    const [kept, other] = [await newRole(key, 'Kept', []), await newRole(key, 'Other', [])];
    const until = '2999-01-01T00:00:00.000Z';
    const root = await key('POST', `/identities/${ben}/role-assignments`, { role_id: other });
    await key('POST', `/identities/${ben}/role-assignments`, { role_id: kept, node_id: acme, effective_to: until });
    await join(ben);
    const changed = (await key('PATCH', `${path}/${ben}`, { role_ids: [kept, other] })).json().data;
    expect(changed.roles).toEqual([
      expect.objectContaining({ id: kept, effective_to: until }),
      expect.objectContaining({ id: other, effective_to: null }),
    ]);
    await key('PATCH', `${path}/${ben}`, { role_ids: [] });
    const { items } = (await key('GET', `/identities/${ben}/role-assignments`)).json();
    expect(items.map((one: { assignment_id: string }) => one.assignment_id)).toEqual([root.json().data.assignment_id]);
  });

  test('end with the membership at the organization and below it, but not where another membership is', async () => {
    const ben = await newPerson(api, account);
    const role = await newRole(key, 'Reader', []);
    const unit = (await newNode(key, 'Unit', acme)).id;
    const inside = (await newOrganization(key, 'Inside', { parent_node_id: acme })).id;
    const foreign = (await newOrganization(key, 'Not a member', { parent_node_id: acme })).id;
    const insideUnit = (await newNode(key, 'Inside unit', inside)).id;
    const root = (await rootOf(key)).id;
    await join(ben);
    await join(ben, [], inside);
    for (const nodeId of [root, acme, unit, inside, foreign, insideUnit]) {
      await key('POST', `/identities/${ben}/role-assignments`, { role_id: role, node_id: nodeId });
    }
    expect(outcomeOf(await key('DELETE', `${path}/${ben}`))).toBe('204');
    const held = await rowsOf<{ node_id: string }>(
      api,
      'select node_id from role_assignments where identity_id = $1 and removed_at is null',
      [ben],
    );
    expect(held.map(({ node_id }) => node_id).sort()).toEqual([root, inside, insideUnit].sort());
    await key('DELETE', `/organizations/${inside}/members/${ben}`);
    expect(await rolesHeld(api, ben, inside)).toEqual([]);
    expect(await rolesHeld(api, ben, insideUnit)).toEqual([]);
  });

  test('are set by many at the same time without a mixture of both', async () => {
    const ben = await newPerson(api, account);
    await join(ben);
    const roles = await Promise.all([1, 2, 3].map((i) => newRole(key, `Role ${i}`, [])));
    const setting = [...roles, ...roles].map((role) => key('PATCH', `${path}/${ben}`, { role_ids: [role] }));
    expect(outcomesOf(await Promise.all(setting))).toEqual({ 200: 6 });
    expect(await rolesHeld(api, ben, acme)).toHaveLength(1);
  });
});

describe('permissions', () => {
  const outcomesFor = async (call: Calls, memberId: string, newcomer: string, role: string) => ({
    list: outcomeOf(await call('GET', path)),
    add: outcomeOf(await call('POST', path, { identity_id: newcomer })),
    give: outcomeOf(await call('PATCH', `${path}/${memberId}`, { role_ids: [role] })),
    keep: outcomeOf(await call('PATCH', `${path}/${memberId}`, { role_ids: await rolesHeld(api, memberId, acme) })),
    remove: outcomeOf(await call('DELETE', `${path}/${newcomer}`)),
  });
  let ben: string;
  let cleo: string;
  let strong: string;
  beforeEach(async () => {
    [ben, cleo] = [await newPerson(api, account), await newPerson(api, account)];
    strong = await newRole(key, 'Strong', ['identity.manage']);
    await join(ben);
  });
  const everything = { list: '200', add: '201', give: '200', keep: '200', remove: '204' };
  const refused = (code: string) => Object.fromEntries(Object.keys(everything).map((name) => [name, code]));

  test('an API key has those of its scopes', async () => {
    const scoped = async (...scopes: string[]) =>
      outcomesFor(callsWith(api, await account.apiKey(scopes)), ben, cleo, strong);
    expect(await scoped('hierarchy.view', 'rbac.assign_roles')).toEqual(refused('403 api_key.scope_required'));
    const give = '403 api_key.scope_required';
    expect(await scoped('svc:organization.manage')).toEqual({ ...everything, give });
    expect(await scoped('hierarchy.manage', 'rbac.assign_roles')).toEqual({
      ...everything,
      give: '403 role.cannot_grant',
    });
    expect(await scoped('hierarchy.manage', 'rbac.assign_roles', 'identity.manage')).toEqual(everything);
  });

  test('a caller who may not assign roles may not remove any either', async () => {
    const reader = await newRole(key, 'Reader', ['hierarchy.view']);
    await join(cleo, [reader]);
    const manager = callsWith(api, await account.apiKey(['svc:organization.manage']));
    const one = `${path}/${cleo}`;
    expect(outcomeOf(await manager('PATCH', one, { role_ids: [] }))).toBe('403 api_key.scope_required');
    expect(await rolesHeld(api, cleo, acme)).toEqual([reader]);
    expect(outcomeOf(await key('PATCH', one, { role_ids: [] }))).toBe('200');
  });

  test('of end users come from their roles, and nobody can assign a role that holds more than their own', async () => {
    const inside = (await newOrganization(key, 'Inside', { parent_node_id: acme })).id;
    const who = async (role: string, nodeId: string) => {
      const newcomer = await newPerson(api, account);
      await join(newcomer, [], inside);
      const { headers } = await newIdentity(api, account, [[role, nodeId]]);
      return outcomesFor(callsWith(api, headers), ben, newcomer, strong);
    };
    const other = (await newOrganization(key, 'Other')).id;
    expect(await who('viewer', acme)).toEqual(refused('403 permission.required'));
    expect(await who('organization_manager', other)).toEqual(refused('403 permission.required'));
    expect(await who('organization_manager', acme)).toEqual({ ...everything, give: '403 role.cannot_grant' });
    expect(await who('administrator', acme)).toEqual(everything);
  });

  test('a refusal names the field in which the roles were sent', async () => {
    const manager = callsWith(api, await account.apiKey(['svc:organization.manage', 'rbac.assign_roles']));
    const lacking = { code: 'lacking', message: 'You do not hold identity.manage yourself' };
    const told = async (...sent: Parameters<typeof manager>) => (await manager(...sent)).json().error.details;
    const details = [{ field: 'role_ids', ...lacking }];
    expect(await told('POST', path, { identity_id: cleo, role_ids: [strong] })).toEqual(details);
    expect(await told('PATCH', `${path}/${ben}`, { role_ids: [strong] })).toEqual(details);
    const invitation = { email: 'new@example.com', role_ids: [strong] };
    expect(await told('POST', `/organizations/${acme}/invitations`, invitation)).toEqual(details);
    const connection = { type: 'oidc', name: 'Acme', default_role_id: strong };
    const refused = await told('POST', `/organizations/${acme}/sso-connection`, connection);
    expect(refused).toEqual([{ field: 'default_role_id', ...lacking }]);
  });

  test('a role that stays unchanged need not be held by the caller', async () => {
    await assign(api, account, ben, 'administrator', acme);
    const [held = ''] = await rolesHeld(api, ben, acme);
    const weak = await newRole(key, 'Weak', ['hierarchy.view']);
    const manager = await newIdentity(api, account, [['organization_manager', acme]]);
    await join(manager.id, [], (await newOrganization(key, 'Inside', { parent_node_id: acme })).id);
    const call = callsWith(api, manager.headers);
    expect(outcomeOf(await call('PATCH', `${path}/${ben}`, { role_ids: [held, weak] }))).toBe('200');
    expect(outcomeOf(await call('POST', path, { identity_id: manager.id, role_ids: [held] }))).toBe(
      '403 role.cannot_grant',
    );
    expect(await membersOf(api, acme)).toMatchObject({ members: [ben] });
  });

  test('administrators have those of their capabilities', async () => {
    const portal = async (role: 'developer' | 'viewer') =>
      outcomesFor(callsWith(api, await account.as(role), account.portalPath('')), ben, cleo, strong);
    const none = refused('403 account.capability_required');
    expect(await portal('viewer')).toEqual({ ...none, list: '200' });
    expect(await portal('developer')).toEqual(everything);
  });

  test('strangers have none', async () => {
    expect(await outcomesFor(callsWith(api, {}), ben, cleo, strong)).toEqual(refused('401'));
  });
});
