import { v7 as uuidv7 } from 'uuid';
import { baseUrl, newAccount, send, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { newIdentityCaller } from '../support/identity-caller.js';
import { rowsOf } from '../support/rows.js';

let api: TestApi;
let account: TestAccount;
let key: Record<string, string>;
let [role, house, room, ana, ben] = ['', '', '', '', ''];
beforeAll(async () => {
  api = await startApi();
  account = await newAccount(api);
  key = await account.apiKey();
  await post('/api/v1/permissions', 201, { key: 'door.open', name: 'Open the door' });
  await post('/api/v1/permissions', 201, { key: 'door.lock', name: 'Lock the door' });
  role = await made('/api/v1/roles', { name: 'Porter', permission_keys: ['door.open'] });
  house = await made('/api/v1/nodes', { parent_node_id: null, node_type: 'unit', name: 'House' });
  room = await made('/api/v1/nodes', { parent_node_id: house, node_type: 'unit', name: 'Room' });
  [ana, ben] = [await newIdentity(), await newIdentity()];
  await post(`/api/v1/identities/${ana}/role-assignments`, 201, { role_id: role, node_id: house });
});
afterAll(() => api.stop());

const post = (url: string, status: number, payload: object, headers: Record<string, string> = key) =>
  send(api.app, status, { method: 'POST', url, headers, payload });
const made = async (url: string, payload: object): Promise<string> => (await post(url, 201, payload)).json().data.id;
const newIdentity = () => made('/api/v1/identities', { email: `${uuidv7()}@example.com` });
const evaluate = async (payload: object) => (await post('/access/v1/evaluations', 200, payload)).json();
const subject = (id: string) => ({ type: 'identity', id });
const node = (id: string) => ({ type: 'node', id });
const open = { name: 'door.open' };

test("AuthZEN's endpoints are named by /.well-known/authzen-configuration", async () => {
  const document = (await send(api.app, 200, { url: '/.well-known/authzen-configuration' })).json();
  expect(document).toEqual({
    policy_decision_point: baseUrl,
    access_evaluation_endpoint: `${baseUrl}/access/v1/evaluation`,
    access_evaluations_endpoint: `${baseUrl}/access/v1/evaluations`,
    search_subject_endpoint: `${baseUrl}/access/v1/search/subject`,
    search_resource_endpoint: `${baseUrl}/access/v1/search/resource`,
    search_action_endpoint: `${baseUrl}/access/v1/search/action`,
  });
});

test.each([
  ['a person who holds the permission above the node', () => [subject(ana), node(room)], true, 'granted'],
  ['a person who holds nothing', () => [subject(ben), node(room)], false, 'no_assignment'],
  ['another kind of subject', () => [{ type: 'user', id: ana }, node(room)], false, 'identity_not_found'],
  ['a subject that is no id', () => [subject('ana'), node(room)], false, 'identity_not_found'],
  ['another kind of resource', () => [subject(ana), { type: 'document', id: room }], false, 'node_not_found'],
  [
    'the root, by the environment',
    () => [subject(ana), { type: 'environment', id: account.scope.environmentId }],
    false,
    'no_assignment',
  ],
  [
    'the root, by an id in capitals',
    () => [subject(ana), { type: 'environment', id: account.scope.environmentId.toUpperCase() }],
    false,
    'no_assignment',
  ],
  [
    'another environment',
    () => [subject(ana), { type: 'environment', id: account.productionScope.environmentId }],
    false,
    'node_not_found',
  ],
] as const)('decides about %s', async (_name, parts, decision, reason) => {
  const [asked, resource] = parts();
  const payload = { subject: asked, action: open, resource, context: { time: 'now' } };
  expect((await post('/access/v1/evaluation', 200, payload)).json()).toEqual({ decision, context: { reason } });
});

test('evaluations inherit from the request what they omit, and stop where told', async () => {
  const evaluations = [{ resource: node(room) }, { subject: subject(ben) }, { action: { name: 'door.lock' } }];
  const request = { subject: subject(ana), action: open, resource: node(house), evaluations };
  const decisions = async (options?: object) =>
    (await evaluate({ ...request, ...(options && { options }) })).evaluations.map(
      (one: { decision: boolean }) => one.decision,
    );
  expect(await decisions()).toEqual([true, false, false]);
  expect(await decisions({ evaluations_semantic: 'execute_all' })).toEqual([true, false, false]);
  expect(await decisions({ evaluations_semantic: 'deny_on_first_deny' })).toEqual([true, false]);
  expect(await decisions({ evaluations_semantic: 'permit_on_first_permit' })).toEqual([true]);
  await post('/access/v1/evaluations', 400, { ...request, options: { evaluations_semantic: 'guess' } });
});

test('an invalid evaluation is denied, and does not prevent the others', async () => {
  const good = { subject: subject(ana), action: open, resource: node(room) };
  const { resource: _, ...placeless } = good;
  const bad = [
    { action: { name: 'x.y' } },
    placeless,
    { ...good, subject: null },
    { ...good, action: 'door.open' },
    { ...good, resource: { type: 'node' } },
    { ...good, subject: { type: 'identity', id: 7 } },
    { ...good, context: 'now' },
    { ...good, action: { name: 'door.open\u0000' } },
    { ...good, action: { name: 'door.open\ud800' } },
    null,
    'good',
  ];
  const granted = { decision: true, context: { reason: 'granted' } };
  const denied = { decision: false, context: { reason: 'evaluation_invalid' } };
  for (const each of bad)
    expect(await evaluate({ evaluations: [good, each, good] })).toEqual({ evaluations: [granted, denied, granted] });
  const all = { evaluations: [good, ...bad, good] };
  expect((await evaluate(all)).evaluations).toEqual([granted, ...bad.map(() => denied), granted]);
  expect(
    (await evaluate({ ...all, options: { evaluations_semantic: 'deny_on_first_deny' } })).evaluations,
  ).toHaveLength(2);
  // Defaults of the request replace nothing that an evaluation has, not even null.
  expect(await evaluate({ ...good, evaluations: [{ resource: null }, {}] })).toEqual({
    evaluations: [denied, granted],
  });
  // An error in the request as a whole refuses it.
  for (const wrong of [
    { subject: null },
    { action: { name: 'door.open\ud800' } },
    { evaluations: 'all' },
    { options: 1 },
  ]) {
    await post('/access/v1/evaluations', 400, { ...good, evaluations: [good], ...wrong });
  }
  await post('/access/v1/evaluations', 400, { evaluations: Array.from({ length: 1001 }, () => good) });
});

test('a request without evaluations is answered like a single one', async () => {
  const request = { subject: subject(ana), action: open, resource: node(house) };
  expect(await evaluate(request)).toEqual({ decision: true, context: { reason: 'granted' } });
  const { error } = (await post('/access/v1/evaluations', 400, { subject: subject(ana), action: open })).json();
  expect(error.details).toMatchObject([{ field: 'resource', code: 'required' }]);
});

test('searches return subjects, resources and actions, in pages', async () => {
  const who = { subject: { type: 'identity' }, action: open, resource: node(room) };
  const found = (await post('/access/v1/search/subject', 200, who)).json();
  expect(found).toEqual({ results: [subject(ana)], page: { next_token: '' } });
  const where = { subject: subject(ana), action: open, resource: { type: 'node' } };
  expect(
    (await post('/access/v1/search/resource', 200, where)).json().results.map(({ id }: { id: string }) => id),
  ).toEqual([house, room].sort());
  const first = (await post('/access/v1/search/resource', 200, { ...where, page: { limit: 1 } })).json();
  const second = (
    await post('/access/v1/search/resource', 200, { ...where, page: { limit: 1, token: first.page.next_token } })
  ).json();
  expect([...first.results, ...second.results].map(({ id }: { id: string }) => id)).toEqual([house, room].sort());
  expect(second.page.next_token).toBe('');
  const what = { subject: subject(ana), resource: node(room) };
  expect((await post('/access/v1/search/action', 200, what)).json().results).toEqual([open]);
  expect((await post('/access/v1/search/action', 200, { ...what, subject: subject(ben) })).json().results).toEqual([]);
  await post('/access/v1/search/resource', 400, { ...where, page: { token: 'bm90IG91cnM' } });
});

describe('decisions, searches and lists agree about', () => {
  const minute = 60_000;
  const change = (method: 'PATCH' | 'POST' | 'DELETE', url: string, payload?: object) =>
    send(api.app, method === 'DELETE' ? 204 : 200, {
      method,
      url: `/api/v1${url}`,
      headers: { ...key, ...(payload && { 'if-match': '1' }) },
      ...(payload && { payload }),
    });
  const nothing = () => {};
  interface Given {
    person: string;
    top: string;
    place: string;
    role: string;
    assignment: string;
  }

  test.each<[string, { from?: number; to?: number }, (given: Given) => unknown, boolean]>([
    ['a role', {}, nothing, true],
    ['a role that begins at this moment', { from: minute }, nothing, true],
    ['a role that begins right after', { from: minute + 1 }, nothing, false],
    ['a role that ends right after', { to: minute + 1 }, nothing, true],
    ['a role that ends at this moment', { to: minute }, nothing, false],
    [
      'a role that was removed',
      {},
      ({ person, assignment }) => change('DELETE', `/identities/${person}/role-assignments/${assignment}`),
      false,
    ],
    ['a role that is switched off', {}, ({ role }) => change('PATCH', `/roles/${role}`, { is_active: false }), false],
    ['an inactive node', {}, ({ place }) => change('PATCH', `/nodes/${place}`, { status: 'inactive' }), false],
    ['a node below an inactive one', {}, ({ top }) => change('PATCH', `/nodes/${top}`, { status: 'inactive' }), false],
    ['an inactive person', {}, ({ person }) => change('POST', `/identities/${person}/deactivate`), false],
  ])('%s', async (_name, { from, to }, happen, isAllowed) => {
    const at = (ms?: number) => (ms === undefined ? null : new Date(api.clock.now.getTime() + ms).toISOString());
    const permission_keys = ['door.open', 'hierarchy.view'];
    const caller = await newIdentityCaller(api, account);
    const porter = await made('/api/v1/roles', { name: uuidv7(), permission_keys });
    const top = await made('/api/v1/nodes', { parent_node_id: null, node_type: 'unit', name: 'Top' });
    const place = await made('/api/v1/nodes', { parent_node_id: top, node_type: 'unit', name: 'Place' });
    const wanted = { role_id: porter, node_id: place, effective_from: at(from), effective_to: at(to) };
    const url = `/api/v1/identities/${caller.id}`;
    const { assignment_id: assignment } = (await post(`${url}/role-assignments`, 201, wanted)).json().data;
    await happen({ person: caller.id, top, place, role: porter, assignment });
    api.clock.advance(minute);

    const [who, where] = [subject(caller.id), node(place)];
    const found = async (kind: string, asked: object) =>
      (await post(`/access/v1/search/${kind}`, 200, asked)).json().results;
    const read = async (path: string) =>
      (await send(api.app, 200, { url: `${url}/${path}`, headers: key })).json().data;
    const seen = await api.app.inject({ url: '/api/v1/nodes', headers: caller.headers });
    expect({
      decision: (await evaluate({ subject: who, action: open, resource: where })).decision,
      subjects: await found('subject', { subject: { type: 'identity' }, action: open, resource: where }),
      resources: await found('resource', { subject: who, action: open, resource: { type: 'node' } }),
      actions: await found('action', { subject: who, resource: where }),
      permissions: (await read(`effective-permissions?node_id=${place}`)).permissions,
      locations: (await read('permission-locations?permission=door.open')).locations.length,
      nodes: seen.json().items?.length ?? 0,
    }).toEqual(
      isAllowed
        ? {
            decision: true,
            subjects: [who],
            resources: [where],
            actions: permission_keys.map((name) => ({ name })),
            permissions: permission_keys,
            locations: 1,
            nodes: 1,
          }
        : { decision: false, subjects: [], resources: [], actions: [], permissions: [], locations: 0, nodes: 0 },
    );
  });
});

test('a search for environments finds this one, by its root', async () => {
  const cara = await newIdentity();
  await post(`/api/v1/identities/${cara}/role-assignments`, 201, { role_id: role, node_id: null });
  const where = { action: open, resource: { type: 'environment' } };
  const found = async (id: string, page?: object) =>
    (await post('/access/v1/search/resource', 200, { ...where, subject: subject(id), page })).json();
  const here = { type: 'environment', id: account.scope.environmentId };
  expect(await found(cara)).toEqual({ results: [here], page: { next_token: '' } });
  expect(await found(ana)).toEqual({ results: [], page: { next_token: '' } });
  const token = Buffer.from(here.id).toString('base64url');
  expect((await found(cara, { token })).results).toEqual([]); // there is no second page
});

test('callers need the permission to evaluate, as on the Public API', async () => {
  const payload = { subject: subject(ana), action: open, resource: node(room) };
  await post('/access/v1/evaluation', 401, payload, {});
  await post('/access/v1/search/action', 403, payload, await account.apiKey(['identity.view']));
});

test('a request keeps its caller’s id, and has an id of ours inside', async () => {
  const payload = { subject: subject(ana), action: open, resource: node(room) };
  const answered = async (
    id: string,
    status: number,
    more: Record<string, string> = key,
    url = '/access/v1/evaluation',
  ) => (await post(url, status, payload, { ...more, 'x-request-id': id })).headers['x-request-id'];
  for (const id of [
    'bfe9eb29-ab87-4ca3-be83-a1d5d8305716',
    'BFE9EB29-AB87-4CA3-BE83-A1D5D8305716',
    'pep 7/a:1',
    'x'.repeat(255),
  ]) {
    expect(await answered(id, 200)).toBe(id);
  }
  expect(await answered('none', 401, {})).toBe('none');
  expect(await answered('nowhere', 404, key, '/access/v1/nowhere')).toBe('nowhere');
  expect(await answered('unread', 400, key, '/access/v1/%zz')).toBe('unread');
  const ours = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
  for (const id of ['', 'ü', 'a\tb', 'x'.repeat(256)]) expect(await answered(id, 200)).toMatch(ours);
  expect((await post('/access/v1/evaluation', 200, payload)).headers['x-request-id']).toMatch(ours);
  expect(await answered('elsewhere', 400, key, '/api/v1/authorization/evaluate')).toMatch(ours);
  await post('/access/v1/evaluation', 403, payload, {
    ...(await account.apiKey(['identity.view'])),
    'x-request-id': 'mine',
  });
  const denied = await rowsOf<{ correlation_id: string }>(
    api,
    `select correlation_id from events where account_id = $1 and action = 'auth.access_denied' order by created_at desc limit 1`,
    [account.scope.accountId],
  );
  expect(denied).toEqual([{ correlation_id: expect.stringMatching(ours) }]);
});

test('answers reveal nothing of another environment', async () => {
  const stranger = await (await newAccount(api)).apiKey();
  const payload = { subject: subject(ana), action: open, resource: node(room) };
  expect((await post('/access/v1/evaluation', 200, payload, stranger)).json().decision).toBe(false);
  for (const path of ['subject', 'resource', 'action']) {
    expect((await post(`/access/v1/search/${path}`, 200, payload, stranger)).json().results).toEqual([]);
  }
});
