import type { LightMyRequestResponse } from 'fastify';
import { decodeJwt } from 'jose';
import { v7 as uuidv7 } from 'uuid';
import { codeOf, outcomeOf, outcomesOf } from '../../support/answers.js';
import { newAccount, send, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { asOwner } from '../../support/database.js';
import { holdRoles, newIdentityCaller } from '../../support/identity-caller.js';
import { untilWaiting } from '../../support/lock-waits.js';
import { rowsOf } from '../../support/rows.js';

let api: TestApi;
let account: TestAccount;
let key: Record<string, string>;
let roleId: string;
beforeAll(async () => {
  api = await startApi();
  account = await newAccount(api);
  key = await account.apiKey();
  roleId = await newRole('Clerk', ['identity.view']);
});
afterAll(() => api.stop());
afterEach(() => jest.restoreAllMocks());

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';
const call = (method: Method, path: string, status: number, payload?: object, headers = key) =>
  send(api.app, status, { method, url: `/api/v1${path}`, headers, ...(payload && { payload }) });
const newRole = async (name: string, permission_keys: string[]): Promise<string> =>
  (await call('POST', '/roles', 201, { name, permission_keys })).json().data.id;
const newIdentity = async (): Promise<string> =>
  (await call('POST', '/identities', 201, { email: `${uuidv7()}@example.com` })).json().data.id;
const newNode = async (parent_node_id: string | null = null): Promise<string> =>
  (await call('POST', '/nodes', 201, { parent_node_id, node_type: 'unit', name: 'A unit' })).json().data.id;
const eventsOf = (id: string) =>
  rowsOf<{ action: string }>(
    api,
    'select action, identity_visible from events where resource_id = $1 order by created_at, id',
    [id],
  );

test('a role is assigned at the root or at a node, listed, and removed', async () => {
  const [identity, node] = [await newIdentity(), await newNode()];
  const path = `/identities/${identity}/role-assignments`;
  const { data } = (await call('POST', path, 201, { role_id: roleId, node_id: node })).json();
  expect(data).toEqual({
    assignment_id: expect.any(String),
    id: roleId,
    name: 'Clerk',
    node_id: node,
    node_name: 'A unit',
    effective_from: null,
    effective_to: null,
    notify_holder: false,
  });
  const atRoot = (await call('POST', path, 201, { role_id: roleId })).json().data;
  expect(atRoot.node_id).not.toBe(node);
  const { items, pagination } = (await call('GET', path, 200)).json();
  expect(items).toEqual([atRoot, data]);
  expect(pagination.item_count).toBe(2);
  await call('DELETE', `${path}/${data.assignment_id}`, 204);
  expect(codeOf(await call('DELETE', `${path}/${data.assignment_id}`, 404))).toBe('role_assignments.not_found');
  expect((await call('GET', path, 200)).json().items).toEqual([atRoot]);
  const [{ metadata }] = (await rowsOf(api, 'select metadata from events where resource_id = $1', [
    atRoot.assignment_id,
  ])) as [{ metadata: object }];
  expect(metadata).toEqual({
    identity_id: identity,
    role_id: roleId,
    node_id: atRoot.node_id,
    effective_from: null,
    effective_to: null,
  });
  // Both are on the identity surface of the audit log: what a person was given, and what was removed.
  expect(await eventsOf(data.assignment_id)).toEqual([
    { action: 'role_assignment.created', identity_visible: true },
    { action: 'role_assignment.deleted', identity_visible: true },
  ]);
});

test('the list contains assignments whose role or node has a name with the text', async () => {
  const [identity, clerkAtUnit] = [await newIdentity(), await newNode()];
  const path = `/identities/${identity}/role-assignments`;
  await call('POST', path, 201, { role_id: roleId, node_id: clerkAtUnit });
  await call('POST', path, 201, { role_id: await newRole('100% reader', []) });
  const named = async (q: string) => {
    const { items, pagination } = (await call('GET', `${path}?q=${encodeURIComponent(q)}`, 200)).json();
    expect(pagination.item_count).toBe(items.length);
    return items.map(({ name, node_name }: { name: string; node_name: string }) => `${name} at ${node_name}`);
  };
  expect(await named('cLER')).toEqual(['Clerk at A unit']);
  expect(await named('a unit')).toEqual(['Clerk at A unit']);
  expect(await named('0%')).toEqual(['100% reader at Development']);
  expect(await named('%')).toEqual(['100% reader at Development']);
  expect(await named('nobody')).toEqual([]);
});

test('an assignment that exists already is returned; one whose period overlaps is refused; one for a later period is created', async () => {
  const path = `/identities/${await newIdentity()}/role-assignments`;
  const window = { role_id: roleId, effective_from: '2030-01-01T00:00:00Z', effective_to: '2031-01-01T00:00:00Z' };
  const first = (await call('POST', path, 201, window)).json().data;
  expect((await call('POST', path, 200, window)).json().data).toEqual(first);
  const overlapping = { ...window, effective_to: '2030-06-01T00:00:00Z' };
  const refused = await call('POST', path, 409, overlapping);
  expect(refused.json().error).toMatchObject({
    code: 'role_assignments.overlapping',
    details: [{ field: '', code: 'overlapping', message: `overlaps the assignment ${first.assignment_id}` }],
  });
  const later = { ...window, effective_from: '2030-06-01T00:00:00Z' };
  expect(codeOf(await call('POST', path, 409, later))).toBe('role_assignments.overlapping');
  const second = (await call('POST', path, 201, { role_id: roleId, effective_from: window.effective_to })).json().data;
  const both = (await call('POST', path, 409, { role_id: roleId })).json().error.details;
  expect(both.map(({ message }: { message: string }) => message.slice(-36)).sort()).toEqual(
    [first.assignment_id, second.assignment_id].sort(),
  );
});

test('an assignment equals one of the same person, role and node that is still in force', async () => {
  const [ana, ben, node] = [await newIdentity(), await newIdentity(), await newNode()];
  const other = await newRole(`Clerk ${ana}`, ['identity.view']);
  const [short, long] = [
    { effective_from: '2030-01-01T00:00:00Z', effective_to: '2031-01-01T00:00:00Z' },
    { effective_from: '2030-01-01T00:00:00Z', effective_to: '2032-01-01T00:00:00Z' },
  ];
  const of = (identity_id: string, more: object) => ({ identity_id, role_id: roleId, ...more });
  const outcomes = async (...wanted: object[]) =>
    (await call('POST', '/role-assignments', 200, { role_assignments: wanted }))
      .json()
      .items.map(({ status, error }: { status: string; error: { code: string } | null }) => error?.code ?? status);
  const taken = (await call('POST', `/identities/${ana}/role-assignments`, 201, { role_id: roleId, ...long })).json()
    .data;
  await call('DELETE', `/identities/${ana}/role-assignments/${taken.assignment_id}`, 204);
  const there = [of(ben, long), of(ana, { ...long, role_id: other }), of(ana, { ...long, node_id: node })];
  expect(await outcomes(of(ana, short), ...there)).toEqual(['created', 'created', 'created', 'created']);
  expect(await outcomes(of(ana, long), ...there)).toEqual([
    'role_assignments.overlapping',
    ...['exists', 'exists', 'exists'],
  ]);
});

test("an assignment is not removed under another identity's path", async () => {
  const [ana, ben] = [await newIdentity(), await newIdentity()];
  const { data } = (await call('POST', `/identities/${ana}/role-assignments`, 201, { role_id: roleId })).json();
  const foreign = `/identities/${ben}/role-assignments/${data.assignment_id}`;
  expect(codeOf(await call('DELETE', foreign, 404))).toBe('role_assignments.not_found');
  expect((await call('GET', `/identities/${ana}/role-assignments`, 200)).json().items).toEqual([data]);
});

test('exactly one of parallel assignments that overlap is created', async () => {
  const url = `/api/v1/identities/${await newIdentity()}/role-assignments`;
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, i) =>
      api.app.inject({
        method: 'POST',
        url,
        headers: key,
        payload: { role_id: roleId, effective_to: `20${40 + i}-01-01T00:00:00Z` },
      }),
    ),
  );
  expect(outcomesOf(answers)).toEqual({ '201': 1, '409 role_assignments.overlapping': 7 });
});

test.each([
  ['ends before it begins', { effective_from: '2031-01-01T00:00:00Z', effective_to: '2030-01-01T00:00:00Z' }],
  ['ends as it begins', { effective_from: '2031-01-01T00:00:00Z', effective_to: '2031-01-01T00:00:00Z' }],
  ['has already passed', { effective_to: '2020-01-01T00:00:00Z' }],
  ['has begun and is over already', { effective_from: '2019-01-01T00:00:00Z', effective_to: '2020-01-01T00:00:00Z' }],
])('a window that %s is refused', async (_name, window) => {
  const path = `/identities/${await newIdentity()}/role-assignments`;
  expect(codeOf(await call('POST', path, 400, { role_id: roleId, ...window }))).toBe('role_assignments.window_empty');
});

test('in bulk each is independent, and a thousand need one request', async () => {
  const identity = await newIdentity();
  const good = { identity_id: identity, role_id: roleId };
  const wanted = [
    good,
    good,
    { ...good, role_id: uuidv7() },
    { ...good, node_id: uuidv7() },
    { ...good, identity_id: uuidv7() },
  ];
  const { items } = (await call('POST', '/role-assignments', 200, { role_assignments: wanted })).json();
  expect(
    items.map(({ status, error }: { status: string; error: { code: string } | null }) => error?.code ?? status),
  ).toEqual(['created', 'exists', 'role.not_found', 'nodes.node_not_found', 'identity.not_found']);
  const ids = [items[0].id, uuidv7()];
  const removed = (await call('DELETE', '/role-assignments', 200, { assignment_ids: ids })).json().items;
  expect(removed.map(({ status }: { status: string }) => status)).toEqual(['removed', 'failed']);

  const nodes = await Promise.all(Array.from({ length: 10 }, () => newNode()));
  const identities = await Promise.all(Array.from({ length: 100 }, () => newIdentity()));
  const many = identities.flatMap((identity_id) => nodes.map((node_id) => ({ identity_id, role_id: roleId, node_id })));
  const all = (await call('POST', '/role-assignments', 200, { role_assignments: many })).json().items;
  expect(new Set(all.map(({ status }: { status: string }) => status))).toEqual(new Set(['created']));
  await call('POST', '/role-assignments', 400, { role_assignments: [...many, good] });
});

test('in bulk, a person who leaves meanwhile does not prevent the others', async () => {
  const [goes, stays] = [await newIdentity(), await newIdentity()];
  const role_assignments = [goes, stays, goes].map((identity_id) => ({ identity_id, role_id: roleId }));
  const items = await asOwner(async (other) => {
    await other.query('begin');
    await other.query('delete from environment_memberships where identity_id = $1', [goes]);
    const asked = call('POST', '/role-assignments', 200, { role_assignments });
    await untilWaiting(api.database.ownerUrl, 1, '%environment_memberships%');
    await other.query('commit');
    return (await asked).json().items;
  }, api.database.ownerUrl);
  expect(
    items.map(({ status, error }: { status: string; error: { code: string } | null }) => error?.code ?? status),
  ).toEqual(['identity.not_found', 'created', 'identity.not_found']);
});

test('in bulk, two requests with the same assignments in opposite orders do not deadlock', async () => {
  const ids = await Promise.all([newIdentity(), newIdentity(), newIdentity()]);
  const [low, middle, high] = ids.toSorted() as [string, string, string];
  const give = (...order: string[]) =>
    call('POST', '/role-assignments', 200, {
      role_assignments: order.map((identity_id) => ({ identity_id, role_id: roleId })),
    });
  const answers = await asOwner(async (other) => {
    await other.query('begin');
    await other.query(
      `insert into role_assignments (id, account_id, environment_id, identity_id, role_id, node_id, created_at)
       select $1, account_id, environment_id, $2, $3, id, now() from nodes where environment_id = $4 and node_type = 'root'`,
      [uuidv7(), middle, roleId, account.scope.environmentId],
    );
    const asked = Promise.all([give(low, middle, high), give(high, middle, low)]);
    await untilWaiting(api.database.ownerUrl, 2, '%role_assignments%');
    const waiting = await other.query(
      'select from pg_stat_activity where pg_backend_pid() = any(pg_blocking_pids(pid))',
    );
    expect(waiting.rowCount).toBe(1); // the other one waits for that lock, and holds none that it needs
    await other.query('rollback');
    return asked;
  }, api.database.ownerUrl);
  const made = answers.map((answer) => answer.json().items.map(({ status }: { status: string }) => status));
  expect(made.toSorted()).toEqual([Array(3).fill('created'), Array(3).fill('exists')]);
});

test('in bulk, a malformed assignment does not prevent the others', async () => {
  const id = await newIdentity();
  const right = { identity_id: id, role_id: roleId };
  const role_assignments = [
    { ...right, identity_id: 'nobody' },
    { ...right, effective_to: '0000-01-01T00:00:00Z' },
    right,
    { ...right, color: 'red' },
  ];
  const { items } = (await call('POST', '/role-assignments', 200, { role_assignments })).json();
  const told = items.map(
    ({ status, error }: { status: string; error: { code: string; details: { field: string }[] } }) =>
      [status, error?.code, error?.details?.map(({ field }) => field)].filter(Boolean).flat(),
  );
  expect(told).toEqual([
    ['failed', 'validation.failed', 'role_assignments[0].identity_id'],
    ['failed', 'validation.failed', 'role_assignments[1].effective_to'],
    ['created'],
    ['failed', 'validation.failed', 'role_assignments[3].color'],
  ]);
  expect(items.map(({ index }: { index: number }) => index)).toEqual([0, 1, 2, 3]);
  const none = (await call('POST', '/role-assignments', 200, { role_assignments: [{ role_id: roleId }] })).json().items;
  expect(none).toMatchObject([{ index: 0, status: 'failed', id: null, error: { code: 'validation.failed' } }]);
  const whole = await call('POST', '/role-assignments', 400, { role_assignments: [right], color: 'red' });
  expect(codeOf(whole)).toBe('validation.failed');
});

test('in bulk, an assignment that exists before a new one is reported as existing, and each has its own id', async () => {
  const [identity, node] = [await newIdentity(), await newNode()];
  const good = { identity_id: identity, role_id: roleId };
  const there = (await call('POST', '/role-assignments', 200, { role_assignments: [good] })).json().items[0].id;
  const wanted = [good, { ...good, node_id: node }];
  const { items } = (await call('POST', '/role-assignments', 200, { role_assignments: wanted })).json();
  expect(items).toMatchObject([{ status: 'exists', id: there }, { status: 'created' }]);
  const [made] = await rowsOf(api, 'select id from role_assignments where identity_id = $1 and node_id = $2', [
    identity,
    node,
  ]);
  expect(items[1].id).toBe(made?.id);
  expect(await eventsOf(items[1].id)).toMatchObject([{ action: 'role_assignment.created' }]);
  expect(await eventsOf(there)).toHaveLength(1);
});

test('an assignment with a future bound has events from its creation, until it is removed or its identity leaves', async () => {
  const [identity, other] = [await newIdentity(), await newIdentity()];
  const until = { role_id: roleId, effective_to: '2040-01-01T00:00:00Z' };
  const assign = async (id: string, body: object): Promise<string> =>
    (await call('POST', `/identities/${id}/role-assignments`, 201, body)).json().data.assignment_id;
  const open = await assign(other, { role_id: roleId, effective_from: '2020-01-01T00:00:00Z' });
  const [taken, left] = [await assign(identity, until), await assign(other, { ...until, node_id: await newNode() })];
  await call('DELETE', '/role-assignments', 200, { assignment_ids: [taken] });
  await call('DELETE', `/identities/${other}`, 204);
  const windows = 'select id, status from role_assignment_windows where id = any($1) order by id';
  expect(await rowsOf(api, windows, [[open, taken, left]])).toEqual([
    { id: taken, status: 'removed' },
    { id: left, status: 'removed' },
  ]);
  const messages = `select input ->> 'assignmentId' as id, input ->> 'news' as news from outbox
    where process = 'roleAssignmentWindow' and input ->> 'assignmentId' = any($1) order by created_at, id`;
  expect(await rowsOf(api, messages, [[open, taken, left]])).toEqual([
    { id: taken, news: null },
    { id: left, news: null },
    { id: taken, news: 'changed' },
    { id: left, news: 'changed' },
  ]);
});

test('a caller needs the permission to assign at the node, and all that the role allows there', async () => {
  const [mine, other] = [await newNode(), await newNode()];
  const strong = await newRole(`Strong ${mine}`, ['identity.manage']);
  const manager = await newIdentityCaller(api, account, [{ role: 'Organization manager', nodeId: mine }]);
  const path = `/identities/${await newIdentity()}/role-assignments`;
  const as = (status: number, payload: object) => call('POST', path, status, payload, manager.headers);
  const { assignment_id } = (await as(201, { role_id: roleId, node_id: mine })).json().data;
  expect(codeOf(await as(403, { role_id: roleId, node_id: other }))).toBe('permission.required');
  expect(codeOf(await as(403, { role_id: roleId }))).toBe('permission.required');
  expect(codeOf(await as(403, { role_id: strong, node_id: mine }))).toBe('role.cannot_grant');
  const elsewhere = (await call('POST', path, 201, { role_id: roleId, node_id: other })).json().data.assignment_id;
  expect(codeOf(await call('DELETE', `${path}/${elsewhere}`, 403, undefined, manager.headers))).toBe(
    'permission.required',
  );
  await call('DELETE', `${path}/${assignment_id}`, 204, undefined, manager.headers);
  const nobody = await newIdentityCaller(api, account);
  expect(codeOf(await call('POST', path, 403, { role_id: roleId }, nobody.headers))).toBe('permission.required');
  const narrow = await account.apiKey(['rbac.assign_roles']);
  expect(codeOf(await call('POST', path, 403, { role_id: roleId }, narrow))).toBe('role.cannot_grant');
  await call('POST', path, 201, { role_id: await newRole(`Badge ${mine}`, []) }, narrow);
  await call('POST', '/permissions', 201, { key: 'badge.print', name: 'Print badges' });
  await call('POST', path, 201, { role_id: await newRole(`Printer ${mine}`, ['badge.print']) }, narrow);
  const both = await newRole(`Both ${mine}`, ['badge.print', 'identity.manage']);
  expect(codeOf(await call('POST', path, 403, { role_id: both }, narrow))).toBe('role.cannot_grant');
  const unknown = await as(404, { role_id: uuidv7(), node_id: other });
  expect(codeOf(unknown)).toBe('role.not_found');
});

test('an assignment of a person whom the caller does not know is not found, alone and in bulk', async () => {
  const [mine, theirs] = await Promise.all(
    ['Mine', 'Theirs'].map(async (name) => (await call('POST', '/organizations', 201, { name })).json().data.id),
  );
  const manager = await newIdentityCaller(api, account, [{ role: 'Organization manager', nodeId: mine }]);
  const assigned = async (id: string) => {
    const wanted = { role_id: roleId, node_id: theirs };
    const { data } = (await call('POST', `/identities/${id}/role-assignments`, 201, wanted)).json();
    return { path: `/identities/${id}/role-assignments/${data.assignment_id}`, id: data.assignment_id as string };
  };
  const [member, free] = [await newIdentity(), await newIdentity()];
  await call('POST', `/organizations/${theirs}/members`, 201, { identity_id: member });
  const [unknown, known] = [await assigned(member), await assigned(free)];
  expect(codeOf(await call('DELETE', unknown.path, 404, undefined, manager.headers))).toBe('identity.not_found');
  expect(codeOf(await call('DELETE', known.path, 403, undefined, manager.headers))).toBe('permission.required');
  const assignment_ids = [unknown.id, known.id];
  const { items } = (await call('DELETE', '/role-assignments', 200, { assignment_ids }, manager.headers)).json();
  expect(items.map(({ error }: { error: { code: string } }) => error.code)).toEqual([
    'role_assignments.not_found',
    'permission.required',
  ]);
});

test('a caller who holds a role for a time cannot prolong it by assigning it to themselves', async () => {
  const node = await newNode();
  const below = await newNode(node);
  const lead = await newRole(`Lead ${node}`, ['rbac.assign_roles', 'identity.view']);
  const person = await newIdentityCaller(api, account);
  const own = `/identities/${person.id}/role-assignments`;
  const until = new Date(api.clock.now.getTime() + 60_000).toISOString();
  await call('POST', own, 201, { role_id: lead, node_id: node, effective_to: until });
  const give = (path: string, status: number, payload: object) => call('POST', path, status, payload, person.headers);
  for (const more of [
    { node_id: below },
    { node_id: below, effective_to: '2999-01-01T00:00:00.000Z' },
    { node_id: node, effective_from: until },
  ])
    expect((await give(own, 403, { role_id: lead, ...more })).json().error).toMatchObject({
      code: 'role.cannot_grant',
      details: expect.arrayContaining([
        expect.objectContaining({ message: 'You do not hold identity.view for that long yourself' }),
      ]),
    });
  const bulk = [
    { identity_id: person.id, role_id: lead, node_id: below },
    { identity_id: person.id, role_id: roleId, node_id: below, effective_to: until },
  ];
  const { items } = (await give('/role-assignments', 200, { role_assignments: bulk })).json();
  expect(items.map(({ status }: { status: string }) => status)).toEqual(['failed', 'created']);
  await give(own, 201, { role_id: lead, node_id: below, effective_to: until });
  // To people whom they manage, they assign what they hold now.
  await give(`/identities/${await newIdentity()}/role-assignments`, 201, { role_id: lead, node_id: below });
  const acme = { node_type: 'organization', name: 'Acme', parent_node_id: null };
  const organization = (await call('POST', '/nodes', 201, acme)).json().data.id;
  const manager = await newRole(`Manager ${node}`, ['svc:organization.manage', 'rbac.assign_roles', 'identity.view']);
  const members = `/organizations/${organization}/members`;
  await call('POST', members, 201, { identity_id: person.id });
  await call('POST', own, 201, { role_id: manager, node_id: organization, effective_to: until });
  const path = `${members}/${person.id}`;
  expect(codeOf(await call('PATCH', path, 403, { role_ids: [manager, roleId] }, person.headers))).toBe(
    'role.cannot_grant',
  );
  const other = (await call('POST', '/nodes', 201, { ...acme, name: 'Globex' })).json().data.id;
  await call('POST', own, 201, { role_id: manager, node_id: other, effective_to: until });
  const invite = (email: string, status: number) =>
    call('POST', `/organizations/${other}/invitations`, status, { email, role_ids: [manager] }, person.headers);
  expect(codeOf(await invite(person.email, 403))).toBe('role.cannot_grant');
  await invite(`${uuidv7()}@example.com`, 201);
});

test('neither a role that is switched off nor one that was removed prolongs what a caller may assign to themselves', async () => {
  const node = await newNode();
  const below = await newNode(node);
  const keys = ['rbac.assign_roles', 'identity.view'];
  const [lead, deputy] = [await newRole(`Lead ${node}`, keys), await newRole(`Deputy ${node}`, keys)];
  const person = await newIdentityCaller(api, account);
  const own = `/identities/${person.id}/role-assignments`;
  const until = new Date(api.clock.now.getTime() + 60_000).toISOString();
  await call('POST', own, 201, { role_id: lead, node_id: node, effective_to: until });
  const prolong = (status: number) => call('POST', own, status, { role_id: lead, node_id: below }, person.headers);
  const { assignment_id } = (await call('POST', own, 201, { role_id: deputy, node_id: node })).json().data;
  const turn = (is_active: boolean, version: number) =>
    call('PATCH', `/roles/${deputy}`, 200, { is_active }, { ...key, 'if-match': String(version) });
  await turn(false, 1);
  expect(codeOf(await prolong(403))).toBe('role.cannot_grant');
  await turn(true, 2);
  await call('DELETE', `${own}/${assignment_id}`, 204);
  expect(codeOf(await prolong(403))).toBe('role.cannot_grant');
  await call('POST', own, 201, { role_id: deputy, node_id: node });
  await prolong(201);
});

test('a person who holds a role in shifts cannot assign it to themselves for the time in between', async () => {
  const node = await newNode();
  const below = await newNode(node);
  const shift = await newRole(`Shift ${node}`, ['rbac.assign_roles', 'identity.view']);
  const person = await newIdentityCaller(api, account);
  const own = `/identities/${person.id}/role-assignments`;
  const at = (minute: number) => new Date(api.clock.now.getTime() + minute * 60_000).toISOString();
  for (const [from, to] of [
    [0, 5],
    [5, 8],
    [60, 70],
  ] as const)
    await call('POST', own, 201, {
      role_id: shift,
      node_id: node,
      ...(from > 0 && { effective_from: at(from) }),
      effective_to: at(to),
    });
  const give = (status: number, window: object) =>
    call('POST', own, status, { role_id: shift, node_id: below, ...window }, person.headers);
  expect(codeOf(await give(403, { effective_to: at(69) }))).toBe('role.cannot_grant');
  expect(codeOf(await give(403, { effective_from: at(7), effective_to: at(61) }))).toBe('role.cannot_grant');
  await give(201, { effective_to: at(8) });
  await give(201, { effective_from: at(60), effective_to: at(70) });
});

test('a caller who assigns many has their permissions checked by one statement at a time, each with many checks', async () => {
  const keys = Array.from({ length: 60 }, (_, i) => `many.p${i}`);
  for (const each of keys) await call('POST', '/permissions', 201, { key: each, name: each });
  const [wide, half] = [await newRole('Wide', keys), await newRole('Half', keys.slice(0, 30))];
  const [held, lacking, elsewhere] = [await newNode(), await newNode(), await newNode()];
  const below = await Promise.all(Array.from({ length: 20 }, () => newNode(held)));
  const giver = await newIdentityCaller(api, account, [
    { role: 'Organization manager', nodeId: held },
    { role: 'Wide', nodeId: held },
    { role: 'Organization manager', nodeId: lacking },
    { role: 'Half', nodeId: lacking },
    { role: 'Wide', nodeId: elsewhere },
  ]);
  const identity_id = await newIdentity();
  const at = (role_id: string, node_id: string) => ({ identity_id, role_id, node_id });
  const wanted = [
    ...[at(wide, lacking), at(half, lacking), at(wide, elsewhere), at(uuidv7(), held), at(wide, lacking)],
    ...below.flatMap((node) => [at(wide, node), at(half, node)]),
  ];
  const statements = underWay(api);
  const give = (role_assignments: object[]) =>
    call('POST', '/role-assignments', 200, { role_assignments }, giver.headers);
  const { items } = (await give(wanted)).json();
  expect(
    items.map(({ status, error }: { status: string; error: { code: string } | null }) => error?.code ?? status),
  ).toEqual([
    ...['role.cannot_grant', 'created', 'permission.required', 'role.not_found', 'role.cannot_grant'],
    ...below.flatMap(() => ['created', 'created']),
  ]);
  // Whether they may assign at 22 nodes; and whether they hold 60 permissions at the 21 of them where they may.
  expect(statements).toEqual({ max: 1, checks: [22, 1000, 260] });
});

test('a caller whose permission ended with an inactive node removes nothing there; a key still does', async () => {
  const node = await newNode();
  const manager = await newIdentityCaller(api, account, [
    { role: 'Organization manager', nodeId: node },
    { role: 'Organization manager', nodeId: await newNode() },
  ]);
  const path = `/identities/${await newIdentity()}/role-assignments`;
  const { assignment_id } = (await call('POST', path, 201, { role_id: roleId, node_id: node })).json().data;
  const { version } = (await call('GET', `/nodes/${node}`, 200)).json().data;
  await call('PATCH', `/nodes/${node}`, 200, { status: 'inactive' }, { ...key, 'if-match': String(version) });
  const one = `${path}/${assignment_id}`;
  expect(codeOf(await call('DELETE', one, 403, undefined, manager.headers))).toBe('permission.required');
  await call('DELETE', one, 204);
});

test('an assignment applies at once, and a removed one no longer', async () => {
  const ida = await newIdentityCaller(api, account);
  await call('GET', '/identities', 403, undefined, ida.headers);
  const path = `/identities/${ida.id}/role-assignments`;
  const { assignment_id } = (await call('POST', path, 201, { role_id: roleId })).json().data;
  await call('GET', '/identities', 200, undefined, ida.headers);
  await call('DELETE', `${path}/${assignment_id}`, 204);
  await call('GET', '/identities', 403, undefined, ida.headers);
});

test("another account's identity, role, node and assignment are 404", async () => {
  const stranger = await newAccount(api);
  const theirs = await stranger.apiKey();
  const identity = await newIdentity();
  await holdRoles(api, account.scope, identity, [{ role: 'Clerk' }]);
  const path = `/identities/${identity}/role-assignments`;
  const [{ assignment_id }] = (await call('GET', path, 200)).json().items;
  await call('GET', path, 404, undefined, theirs);
  expect(codeOf(await call('POST', path, 404, { role_id: roleId }, theirs))).toBe('identity.not_found');
  expect(codeOf(await call('DELETE', `${path}/${assignment_id}`, 404, undefined, theirs))).toBe('identity.not_found');
  const bulk = await call('DELETE', '/role-assignments', 200, { assignment_ids: [assignment_id] }, theirs);
  expect(bulk.json().items[0].error.code).toBe('role_assignments.not_found');
  expect((await call('GET', path, 200)).json().items).toHaveLength(1);
});

test('the scope `permissions` puts what is held at the root into the access token, and nothing from elsewhere', async () => {
  const node = await newNode();
  const ida = await newIdentityCaller(api, account, [{ role: 'Clerk' }, { role: 'Administrator', nodeId: node }]);
  const claims = async (scope: string) => {
    const payload = { client_id: ida.clientId, email: ida.email, password: ida.password, scope };
    const { data } = (await send(api.app, 200, { method: 'POST', url: '/v1/identity/auth/login', payload })).json();
    return decodeJwt(data.access_token);
  };
  expect(await claims('openid permissions')).toMatchObject({ permissions: ['identity.view'] });
  expect(await claims('openid')).not.toHaveProperty('permissions');
});

test('the scope `permissions` contains what is in force: from the moment it begins until right before it ends', async () => {
  const ida = await newIdentityCaller(api, account);
  const minute = 60_000;
  const at = (ms: number) => new Date(api.clock.now.getTime() + ms).toISOString();
  const windows: [string, object][] = [
    ['hierarchy.view', { effective_from: at(minute) }],
    ['hierarchy.manage', { effective_to: at(minute + 1) }],
    ['identity.manage', { effective_to: at(minute) }],
    ['rbac.view_roles', { effective_from: at(minute + 1) }],
    ['identity.view', {}],
  ];
  for (const [permission, window] of windows) {
    const role_id = await newRole(`${permission} ${ida.id}`, [permission]);
    await call('POST', `/identities/${ida.id}/role-assignments`, 201, { role_id, ...window });
    const headers = { ...key, 'if-match': '1' };
    if (permission === 'identity.view') await call('PATCH', `/roles/${role_id}`, 200, { is_active: false }, headers);
  }
  api.clock.advance(minute);
  const payload = { client_id: ida.clientId, email: ida.email, password: ida.password, scope: 'openid permissions' };
  const { data } = (await send(api.app, 200, { method: 'POST', url: '/v1/identity/auth/login', payload })).json();
  expect(decodeJwt(data.access_token)).toMatchObject({ permissions: ['hierarchy.manage', 'hierarchy.view'] });
});

test('a person who leaves while they are assigned a role holds none when they return', async () => {
  const elsewhere = account.portalPath('/identities', 'production');
  const owner = await account.as('owner');
  for (let i = 0; i < 10; i++) {
    const email = `${uuidv7()}@example.com`;
    const id = (await call('POST', '/identities', 201, { email })).json().data.id;
    await send(api.app, 201, { method: 'POST', url: elsewhere, headers: owner, payload: { email } });
    const role_assignments = [{ identity_id: id, role_id: roleId }];
    const give = () => call('POST', '/role-assignments', 200, { role_assignments });
    const [, given] = await Promise.all([call('DELETE', `/identities/${id}`, 204), give(), give()]);
    expect(['created', 'exists', 'identity.not_found']).toContain(itemOf(given));
    await call('POST', '/identities', 201, { email });
    expect((await call('GET', `/identities/${id}/role-assignments`, 200)).json().items).toEqual([]);
  }
});

test('in bulk, a role that is deleted meanwhile keeps no other from being given', async () => {
  for (let i = 0; i < 10; i++) {
    const id = await newIdentity();
    const going = await newRole(`Going ${uuidv7()}`, []);
    const role_assignments = [going, roleId].map((role_id) => ({ identity_id: id, role_id }));
    const deleted = api.app.inject({
      method: 'DELETE',
      url: `/api/v1/roles/${going}`,
      headers: { ...key, 'if-match': '1' },
    });
    const given = await call('POST', '/role-assignments', 200, { role_assignments });
    expect(['204', '409 role.in_use']).toContain(outcomeOf(await deleted));
    expect(given.json().items[1].status).toBe('created');
  }
});

const itemOf = (answer: LightMyRequestResponse): string => {
  const [{ status, error }] = answer.json().items;
  return error?.code ?? status;
};

/** Returns how many decisions ran at the same time at most, and how many checks each statement had. */
function underWay({ database: { db } }: TestApi): { max: number; checks: number[] } {
  const seen = { max: 0, checks: [] as number[] };
  const { statement } = db;
  let now = 0;
  jest.spyOn(db, 'statement').mockImplementation(async (asked, values) => {
    if (asked.name !== 'evaluate_checks') return statement(asked, values);
    seen.checks.push((values[2] as string[]).length);
    seen.max = Math.max(seen.max, ++now);
    return statement<never>(asked, values).finally(() => now--);
  });
  return seen;
}
