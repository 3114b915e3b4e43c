import { outcomeOf, outcomesOf } from '../../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { callsOf } from '../../support/calls.js';
import { type Calls, callsWith, newIdentity, newNode, rootOf } from '../../support/nodes.js';
import { rowsOf } from '../../support/rows.js';

let api: TestApi;
let account: TestAccount;
let key: Calls;
beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  account = await newAccount(api);
  key = callsWith(api, await account.apiKey());
});
afterAll(() => api.stop());

const type = (name: string, more: object = {}) => ({ key: name, name, can_be_root: true, ...more });
const put = (node_types: object[], version: number, max_depth = 20) =>
  key('PUT', '/node-type-schema', { max_depth, node_types }, version);
const units = type('unit', { allowed_parents: ['unit'] });

test('a new Environment has organizations and units', async () => {
  const read = await key('GET', '/node-type-schema');
  expect([read.statusCode, read.headers.etag]).toEqual([200, '"1"']);
  expect(read.json().data).toEqual({
    max_depth: 20,
    node_types: [
      { key: 'organization', name: 'Organization', allowed_parents: ['organization'] },
      { key: 'unit', name: 'Unit', allowed_parents: ['organization', 'unit'] },
    ].map((each) => ({ ...each, description: null, can_be_root: true, metadata_schema: null, icon: null })),
    version: 1,
    updated_at: expect.stringMatching(/Z$/),
  });
});

test('a schema is replaced under the version that was read, and applies at once', async () => {
  const site = type('site', { description: 'A place', icon: 'pin' });
  const room = type('room', { allowed_parents: ['site'], can_be_root: false });
  const replaced = await put([site, room], 1, 2);
  expect([replaced.statusCode, replaced.headers.etag]).toEqual([200, '"2"']);
  expect(replaced.json().data).toMatchObject({
    max_depth: 2,
    version: 2,
    node_types: [
      { ...site, allowed_parents: [], metadata_schema: null },
      { ...room, description: null, icon: null },
    ],
  });
  const stale = await put([site], 1);
  expect(outcomeOf(stale)).toBe('409 version.conflict');
  expect(stale.json().data).toEqual(replaced.json().data);
  expect(outcomeOf(await key('PUT', '/node-type-schema', { max_depth: 2, node_types: [] }))).toBe(
    '400 if_match.required',
  );
  const made = await newNode(key, 'Vienna', null, { node_type: 'site' });
  const create = async (node_type: string, parent_node_id: string | null) =>
    outcomeOf(await key('POST', '/nodes', { node_type, name: 'x', parent_node_id }));
  expect(await create('unit', null)).toBe('400 nodes.type_unknown');
  expect(await create('room', null)).toBe('400 nodes.type_not_allowed');
  expect(await create('room', made.id)).toBe('201');
  const events = await rowsOf(
    api,
    `select metadata from events where environment_id = $1 and action = 'node_type_schema.updated'`,
    [account.scope.environmentId],
  );
  expect(events).toEqual([{ metadata: { version: 2, max_depth: 2, node_types: ['site', 'room'] } }]);
});

test('a change that existing nodes break is refused and names them, and nothing changes', async () => {
  await put([type('site'), type('room', { allowed_parents: ['site'] })], 1);
  const site = await newNode(key, 'Vienna', null, { node_type: 'site' });
  const room = await newNode(key, 'Room 1', site.id, { node_type: 'room', metadata: { seats: 'many' } });
  const seats = { properties: { seats: { type: 'integer' } } };
  const cases: [object[], number, string, string, string][] = [
    [[type('site')], 20, 'node_types', 'type_in_use', room.id],
    [
      [type('site', { can_be_root: false }), type('room', { allowed_parents: ['site'] })],
      20,
      'node_types[0].can_be_root',
      'parent_in_use',
      site.id,
    ],
    [[type('site'), type('room')], 20, 'node_types[1].allowed_parents', 'parent_in_use', room.id],
    [[type('site'), type('room', { allowed_parents: ['site'] })], 1, 'max_depth', 'too_small', room.id],
    [
      [type('site'), type('room', { allowed_parents: ['site'], metadata_schema: seats })],
      20,
      'node_types[1].metadata_schema',
      'type',
      room.id,
    ],
  ];
  for (const [types, depth, field, code, id] of cases) {
    const answer = await put(types, 2, depth);
    expect(outcomeOf(answer)).toBe('400 node_type_schema.breaks_nodes');
    expect(answer.json().error.details).toEqual([{ field, code, message: expect.stringContaining(id) }]);
  }
  expect((await key('GET', '/node-type-schema')).json().data.version).toBe(2);
});

test('a refusal names no more broken nodes than an answer has room for', async () => {
  await put([units], 1);
  for (let i = 0; i < 23; i++) await newNode(key, `Unit ${i}`, null);
  const { details } = (await put([type('site')], 2)).json().error;
  expect(details).toHaveLength(20);
});

test('an invalid schema is refused, field by field', async () => {
  const cases: [object[], string][] = [
    [[type('root')], 'node_types[0].key'],
    [[type('a'), type('b'), type('a')], 'node_types[2].key'],
    [[type('a', { allowed_parents: ['a', 'b'] })], 'node_types[0].allowed_parents[1]'],
    [[type('a', { allowed_parents: ['root'] })], 'node_types[0].allowed_parents[0]'],
    [[type('a', { metadata_schema: { type: 'text' } })], 'node_types[0].metadata_schema'],
    [[type('a', { metadata_schema: { $ref: 'https://example.com/x' } })], 'node_types[0].metadata_schema'],
    [[type('a', { metadata_schema: { patternProperties: { '(a+)+': {} } } })], 'node_types[0].metadata_schema'],
    [[type('A')], 'node_types[0].key'],
    [[type('a', { colour: 'red' })], 'node_types[0].colour'],
    [[{ key: 'a' }], 'node_types[0].name'],
  ];
  for (const [types, field] of cases) {
    const answer = await put(types, 1);
    expect([outcomeOf(answer), answer.json().error.details[0].field]).toEqual(['400 validation.failed', field]);
  }
  for (const max_depth of [0, 51, 1.5])
    expect(outcomeOf(await put([units], 1, max_depth))).toBe('400 validation.failed');
});

test("metadata satisfies the schema of the node's type, at creation and at a change", async () => {
  const metadata_schema = {
    type: 'object',
    required: ['tier'],
    properties: { tier: { enum: ['gold', 'silver'] }, tags: { type: 'array', items: { type: 'string' } } },
  };
  expect(outcomeOf(await put([{ ...units, metadata_schema }], 1))).toBe('200');
  const create = (metadata?: object) => key('POST', '/nodes', { node_type: 'unit', name: 'x', metadata });
  const missing = await create();
  expect(missing.json().error).toMatchObject({
    code: 'validation.failed',
    details: [{ field: 'metadata', code: 'required' }],
  });
  const wrong = await create({ tier: 'gold', tags: ['a', 1] });
  expect(wrong.json().error.details).toEqual([{ field: 'metadata.tags[1]', code: 'type', message: 'must be string' }]);
  const { data } = (await create({ tier: 'gold' })).json();
  const change = async (metadata: object, version = 1) =>
    outcomeOf(await key('PATCH', `/nodes/${data.id}`, { metadata }, version));
  expect(await change({ tier: 'iron' })).toBe('400 validation.failed');
  expect(await change({ tier: 'silver' })).toBe('200');
  expect(outcomeOf(await key('PATCH', `/nodes/${data.id}`, { name: 'Other' }, 2))).toBe('200');
  // The root has no type in this schema.
  const root = await rootOf(key);
  expect(outcomeOf(await key('PATCH', `/nodes/${root.id}`, { metadata: { anything: true } }, 1))).toBe('200');
});

test('nodes created while the schema changes fit the final one', async () => {
  await put([type('site'), units], 1);
  const answers = await Promise.all([
    ...Array.from({ length: 6 }, (_, i) => key('POST', '/nodes', { node_type: 'site', name: `S${i}` })),
    put([units], 2),
    ...Array.from({ length: 6 }, (_, i) => key('POST', '/nodes', { node_type: 'site', name: `T${i}` })),
  ]);
  const { data } = (await key('GET', '/node-type-schema')).json();
  const sites = (await key('GET', '/nodes?node_type=site')).json().items.length;
  const isGone = data.node_types.length === 1;
  expect([isGone, sites]).toEqual(isGone ? [true, 0] : [false, expect.any(Number)]);
  const outcomes = outcomesOf(answers);
  expect((outcomes['201'] ?? 0) + (outcomes['400 nodes.type_unknown'] ?? 0)).toBe(12);
});

test('one of two parallel replacements with one version wins', async () => {
  const answers = await Promise.all([put([units], 1), put([units, type('site')], 1), put([type('site')], 1)]);
  expect(outcomesOf(answers)).toEqual({ '200': 1, '409 version.conflict': 2 });
});

test('everybody who sees any of the tree reads it, and callers who manage all of it replace it', async () => {
  const node = await newNode(key, 'Unit', null);
  const person = callsWith(api, (await newIdentity(api, account, [['administrator', node.id]])).headers);
  expect(outcomeOf(await person('GET', '/node-type-schema'))).toBe('200');
  const wanted = { max_depth: 20, node_types: [units] };
  expect(outcomeOf(await person('PUT', '/node-type-schema', wanted, 1))).toBe('403 permission.required');
  const nobody = callsWith(api, (await newIdentity(api, account)).headers);
  expect(outcomeOf(await nobody('GET', '/node-type-schema'))).toBe('403 permission.required');
  const environment = `/applications/${account.applicationSlug}/environments/development/node-type-schema`;
  const viewer = callsOf(api, account.accountSlug, await account.as('viewer'));
  expect(outcomeOf(await viewer('GET', environment))).toBe('200');
  const asDeveloper = callsWith(api, await account.as('developer'), account.portalPath(''));
  const asViewer = callsWith(api, await account.as('viewer'), account.portalPath(''));
  expect(outcomeOf(await asViewer('PUT', '/node-type-schema', wanted, 1))).toBe('403 account.capability_required');
  expect(outcomeOf(await asDeveloper('PUT', '/node-type-schema', wanted, 1))).toBe('200');
});
