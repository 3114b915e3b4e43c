import { outcomeOf, outcomesOf } from '../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { type Calls, callsWith, newNode } from '../support/nodes.js';

let api: TestApi;
let account: TestAccount;
let key: Calls;
let owner: Calls;
beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  account = await newAccount(api);
  key = callsWith(api, await account.apiKey());
  owner = callsWith(api, await account.as('owner'), account.portalPath(''));
});
afterAll(() => api.stop());

const settings = async () => (await owner('GET', '/settings')).json().data;
const choose = async (access_model: string) =>
  owner('PATCH', '/settings', { access_model }, (await settings()).version);
const createNode = async (node_type: string) => outcomeOf(await key('POST', '/nodes', { node_type, name: 'x' }));
const createOrganization = async () => outcomeOf(await key('POST', '/organizations', { name: 'x' }));

test('an Environment starts with a hierarchy, and offers what its access model offers', async () => {
  expect((await settings()).access_model).toBe('hierarchy');
  expect(outcomeOf(await choose('organizations'))).toBe('200');
  expect((await settings()).access_model).toBe('organizations');
  expect(await createNode('unit')).toBe('400 nodes.not_in_access_model');
  expect(await createNode('organization')).toBe('201');
  expect(await createOrganization()).toBe('201');
  expect(await createNode('none')).toBe('400 nodes.type_unknown');
  expect(outcomeOf(await choose('hierarchy'))).toBe('200');
  expect(await createNode('unit')).toBe('201');
});

test('an Environment with the flat model has no organizations', async () => {
  expect(outcomeOf(await choose('flat'))).toBe('200');
  expect(await createOrganization()).toBe('400 nodes.not_in_access_model');
  expect(await createNode('unit')).toBe('400 nodes.not_in_access_model');
  const { items, pagination } = (await key('GET', '/organizations')).json();
  expect([items, pagination.item_count]).toEqual([[], 0]);
  expect((await key('GET', '/nodes/tree')).json().data).toMatchObject({ node_type: 'root', children: [] });
});

test('what prevents a change of model is named, and removing it allows the change', async () => {
  const unit = await newNode(key, 'Vienna', null);
  const organization = await newNode(key, 'Acme', null, { node_type: 'organization' });
  const refused = await choose('flat');
  expect(outcomeOf(refused)).toBe('400 validation.failed');
  expect(refused.json().error.details).toEqual([
    { field: 'access_model', code: 'type_in_use', message: `has no \`unit\`, the type of node "Vienna" (${unit.id})` },
    {
      field: 'access_model',
      code: 'type_in_use',
      message: `has no \`organization\`, the type of node "Acme" (${organization.id})`,
    },
  ]);
  expect((await settings()).access_model).toBe('hierarchy');
  expect((await choose('organizations')).json().error.details).toHaveLength(1);
  expect(outcomeOf(await key('DELETE', `/nodes/${unit.id}`, undefined, unit.version))).toBe('204');
  expect(outcomeOf(await choose('organizations'))).toBe('200');
  expect(outcomeOf(await key('DELETE', `/nodes/${organization.id}`, undefined, organization.version))).toBe('204');
  expect(outcomeOf(await choose('flat'))).toBe('200');
});

test('nobody can create a node while the Environment changes to a model without nodes', async () => {
  for (let round = 0; round < 3; round++) {
    const [changed, ...made] = await Promise.all([
      choose('flat'),
      ...Array.from({ length: 4 }, () => key('POST', '/nodes', { node_type: 'unit', name: 'x' })),
    ]);
    const outcomes = outcomesOf(made);
    if (changed.statusCode === 200) expect(outcomes).toEqual({ '400 nodes.not_in_access_model': 4 });
    else expect(outcomes['201']).toBeGreaterThan(0);
    for (const answer of made) {
      if (answer.statusCode !== 201) continue;
      const { id, version } = answer.json().data;
      await key('DELETE', `/nodes/${id}`, undefined, version);
    }
    expect(outcomeOf(await choose('hierarchy'))).toBe('200');
  }
});
