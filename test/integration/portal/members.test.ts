import { randomBytes } from 'node:crypto';
import { newMember, rolesByKey } from '../../support/administrators.js';
import { outcomeOf, outcomesOf, shape } from '../../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { type Call, callsOf } from '../../support/calls.js';
import { callsWith, newNode } from '../../support/nodes.js';
import { databaseTime, eventsSince, rowsOf } from '../../support/rows.js';

let api: TestApi;
let account: TestAccount;
let owner: Call;
let roles: Record<string, string>;
beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  account = await newAccount(api);
  owner = callsOf(api, account.accountSlug, await account.as('owner'));
  roles = await rolesByKey(owner);
});
afterAll(() => api.stop());

const give = (call: Call, id: string, ...given: object[]) => call('PATCH', `/members/${id}`, { roles: given });
const leave = ({ headers }: { headers: Record<string, string> }, { accountId } = account.scope) =>
  api.app.inject({ method: 'DELETE', url: `/v1/auth/accounts/${accountId}/membership`, headers });
const role = (key: string, limits: object | null = null) => ({ role_id: roles[key], limits });

test('members are listed with their roles, searched, sorted and read', async () => {
  const developer = await newMember(api, account, 'developer');
  const list = (query = '') => owner('GET', `/members${query}`).then((answer) => answer.json());
  const { items, pagination } = await list();
  expect(pagination).toMatchObject({ item_count: 2, page_count: 1 });
  expect(items[0]).toEqual({
    id: developer.membershipId,
    user_id: developer.userId,
    email: developer.email,
    first_name: 'Mia',
    last_name: 'Berg',
    roles: [{ role_id: roles.developer, name: 'Developer', limits: null }],
    mfa_enrolled: false,
    sso_available: false,
    status: 'active',
    created_at: shape.created_at,
  });
  expect((await owner('GET', `/members/${developer.membershipId}`)).json()).toEqual({ data: items[0] });
  expect((await list(`?q=${developer.email.toUpperCase()}`)).items).toHaveLength(1);
  expect((await list('?q=mia%20be')).items).toHaveLength(1);
  expect((await list(`?role_id=${roles.owner}`)).items.map(({ user_id }: { user_id: string }) => user_id)).toEqual([
    account.userId,
  ]);
  expect((await list('?sort_by=email&order=asc')).items).toHaveLength(2);
  expect(outcomeOf(await owner('GET', '/members?sort_by=password_hash'))).toBe('400 validation.failed');
});

test('other roles apply from the next request, with an event', async () => {
  const member = await newMember(api, account, 'viewer');
  expect(outcomeOf(await member.call('PATCH', '', { name: 'x' }))).toBe('403 account.capability_required');
  const since = await databaseTime(api);
  const changed = await give(owner, member.membershipId, role('admin'), role('support'));
  expect(outcomeOf(changed)).toBe('200');
  expect(changed.json().data.roles.map(({ name }: { name: string }) => name)).toEqual(['Admin', 'Support']);
  expect(outcomeOf(await member.call('GET', '/members'))).toBe('200');
  expect(outcomeOf(await give(owner, member.membershipId, role('support'), role('admin')))).toBe('200'); // no change
  const [event, ...others] = await eventsSince(api, account.scope.accountId, since);
  expect(others).toEqual([]);
  expect(event).toMatchObject({
    action: 'member.updated',
    actor_id: account.userId,
    metadata: { user_id: member.userId, roles: [role('admin'), role('support')] },
  });
});

test('a removed member has no access from the next request on; the session and other accounts stay', async () => {
  const other = await newAccount(api);
  const member = await newMember(api, account, 'admin');
  const elsewhere = await newMember(api, other, 'admin', member);
  expect(outcomeOf(await elsewhere.call('GET', '/me'))).toBe('200');
  const since = await databaseTime(api);
  expect(outcomeOf(await owner('DELETE', `/members/${member.membershipId}`))).toBe('204');
  expect(outcomeOf(await member.call('GET', '/me'))).toBe('404 account.not_found');
  expect(outcomeOf(await elsewhere.call('GET', '/me'))).toBe('200');
  expect(outcomeOf(await owner('DELETE', `/members/${member.membershipId}`))).toBe('404 member.not_found');
  const events = await eventsSince(api, account.scope.accountId, since);
  expect(events.map(({ action, metadata }) => [action, metadata])).toEqual([
    ['member.removed', { user_id: member.userId }],
  ]);
});

test('any member can leave, whatever their roles, with the event of a removal', async () => {
  const other = await newAccount(api);
  const member = await newMember(api, account, 'viewer');
  const elsewhere = await newMember(api, other, 'viewer', member);
  const since = await databaseTime(api);
  expect(outcomeOf(await leave(member))).toBe('204');
  expect(outcomeOf(await leave(member))).toBe('404 account.not_found');
  expect(outcomeOf(await member.call('GET', '/me'))).toBe('404 account.not_found');
  expect(outcomeOf(await elsewhere.call('GET', '/me'))).toBe('200');
  expect(await eventsSince(api, account.scope.accountId, since)).toMatchObject([
    { action: 'member.removed', actor_id: member.userId, metadata: { user_id: member.userId } },
  ]);
  expect(outcomeOf(await leave({ headers: await account.as('owner') }))).toBe('409 member.last_owner');
  expect(outcomeOf(await leave(elsewhere))).toBe('404 account.not_found'); // and they stay a member there
  expect(outcomeOf(await elsewhere.call('GET', '/me'))).toBe('200');
});

describe('the last Owner', () => {
  const membershipOf = async (userId: string) => {
    const found = await rowsOf<{ id: string }>(api, 'select id from memberships where user_id = $1', [userId]);
    return found[0]?.id as string;
  };

  test('cannot be removed or demoted, not even to an Owner within limits', async () => {
    const id = await membershipOf(account.userId);
    const limits = { application_ids: [account.scope.applicationId] };
    const answers = [
      await owner('DELETE', `/members/${id}`),
      await give(owner, id, role('admin')),
      await give(owner, id, role('owner', limits)),
    ];
    expect(answers.map(outcomeOf)).toEqual(Array(3).fill('409 member.last_owner'));
    // Whether the caller is permitted is decided before.
    const admin = await newMember(api, account, 'admin');
    const tries = [await admin.call('DELETE', `/members/${id}`), await give(admin.call, id, role('viewer'))];
    expect(tries.map(outcomeOf)).toEqual(Array(2).fill('403 member.owner_required'));
    const second = await newMember(api, account, 'owner', undefined, limits);
    expect(outcomeOf(await owner('DELETE', `/members/${id}`))).toBe('409 member.last_owner');
    expect(outcomeOf(await give(owner, second.membershipId, role('owner')))).toBe('200');
    expect(outcomeOf(await give(owner, id, role('admin')))).toBe('200');
  });

  test('stays if two Owners remove or demote each other at once', async () => {
    for (let round = 0; round < 5; round++) {
      const both = [await newMember(api, account, 'owner'), await newMember(api, account, 'owner')] as const;
      await rowsOf(api, 'delete from memberships where account_id = $1 and id <> all($2::uuid[])', [
        account.scope.accountId,
        both.map(({ membershipId }) => membershipId),
      ]);
      const [a, b] = both;
      const answers = await Promise.all([
        a.call('DELETE', `/members/${b.membershipId}`),
        round % 2 ? b.call('DELETE', `/members/${a.membershipId}`) : give(b.call, a.membershipId, role('viewer')),
      ]);
      expect(answers.filter(({ statusCode }) => statusCode < 300)).toHaveLength(1);
      const owners = await rowsOf(
        api,
        `select from membership_roles where account_id = $1 and role_id = $2 and limits is null`,
        [account.scope.accountId, roles.owner],
      );
      expect(owners).toHaveLength(1);
    }
  });

  type Leaver = { call: Call; headers: Record<string, string>; membershipId: string };
  test.each<[string, (one: Leaver) => ReturnType<Call>]>([
    ['remove themselves', ({ call, membershipId }) => call('DELETE', `/members/${membershipId}`)],
    ['leave', (one) => leave(one)],
  ])('of ten Owners who all %s at once, one stays', async (_how, end) => {
    const all = [];
    for (let i = 0; i < 10; i++) all.push(await newMember(api, account, 'owner'));
    await owner('DELETE', `/members/${await membershipOf(account.userId)}`);
    const answers = await Promise.all(all.map(end));
    expect(outcomesOf(answers)).toEqual({ 204: 9, '409 member.last_owner': 1 });
  });
});

describe('nobody assigns more than they hold', () => {
  const custom = async (capabilities: string[]) => {
    const name = `role ${randomBytes(4).toString('hex')}`;
    return (await owner('POST', '/administrator-roles', { name, capabilities })).json().data.id as string;
  };

  test('only Owners create, change and remove Owners', async () => {
    const admin = await newMember(api, account, 'admin');
    const target = await newMember(api, account, 'viewer');
    const limits = { application_ids: [account.scope.applicationId] };
    const second = await newMember(api, account, 'owner');
    const within = await newMember(api, account, 'owner', undefined, limits);
    const everything = await custom(
      (await owner('GET', `/administrator-roles/${roles.owner}`)).json().data.capabilities,
    );
    const almost = await newMember(api, account, { roleId: everything });
    for (const { call } of [admin, almost]) {
      const answers = [
        await give(call, target.membershipId, role('owner')),
        await give(call, target.membershipId, role('owner', limits)),
        await give(call, second.membershipId, role('viewer')),
        await call('DELETE', `/members/${second.membershipId}`),
        await give(call, within.membershipId, role('viewer')),
        await call('DELETE', `/members/${within.membershipId}`),
      ];
      expect(answers.map(outcomeOf)).toEqual(Array(6).fill('403 member.owner_required'));
    }
    const refused = await rowsOf(api, `select from events where action = 'auth.access_denied' and actor_id = $1`, [
      admin.userId,
    ]);
    expect(refused).toHaveLength(6);
    expect(outcomeOf(await give(owner, target.membershipId, role('owner')))).toBe('200');
  });

  test('a role with a capability that the caller lacks is refused; the member’s present roles may stay', async () => {
    const head = await newMember(api, account, { roleId: await custom(['members.manage', 'members.view']) });
    const target = await newMember(api, account, 'developer');
    const small = await custom(['members.view']);
    expect(outcomeOf(await give(head.call, target.membershipId, role('viewer')))).toBe(
      '403 administrator_role.cannot_grant',
    );
    const kept = await give(head.call, target.membershipId, role('developer'), { role_id: small });
    expect(outcomeOf(kept)).toBe('200');
    expect(kept.json().data.roles).toHaveLength(2);
    expect(outcomeOf(await give(head.call, target.membershipId, { role_id: small }))).toBe('200');
    expect(outcomeOf(await give(head.call, target.membershipId, role('developer')))).toBe(
      '403 administrator_role.cannot_grant',
    );
  });

  test('within limits, what the caller holds there matters', async () => {
    const { applicationId } = account.scope;
    const second = (await owner('POST', '/applications', { name: 'Second' })).json().data.id as string;
    const staff = await custom(['members.manage', 'members.view']);
    const head = await newMember(api, account, { roleId: staff });
    await give(owner, head.membershipId, { role_id: staff }, role('developer', { application_ids: [applicationId] }));
    const target = await newMember(api, account, { roleId: await custom(['members.view']) });
    const outcomes = [];
    for (const limits of [
      { application_ids: [applicationId] },
      { environment_ids: [account.scope.environmentId] },
      { application_ids: [second] },
      { application_ids: [applicationId, second] },
      null,
    ]) {
      outcomes.push(outcomeOf(await give(head.call, target.membershipId, role('developer', limits))));
    }
    expect(outcomes).toEqual(['200', '200', ...Array(3).fill('403 administrator_role.cannot_grant')]);
  });

  test('what the caller holds at a node applies there and below, and neither above nor beside', async () => {
    const calls = callsWith(api, await account.as('owner'), account.portalPath(''));
    const top = (await newNode(calls, 'Top', null)).id;
    const mine = (await newNode(calls, 'Mine', top)).id;
    const below = (await newNode(calls, 'Below', (await newNode(calls, 'Middle', mine)).id)).id;
    const beside = (await newNode(calls, 'Beside', top)).id;
    const staff = await custom(['members.manage', 'members.view']);
    const head = await newMember(api, account, { roleId: staff });
    await give(owner, head.membershipId, { role_id: staff }, role('developer', { node_ids: [mine] }));
    const target = await newMember(api, account, { roleId: await custom(['members.view']) });
    const outcomes = [];
    for (const node_ids of [[mine], [below], [beside], [top], [below, beside]])
      outcomes.push(outcomeOf(await give(head.call, target.membershipId, role('developer', { node_ids }))));
    expect(outcomes).toEqual(['200', '200', ...Array(3).fill('403 administrator_role.cannot_grant')]);
  });

  test('a caller who loses the capability while their request waits is refused', async () => {
    for (let round = 0; round < 5; round++) {
      const second = await newMember(api, account, 'owner');
      const target = await newMember(api, account, 'viewer');
      const [demoted, made] = await Promise.all([
        give(owner, second.membershipId, role('viewer')),
        give(second.call, target.membershipId, role('owner')),
      ]);
      expect(outcomeOf(demoted)).toBe('200');
      // Either may have come first; but never has a Viewer created an Owner.
      const [order] = await rowsOf<{ made_first: boolean | null }>(
        api,
        `select max(created_at) filter (where resource_id = $1) < max(created_at) filter (where resource_id = $2) as made_first
         from events where action = 'member.updated'`,
        [target.membershipId, second.membershipId],
      );
      if (made.statusCode === 200) expect(order?.made_first).toBe(true);
      else expect(outcomeOf(made)).toMatch(/^403/);
    }
  });
});

describe('refusals', () => {
  test('a stranger, a neighbour, a missing capability, and a missing object', async () => {
    const member = await newMember(api, account, 'viewer');
    const developer = await newMember(api, account, 'developer');
    const neighbour = await newAccount(api);
    const foreign = callsOf(api, neighbour.accountSlug, await neighbour.as('owner'));
    const stranger = callsOf(api, account.accountSlug, {});
    const ask = (call: Call, id: string) =>
      Promise.all([
        call('GET', '/members'),
        call('GET', `/members/${id}`),
        give(call, id, role('viewer')),
        call('DELETE', `/members/${id}`),
      ]).then((answers) => answers.map(outcomeOf));
    const id = member.membershipId;
    expect(await ask(stranger, id)).toEqual(Array(4).fill('401'));
    expect(await ask(developer.call, id)).toEqual(Array(4).fill('403 account.capability_required'));
    expect((await ask(member.call, id)).slice(2)).toEqual(Array(2).fill('403 account.capability_required'));
    expect((await ask(foreign, id)).slice(1)).toEqual(Array(3).fill('404 member.not_found'));
    const trespasser = callsOf(api, account.accountSlug, await neighbour.as('owner'));
    expect(await ask(trespasser, id)).toEqual(Array(4).fill('404 account.not_found'));
  });

  test('a 404 comes before validation errors; roles and limits have to belong to the account', async () => {
    const { membershipId: id } = await newMember(api, account, 'viewer');
    const neighbour = await newAccount(api);
    const theirs = await rolesByKey(callsOf(api, neighbour.accountSlug, await neighbour.as('owner')));
    const unknown = '0192f0c1-1111-7abc-8def-1234567890ab';
    expect(outcomeOf(await owner('PATCH', `/members/${unknown}`, {}))).toBe('404 member.not_found');
    const fieldsOf = async (...given: object[]) => {
      const answer = await give(owner, id, ...given);
      expect(outcomeOf(answer)).toBe('400 validation.failed');
      return answer.json().error.details.map(({ field }: { field: string }) => field);
    };
    expect(await fieldsOf()).toEqual(['roles']);
    expect(await fieldsOf({ role_id: theirs.viewer }, role('viewer'))).toEqual(['roles[0].role_id']);
    expect(await fieldsOf(role('viewer'), role('viewer'))).toEqual(['roles[1].role_id']);
    expect(await fieldsOf({ ...role('viewer'), more: 1 })).toEqual(['roles[0].more']);
    expect(await fieldsOf(role('viewer', {}))).toEqual(['roles[0].limits']);
    const limits = {
      application_ids: [account.scope.applicationId, neighbour.scope.applicationId],
      environment_ids: [neighbour.scope.environmentId],
      node_ids: [unknown],
    };
    expect(await fieldsOf(role('viewer', limits))).toEqual([
      'roles[0].limits.application_ids[1]',
      'roles[0].limits.environment_ids[0]',
      'roles[0].limits.node_ids[0]',
    ]);
    expect(await fieldsOf(role('viewer', { account_ids: [] }))).toEqual(['roles[0].limits.account_ids']);
  });
});
