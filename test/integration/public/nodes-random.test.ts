import fc from 'fast-check';
import { outcomeOf, outcomesOf } from '../../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { type Calls, callsWith, countersOf, newIdentity, newNode, rootOf, wrongPaths } from '../../support/nodes.js';
import { rowsOf } from '../../support/rows.js';

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

const setUp = async (): Promise<{ account: TestAccount; key: Calls; root: string }> => {
  const account = await newAccount(api);
  const key = callsWith(api, await account.apiKey());
  return { account, key, root: (await rootOf(key)).id };
};

interface ModelNode {
  parent: string | null;
  type: string;
  slug: string;
  version: number;
}

/** Returns a model with the rules of the tree in a few lines, to compare the service with. */
function newModel(root: string, maxDepth: number) {
  const nodes = new Map<string, ModelNode>([[root, { parent: null, type: 'root', slug: 'root', version: 1 }]]);
  const get = (id: string) => nodes.get(id) as ModelNode;
  const path = (id: string): string[] => {
    const { parent } = get(id);
    return [...(parent === null ? [] : path(parent)), id];
  };
  const below = (id: string) => [...nodes.keys()].filter((each) => path(each).includes(id));
  return {
    nodes,
    get,
    path,
    below,
    height: (id: string) => Math.max(...below(id).map((each) => path(each).length)) - path(id).length,
    placing(type: string, slug: string, parent: string, height = 0, self?: string): string | null {
      if (type !== 'unit' && !['organization', 'root'].includes(get(parent).type)) return '400 nodes.type_not_allowed';
      if (path(parent).length + height > maxDepth) return '400 nodes.too_deep';
      const isTaken = [...nodes].some(([id, n]) => id !== self && n.parent === parent && n.slug === slug);
      return isTaken ? '409 nodes.slug_taken' : null;
    },
  };
}

const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('create' as const), at: fc.nat(), isUnit: fc.boolean(), slug: fc.nat(3) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('move' as const), at: fc.nat(), to: fc.nat(), stale: fc.nat(9) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('rename' as const), at: fc.nat(), slug: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), at: fc.nat(), cascade: fc.boolean() }) },
);

test('any sequence of changes to a tree ends as in the simplest model', async () => {
  const property = fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 40 }), async (steps) => {
    const { account, key, root } = await setUp();
    const { data } = (await key('GET', '/node-type-schema')).json();
    await key('PUT', '/node-type-schema', { max_depth: 4, node_types: data.node_types }, 1);
    const model = newModel(root, 4);
    const pick = (n: number) => [...model.nodes.keys()][n % model.nodes.size] as string;
    for (const each of steps) {
      const id = pick(each.at);
      const node = model.get(id);
      if (each.kind === 'create') {
        const [type, slug] = [each.isUnit ? 'unit' : 'organization', `s${each.slug}`];
        const answer = await key('POST', '/nodes', { parent_node_id: id, node_type: type, name: slug, slug });
        expect(outcomeOf(answer)).toBe(model.placing(type, slug, id) ?? '201');
        if (answer.statusCode === 201) model.nodes.set(answer.json().data.id, { parent: id, type, slug, version: 1 });
      } else if (each.kind === 'move') {
        const to = pick(each.to);
        const isStale = each.stale === 0;
        const version = node.version + (isStale ? 1 : 0);
        const answer = await key('POST', `/nodes/${id}/move`, { parent_node_id: to }, version);
        const isSame = node.parent === to;
        const expected = isStale
          ? '409 version.conflict'
          : isSame
            ? '200'
            : node.type === 'root'
              ? '400 nodes.root_fixed'
              : model.path(to).includes(id)
                ? '400 nodes.would_cycle'
                : (model.placing(node.type, node.slug, to, model.height(id), id) ?? '200');
        expect(outcomeOf(answer)).toBe(expected);
        if (expected === '200' && !isSame) model.nodes.set(id, { ...node, parent: to, version: node.version + 1 });
      } else if (each.kind === 'rename') {
        const slug = `s${each.slug}`;
        const answer = await key('PATCH', `/nodes/${id}`, { slug }, node.version);
        const isTaken = [...model.nodes].some(
          ([other, n]) => other !== id && n.parent === node.parent && n.slug === slug,
        );
        expect(outcomeOf(answer)).toBe(isTaken && node.parent !== null ? '409 nodes.slug_taken' : '200');
        if (answer.statusCode === 200 && node.slug !== slug)
          model.nodes.set(id, { ...node, slug, version: node.version + 1 });
      } else {
        const answer = await key('DELETE', `/nodes/${id}?cascade=${each.cascade}`, undefined, node.version);
        const below = model.below(id);
        const isRefused = !each.cascade && below.length > 1;
        const isRoot = node.type === 'root';
        expect(outcomeOf(answer)).toBe(isRoot ? '400 nodes.root_fixed' : isRefused ? '400 nodes.has_children' : '204');
        if (answer.statusCode === 204) for (const gone of below) model.nodes.delete(gone);
      }
    }
    const { items } = (await key('GET', '/nodes?take=100')).json() as { items: Record<string, string>[] };
    const answered = items.map(({ id, parent_node_id, slug, version }) => [id, parent_node_id, slug, version]).sort();
    expect(answered).toEqual([...model.nodes].map(([id, n]) => [id, n.parent, n.slug, n.version]).sort());
    const organizations = [...model.nodes.values()].filter(({ type }) => type === 'organization').length;
    expect(await countersOf(api, account)).toEqual({ nodes: model.nodes.size, organizations });
    expect(await wrongPaths(api, account)).toEqual([]);
    for (const id of model.nodes.keys()) {
      const above = (await key('GET', `/nodes/${id}/ancestors`)).json().items.map((node: { id: string }) => node.id);
      expect(above).toEqual(model.path(id).slice(0, -1));
    }
  });
  await fc.assert(property, { numRuns: 12, seed: 20_261_121, interruptAfterTimeLimit: 100_000 });
});

test('simultaneous moves of the same nodes never make a cycle, and every path stays right', async () => {
  const { account, key, root } = await setUp();
  const ids: string[] = [];
  for (let i = 0; i < 30; i++) {
    ids.push((await newNode(key, `Node ${i}`, i < 3 ? root : (ids[Math.floor(i / 2)] as string))).id);
  }
  const random = (n: number) => Math.floor(Math.random() * n);
  const versions = new Map(ids.map((id) => [id, 1]));
  const mover = async () => {
    const answers = [];
    for (let i = 0; i < 25; i++) {
      const [id, to] = [ids[random(30)] as string, ids[random(30)] as string];
      const kind = random(10);
      const answer =
        kind < 8
          ? await key('POST', `/nodes/${id}/move`, { parent_node_id: to }, versions.get(id))
          : kind === 8
            ? await key('POST', '/nodes', { parent_node_id: to, node_type: 'unit', name: 'New' })
            : await key('PATCH', `/nodes/${id}`, { name: `Renamed ${i}` }, versions.get(id));
      const { data } = answer.json();
      if (data?.id === id) versions.set(id, data.version);
      answers.push(answer);
    }
    return answers;
  };
  const answers = (await Promise.all(Array.from({ length: 8 }, mover))).flat();
  const outcomes = outcomesOf(answers);
  const expected = ['200', '201', '400 nodes.would_cycle', '409 version.conflict', '400 nodes.too_deep'];
  expect(Object.keys(outcomes).filter((outcome) => !expected.includes(outcome))).toEqual([]);
  expect(outcomes['200']).toBeGreaterThan(20);
  expect(await wrongPaths(api, account)).toEqual([]);
  const { data } = (await key('GET', '/nodes/tree')).json();
  const count = (branch: { children: [] }): number => branch.children.reduce((sum, each) => sum + count(each), 1);
  expect({ nodes: count(data), organizations: 0 }).toEqual(await countersOf(api, account));
});

test('of two nodes that are moved below each other at once, at most one is', async () => {
  const { account, key } = await setUp();
  for (let i = 0; i < 10; i++) {
    const [a, b] = [await newNode(key, `A${i}`, null), await newNode(key, `B${i}`, null)];
    const answers = await Promise.all([
      key('POST', `/nodes/${a.id}/move`, { parent_node_id: b.id }, 1),
      key('POST', `/nodes/${b.id}/move`, { parent_node_id: a.id }, 1),
    ]);
    expect(outcomesOf(answers)).toEqual({ '200': 1, '400 nodes.would_cycle': 1 });
  }
  expect(await wrongPaths(api, account)).toEqual([]);
});

test('what is created below a node that is being deleted is deleted with it or refused', async () => {
  const { account, key } = await setUp();
  for (let i = 0; i < 8; i++) {
    const top = await newNode(key, `Top ${i}`, null);
    const create = (name: string) => key('POST', '/nodes', { parent_node_id: top.id, node_type: 'unit', name });
    const [one, deleted, two] = await Promise.all([
      create('One'),
      key('DELETE', `/nodes/${top.id}?cascade=true`, undefined, 1),
      create('Two'),
    ]);
    expect(outcomeOf(deleted)).toBe('204');
    for (const answer of [one, two]) expect(['201', '404 nodes.node_not_found']).toContain(outcomeOf(answer));
  }
  expect(await countersOf(api, account)).toEqual({ nodes: 1, organizations: 0 });
  expect((await key('GET', '/nodes')).json().items).toHaveLength(1);
});

test('siblings that are created at once get different slugs, and a requested slug is given once', async () => {
  const { key } = await setUp();
  const made = await Promise.all(Array.from({ length: 6 }, () => newNode(key, 'Same', null)));
  expect(new Set(made.map(({ slug }) => slug)).size).toBe(6);
  const wanted = { node_type: 'unit', name: 'x', slug: 'only-one' };
  const answers = await Promise.all(Array.from({ length: 6 }, () => key('POST', '/nodes', wanted)));
  expect(outcomesOf(answers)).toEqual({ '201': 1, '409 nodes.slug_taken': 5 });
});

test('a role that is assigned at a node while it is deleted has its deletion event too, or was never assigned', async () => {
  const { account, key } = await setUp();
  const person = await newIdentity(api, account);
  const [role] = await rowsOf<{ id: string }>(
    api,
    `select id from roles where environment_id = $1 and system_key = 'viewer'`,
    [account.scope.environmentId],
  );
  for (let i = 0; i < 8; i++) {
    const top = await newNode(key, `Top ${i}`, null);
    const low = await newNode(key, 'Low', top.id);
    const role_assignments = [{ identity_id: person.id, role_id: role?.id, node_id: low.id }];
    const [given, deleted] = await Promise.all([
      key('POST', '/role-assignments', { role_assignments }),
      key('DELETE', `/nodes/${top.id}?cascade=true`, undefined, 1),
    ]);
    expect(outcomeOf(deleted)).toBe('204');
    expect(['200', '404 nodes.node_not_found']).toContain(outcomeOf(given));
  }
  const told = await rowsOf<{ created: string[] | null; deleted: string[] | null }>(
    api,
    `select array_agg(resource_id order by resource_id) filter (where action = 'role_assignment.created') as created,
       array_agg(resource_id order by resource_id) filter (where action = 'role_assignment.deleted') as deleted
     from events where environment_id = $1`,
    [account.scope.environmentId],
  );
  expect(told[0]?.deleted).toEqual(told[0]?.created);
});
