import { v7 as uuidv7 } from 'uuid';
import { days } from '../../../src/platform/clock.js';
import { newAccount, send, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { newIdentityCaller } from '../../support/identity-caller.js';
import { rowsOf } from '../../support/rows.js';

let api: TestApi;
let account: TestAccount;
let key: Record<string, string>;
let roleId: string;
let [parent, node] = ['', ''];
beforeAll(async () => {
  api = await startApi();
  account = await newAccount(api);
  key = await account.apiKey();
  await call('POST', '/permissions', 201, { key: 'door.open', name: 'Open the door' });
  roleId = (await call('POST', '/roles', 201, { name: 'Porter', permission_keys: ['door.open'] })).json().data.id;
  parent = await newNode('House', null);
  node = await newNode('Room', parent);
});
afterAll(() => api.stop());

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';
const call = (method: Method, path: string, status: number, payload?: object, headers: object = key) =>
  send(api.app, status, {
    method,
    url: `/api/v1${path}`,
    headers: headers as Record<string, string>,
    ...(payload && { payload }),
  });
const newNode = async (name: string, parent_node_id: string | null): Promise<string> =>
  (await call('POST', '/nodes', 201, { parent_node_id, node_type: 'unit', name })).json().data.id;
const newIdentity = async (): Promise<string> =>
  (await call('POST', '/identities', 201, { email: `${uuidv7()}@example.com` })).json().data.id;
const assign = async (identity: string, more: object = {}): Promise<string> =>
  (
    await call('POST', `/identities/${identity}/role-assignments`, 201, { role_id: roleId, node_id: parent, ...more })
  ).json().data.assignment_id;
const ask = async (identity_id: string, more: object = {}) =>
  (
    await call('POST', '/authorization/evaluate', 200, { identity_id, permission: 'door.open', node_id: node, ...more })
  ).json().data;
const explain = async (identity_id: string, more: object = {}) =>
  (
    await call('POST', '/authorization/explain', 200, { identity_id, permission: 'door.open', node_id: node, ...more })
  ).json().data;

test('a role applies at its node and below, and not above', async () => {
  const identity = await newIdentity();
  expect(await ask(identity)).toEqual({ allowed: false, reason: 'no_assignment' });
  await assign(identity);
  expect(await ask(identity)).toEqual({ allowed: true, reason: 'granted' });
  expect(await ask(identity, { node_id: null })).toEqual({ allowed: false, reason: 'no_assignment' });
  expect(await ask(identity, { permission: 'door.shut' })).toEqual({ allowed: false, reason: 'permission_not_found' });
  expect(await ask(identity, { node_id: uuidv7() })).toEqual({ allowed: false, reason: 'node_not_found' });
  expect(await ask(uuidv7())).toEqual({ allowed: false, reason: 'identity_not_found' });
});

test('bulk answers come in the order of the checks, a thousand at once', async () => {
  const identity = await newIdentity();
  await assign(identity);
  const checks = Array.from({ length: 1000 }, (_, i) => ({
    identity_id: i % 3 === 0 ? uuidv7() : identity,
    permission: 'door.open',
    node_id: i % 2 === 0 ? node : null,
  }));
  const { results } = (await call('POST', '/authorization/evaluate/bulk', 200, { checks })).json().data;
  expect(results.map(({ reason }: { reason: string }) => reason)).toEqual(
    checks.map((_, i) => (i % 3 === 0 ? 'identity_not_found' : i % 2 === 0 ? 'granted' : 'no_assignment')),
  );
  await call('POST', '/authorization/evaluate/bulk', 400, { checks: [...checks, checks[0]] });
  await call('POST', '/authorization/evaluate/bulk', 400, { checks: [] });
});

test('as_of asks about another moment: assignments apply as they did, or will', async () => {
  const identity = await newIdentity();
  const at = (ms: number) => new Date(api.clock.now.getTime() + ms).toISOString();
  const hour = 3_600_000;
  const id = await assign(identity, { effective_from: at(hour), effective_to: at(2 * hour) });
  expect(await ask(identity)).toEqual({ allowed: false, reason: 'outside_window' });
  expect(await ask(identity, { as_of: at(hour) })).toEqual({ allowed: true, reason: 'granted' });
  expect(await ask(identity, { as_of: at(2 * hour) })).toEqual({ allowed: false, reason: 'outside_window' });
  expect(await ask(identity, { as_of: at(-hour) })).toEqual({ allowed: false, reason: 'no_assignment' });
  const before = at(1.5 * hour);
  api.clock.advance(3 * hour);
  await call('DELETE', `/identities/${identity}/role-assignments/${id}`, 204);
  expect(await ask(identity)).toEqual({ allowed: false, reason: 'no_assignment' });
  expect(await ask(identity, { as_of: before })).toEqual({ allowed: true, reason: 'granted' });
});

test('no decision reads what ended long ago: for a month the reason is an ended window', async () => {
  const identity = await newIdentity();
  const id = await assign(identity);
  const endedAgo = async (days: number) => {
    const end = new Date(api.clock.now.getTime() - days * 24 * 3_600_000);
    await rowsOf(api, 'update role_assignments set effective_to = $2 where id = $1', [id, end]);
    return [(await ask(identity)).reason, (await explain(identity)).reason];
  };
  expect(await endedAgo(29)).toEqual(['outside_window', 'outside_window']);
  expect(await endedAgo(31)).toEqual(['no_assignment', 'no_assignment']);
});

test('a role applies as soon as it is assigned or removed, also in an api whose clock is ahead', async () => {
  const identity = await newIdentity();
  const id = await assign(identity);
  await rowsOf(api, `update role_assignments set created_at = now() + interval '10 minutes' where id = $1`, [id]);
  for (const answer of [await ask(identity), await explain(identity)]) expect(answer).toMatchObject({ allowed: true });
  await rowsOf(api, `update role_assignments set removed_at = now() + interval '11 minutes' where id = $1`, [id]);
  for (const answer of [await ask(identity), await explain(identity)]) expect(answer).toMatchObject({ allowed: false });
});

test('explain names the deciding assignment, nearest to the node, with its path', async () => {
  const identity = await newIdentity();
  await assign(identity, { node_id: null });
  const id = await assign(identity);
  const { decision, ...rest } = await explain(identity);
  expect(rest).toMatchObject({ allowed: true, reason: 'granted', reasons: [{ code: 'granted', assignment_id: id }] });
  expect(decision).toMatchObject({
    assignment_id: id,
    role: { id: roleId, name: 'Porter' },
    node: { id: parent, name: 'House' },
    effective_from: null,
    effective_to: null,
  });
  expect(decision.path.map(({ name }: { name: string }) => name)).toEqual(['Development', 'House']);
});

test('a window may last as long as a timestamp allows, and explain reads all of it', async () => {
  const identity = await newIdentity();
  const path = `/identities/${identity}/role-assignments`;
  const [first, last] = ['0001-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z'];
  for (const effective_from of ['0000-12-31T23:59:59.999Z', '0001-01-01T00:00:00+00:01']) {
    const { error } = (await call('POST', path, 400, { role_id: roleId, effective_from })).json();
    expect(error.details).toMatchObject([{ field: 'effective_from', code: 'instant' }]);
  }
  await assign(identity, { effective_from: first, effective_to: last });
  const { decision } = await explain(identity);
  expect(decision).toMatchObject({ effective_from: first, effective_to: last });
});

test('explain names everything that prevents the permission', async () => {
  const identity = await newIdentity();
  const over = new Date(api.clock.now.getTime() + 60_000).toISOString();
  await assign(identity, { effective_to: over });
  const aside = await newNode('Shed', null);
  await assign(identity, { node_id: aside });
  const blind = (await call('POST', '/roles', 201, { name: 'Blind' })).json().data.id;
  await assign(identity, { role_id: blind });
  api.clock.advance(3 * 3_600_000);
  const { reason, decision, reasons } = await explain(identity);
  expect({ reason, decision }).toEqual({ reason: 'outside_window', decision: null });
  const messages = Object.fromEntries(reasons.map((one: { code: string; message: string }) => [one.code, one.message]));
  expect(messages).toEqual({
    outside_window: 'Role "Porter" at node "House" ended 3 h ago',
    assigned_elsewhere:
      'Role "Porter" at node "Shed" holds the permission, but that node is not above the one asked for',
    role_lacks_permission: 'Role "Blind" at node "House" does not hold the permission',
  });
});

test('explain decides as evaluate does for a person with more assignments of the permission than it reads', async () => {
  const [held, ended] = [await newIdentity(), await newIdentity()];
  await rowsOf(
    api,
    `insert into role_assignments (id, account_id, environment_id, identity_id, role_id, node_id, effective_from, effective_to, created_at, removed_at)
     select gen_random_uuid(), $1, $2, who, $4, $5, begun, begun + interval '1 minute', $6, case when n <> 101 then begun end
     from unnest($3::uuid[]) who, generate_series(1, 101) n, lateral (select $6::timestamptz + n * interval '1 minute' as begun) b`,
    [
      account.scope.accountId,
      account.scope.environmentId,
      [held, ended],
      roleId,
      parent,
      new Date(api.clock.now.getTime() - days(1)),
    ],
  );
  const id = await assign(held, { node_id: null });
  const { decision, reasons, ...decided } = await explain(held);
  expect(decided).toEqual(await ask(held));
  expect(decision).toMatchObject({ assignment_id: id });
  expect(await explain(ended)).toMatchObject(await ask(ended)); // the last of them is not removed, and has ended
});

test('an inactive node denies everything below it', async () => {
  const top = await newNode('Top', null);
  const below = await newNode('Low', top);
  const identity = await newIdentity();
  await assign(identity, { node_id: below });
  const ifMatch = { ...key, 'if-match': '"1"' };
  await call('PATCH', `/nodes/${top}`, 200, { status: 'inactive' }, ifMatch);
  expect(await ask(identity, { node_id: below })).toEqual({ allowed: false, reason: 'node_inactive' });
  expect((await explain(identity, { node_id: below })).reasons[0]).toMatchObject({
    code: 'node_inactive',
    message: 'Node "Top" is inactive, and so is everything below it',
  });
});

test('strangers, keys without the scope and identities without the permission may not ask; the portal may by capability', async () => {
  const body = { identity_id: uuidv7(), permission: 'door.open' };
  await call('POST', '/authorization/evaluate', 401, body, {});
  await call('POST', '/authorization/evaluate', 403, body, await account.apiKey(['identity.view']));
  const nobody = await newIdentityCaller(api, account);
  await call('POST', '/authorization/explain', 403, body, nobody.headers);
  const somebody = await newIdentityCaller(api, account, [{ role: 'Administrator' }]);
  await call('POST', '/authorization/explain', 200, body, somebody.headers);
  // A third-party application never acts with the permissions of its user.
  await rowsOf(api, 'update oauth_clients set consent_required = true where client_id = $1', [somebody.clientId]);
  const refused = await call('POST', '/authorization/explain', 403, body, somebody.headers);
  expect(refused.json().error.code).toBeNull(); // about the caller, and not about a missing permission
  const url = account.portalPath('/authorization/evaluate');
  await send(api.app, 200, { method: 'POST', url, headers: await account.as('viewer'), payload: body });
  await send(api.app, 403, { method: 'POST', url, headers: await account.as('support'), payload: body });
});

test("another environment's identities and nodes are not found", async () => {
  const identity = await newIdentity();
  await assign(identity);
  const stranger = await newAccount(api);
  const body = { identity_id: identity, permission: 'identity.view', node_id: node };
  const { data } = (await call('POST', '/authorization/evaluate', 200, body, await stranger.apiKey())).json();
  expect(data).toEqual({ allowed: false, reason: 'identity_not_found' });
});
