import { removeInParts } from '../../src/domain/hierarchy/removal-in-parts.js';
import { removeSome } from '../../src/domain/organizations/remove-all.js';
import { currentContext, runInContext } from '../../src/platform/context.js';
import { RequestAborted } from '../../src/platform/database/aborting.js';
import { LazyAbort } from '../../src/platform/lazy-abort.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { type Calls, callsWith, countersOf, newIdentity, newNode, type TestNode } from '../support/nodes.js';
import { rowsOf } from '../support/rows.js';

/**
 * A large subtree is deleted from the lowest nodes up, a few in each transaction, so that nothing waits for all of it.
 */

let api: TestApi;
let account: TestAccount;
let call: Calls;
beforeAll(async () => {
  api = await startApi();
  account = await newAccount(api);
  call = callsWith(api, await account.apiKey());
});
afterAll(() => api.stop());

/** Creates eleven nodes: three below the top, with three, two and two below them. */
async function grown(): Promise<TestNode> {
  const top = await newNode(call, 'Top', null);
  for (const [i, below] of [3, 2, 2].entries()) {
    const middle = await newNode(call, `Middle ${i}`, top.id);
    for (let j = 0; j < below; j++) await newNode(call, `Low ${i}.${j}`, middle.id);
  }
  return top;
}

/** @param afterEach runs after each transaction */
async function remove(
  { id, version }: { id: string; version: number },
  { afterEach = () => {}, cascade = true }: { afterEach?: (times: number) => unknown; cascade?: boolean } = {},
): Promise<number> {
  let times = 0;
  const removing = async (work: Parameters<Parameters<typeof removeInParts>[0]>[0]) => {
    const left = await api.database.db.transaction(account.scope, work);
    await afterEach(++times);
    return left;
  };
  await removeInParts(removing, account.scope, { id, version, cascade, now: () => new Date(), atOnce: 3 });
  return times;
}
const left = async (id: string) =>
  (await rowsOf<{ name: string }>(api, 'select name from nodes where $1 = any(path) order by name', [id])).map(
    ({ name }) => name,
  );
const versionOf = async (id: string): Promise<number> => (await call('GET', `/nodes/${id}`)).json().data.version;

test('the lowest nodes are deleted first, until one transaction can do the rest; each event names the deleted top node', async () => {
  const top = await grown();
  const before = await countersOf(api, account);
  expect(await remove({ id: top.id, version: await versionOf(top.id) })).toBe(4); // three, three, three, and the last two
  expect(await left(top.id)).toEqual([]);
  const events = await rowsOf<{ top: string }>(
    api,
    `select metadata->>'top_node_id' as top from events where environment_id = $1 and action = 'node.deleted'`,
    [account.scope.environmentId],
  );
  expect(events.map((event) => event.top)).toEqual(Array(11).fill(top.id));
  const after = await countersOf(api, account);
  expect((before.nodes ?? 0) - (after.nodes ?? 0)).toBe(11);
});

test('a node that is changed during its deletion is not deleted any further', async () => {
  const top = await grown();
  const version = await versionOf(top.id);
  const rename = (times: number) => times === 1 && call('PATCH', `/nodes/${top.id}`, { name: 'Kept' }, version);
  await expect(remove({ id: top.id, version }, { afterEach: rename })).rejects.toMatchObject({
    code: 'version.conflict',
  });
  expect(await left(top.id)).toHaveLength(8);
});

test('a request that was given up leaves the rest, and the next one continues with it', async () => {
  const top = await grown();
  const asked = { id: top.id, version: await versionOf(top.id) };
  const abortController = new LazyAbort();
  const first = runInContext({ ...currentContext(), abortController }, () =>
    remove(asked, { afterEach: () => abortController.abort() }),
  );
  await expect(first).rejects.toThrow(RequestAborted);
  expect(await left(top.id)).toHaveLength(8);
  expect(await remove(asked)).toBe(3);
  expect(await left(top.id)).toEqual([]);
});

test('a node’s many roles are deleted before it, each with one event', async () => {
  const top = await newNode(call, 'Crowded', null);
  const below = await newNode(call, 'Below', top.id);
  const held: string[] = [];
  for (const nodeId of [top.id, top.id, below.id, below.id, below.id]) {
    const { assignments } = await newIdentity(api, account, [['organization_manager', nodeId]]);
    held.push(...assignments);
  }
  const version = await versionOf(top.id);
  await expect(remove({ id: top.id, version }, { cascade: false })).rejects.toMatchObject({
    code: 'nodes.has_children',
  });
  expect(await remove({ id: top.id, version })).toBe(2); // three, and the last two with the nodes
  expect(await left(top.id)).toEqual([]);
  const told = await rowsOf<{ id: string }>(
    api,
    `select resource_id as id from events where environment_id = $1 and action = 'role_assignment.deleted' order by 1`,
    [account.scope.environmentId],
  );
  expect(told.map(({ id }) => id)).toEqual(held.sort());
});

test('a node with many roles and nothing below it is deleted in parts without cascade, too', async () => {
  const top = await newNode(call, 'Crowded alone', null);
  for (let i = 0; i < 4; i++) await newIdentity(api, account, [['organization_manager', top.id]]);
  expect(await remove({ id: top.id, version: await versionOf(top.id) }, { cascade: false })).toBe(2);
  expect(await left(top.id)).toEqual([]);
});

/** How many roles each transaction that removed some at these nodes has removed. */
const removedByEach = async (nodeIds: string[]): Promise<number[]> => {
  const rows = await rowsOf<{ count: number }>(
    api,
    `select count(*)::int as count from events
     where environment_id = $1 and action = 'role_assignment.deleted' and metadata->>'node_id' = any($2) group by written_in`,
    [account.scope.environmentId, nodeIds],
  );
  return rows.map(({ count }) => count).sort();
};
const assignmentsAt = async (nodeId: string): Promise<number> =>
  (await rowsOf(api, 'select from role_assignments where node_id = $1', [nodeId])).length;

test('roles at the lowest nodes are deleted before these, if there are many', async () => {
  const top = await grown();
  const [lowest = ''] = (
    await rowsOf<{ id: string }>(
      api,
      'select id from nodes where $1 = any(path) order by cardinality(path) desc, id limit 1',
      [top.id],
    )
  ).map(({ id }) => id);
  for (let i = 0; i < 4; i++) await newIdentity(api, account, [['organization_manager', lowest]]);
  expect(await remove({ id: top.id, version: await versionOf(top.id) })).toBe(5); // three roles, and then as without them
  expect(await left(top.id)).toEqual([]);
  expect(await removedByEach([lowest])).toEqual([1, 3]);
});

test('roles that were removed long ago are deleted before their node, if there are many', async () => {
  const top = await newNode(call, 'Left by many', null);
  for (let i = 0; i < 7; i++) await newIdentity(api, account, [['organization_manager', top.id]]);
  await rowsOf(api, 'update role_assignments set removed_at = now() where node_id = $1', [top.id]);
  const rest: number[] = [];
  const count = async () => rest.push(await assignmentsAt(top.id));
  expect(await remove({ id: top.id, version: await versionOf(top.id) }, { afterEach: count })).toBe(3);
  expect(rest).toEqual([4, 1, 0]);
  expect(await left(top.id)).toEqual([]);
});

test('a deletion that is refused leaves what explains removed roles', async () => {
  const top = await newNode(call, 'Left by many, with something below', null);
  await newNode(call, 'Below', top.id);
  for (let i = 0; i < 4; i++) await newIdentity(api, account, [['organization_manager', top.id]]);
  await rowsOf(api, 'update role_assignments set removed_at = now() where node_id = $1', [top.id]);
  const version = await versionOf(top.id);
  const withoutCascade = remove({ id: top.id, version }, { cascade: false });
  await expect(withoutCascade).rejects.toMatchObject({ code: 'nodes.has_children' });
  const ofAnother = remove({ id: top.id, version: version + 1 });
  await expect(ofAnother).rejects.toMatchObject({ code: 'version.conflict' });
  expect(await assignmentsAt(top.id)).toBe(4);
});

test('all organizations are deleted after their roles, if there are many', async () => {
  const other = await newAccount(api);
  const calls = callsWith(api, await other.apiKey());
  const { id } = await newNode(calls, 'Acme', null, { node_type: 'organization' });
  for (let i = 0; i < 5; i++) await newIdentity(api, other, [['organization_manager', id]]);
  const some = () => api.database.db.transaction(other.scope, (tx) => removeSome(tx, other.scope, new Date(), 3));
  expect(await some()).toBe('more');
  expect((await calls('GET', `/organizations/${id}`)).statusCode).toBe(200);
  expect(await some()).toBe('done');
  expect((await calls('GET', `/organizations/${id}`)).statusCode).toBe(404);
});
