import { jest } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';
import { newAccount, send, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { asOwner } from '../support/database.js';
import { rowsRead, type Sent } from '../support/generic-plans.js';
import { callsWith, rootOf } from '../support/nodes.js';
import { rowsOf } from '../support/rows.js';

/** A decision reads neither unrelated assignments of the Identity nor other customers' rows. */

const many = 3_000;
let api: TestApi;
let large: TestAccount;
let small: TestAccount;
let asked: Sent[] = [];

beforeAll(async () => {
  api = await startApi();
  [large, small] = [await newAccount(api), await newAccount(api)];
  const { statement } = api.database.db;
  jest.spyOn(api.database.db, 'statement').mockImplementation((one, values) => {
    asked.push({ text: one.text, values });
    return statement(one, values);
  });
  await growLarge();
});
afterAll(async () => {
  jest.restoreAllMocks();
  await api?.stop();
});

const post = async (account: TestAccount, url: string, status: number, payload: object) =>
  (await send(api.app, status, { method: 'POST', url, headers: await keyOf(account), payload })).json();
const keys = new Map<TestAccount, Record<string, string>>();
async function keyOf(account: TestAccount) {
  const key = keys.get(account) ?? (await account.apiKey());
  keys.set(account, key);
  return key;
}
async function somebody(account: TestAccount) {
  await post(account, '/api/v1/permissions', 201, { key: 'door.open', name: 'Open the door' });
  const person = await post(account, '/api/v1/identities', 201, { email: `${uuidv7()}@example.com` });
  return { personId: person.data.id as string };
}

/** Assigns an Identity one of thirty roles at each of many nodes. */
async function growLarge() {
  const { accountId, applicationId, environmentId } = large.scope;
  const { personId } = await somebody(large);
  const roleIds: string[] = [];
  for (let i = 0; i < 30; i++) {
    const role = await post(large, '/api/v1/roles', 201, { name: `Porter ${i}`, permission_keys: ['door.open'] });
    roleIds.push(role.data.id);
  }
  const root = await rootOf(callsWith(api, await keyOf(large)));
  await rowsOf(
    api,
    `with made as (
       insert into nodes (id, account_id, application_id, environment_id, parent_node_id, node_type, name, slug, status, metadata, path, version,
         created_at, updated_at)
       select new.id, $1, $2, $3, $4, 'unit', 'House', 'house-' || n, 'active', '{}', array[$4, new.id]::uuid[], 1, now(), now()
       from generate_series(1, ${many}) n cross join lateral (select gen_random_uuid() as id where n is not null) new returning id)
     insert into role_assignments (id, account_id, environment_id, identity_id, role_id, node_id, created_at)
     select gen_random_uuid(), $1, $3, $5, ($6::uuid[])[1 + (row_number() over ()) % 30], id, now() from made`,
    [accountId, applicationId, environmentId, root.id, personId, roleIds],
  );
  await asOwner((client) => client.query('analyze role_assignments, nodes'), api.database.ownerUrl);
}

test.each([
  ['at a node', 'node_id'],
  ['of a role', 'role_id'],
])('assignments %s are found by its index, and not by the one that starts with the person', async (_, column) => {
  const plan = await api.database.db.transaction('system', async (tx) => {
    await tx.query('set local plan_cache_mode = force_generic_plan');
    await tx.query(
      `prepare held as select * from role_assignments where account_id = $1 and environment_id = $2 and ${column} = $3 and removed_at is null`,
    );
    const { accountId, environmentId } = large.scope;
    const rows = await tx.query(`explain execute held ('${accountId}', '${environmentId}', '${uuidv7()}')`);
    await tx.query('deallocate held');
    return JSON.stringify(rows);
  });
  expect(/role_assignments_\w+/.exec(plan.replace(/on role_assignments\b/g, ''))?.[0]).toBe(
    column === 'node_id' ? 'role_assignments_held_at_node' : 'role_assignments_held_of_role',
  );
});

test('a search for resources reads what the person holds, and not the nodes of other customers', async () => {
  const { personId } = await somebody(small);
  asked = [];
  const search = (account: TestAccount, id: string) =>
    post(account, '/access/v1/search/resource', 200, {
      subject: { type: 'identity', id },
      action: { name: 'door.open' },
      resource: { type: 'node' },
    });
  expect((await search(small, personId)).results).toEqual([]);
  const found = asked.find(({ text }) => text.includes('gatehouse_subtree'))!;
  expect(await rowsRead(api, 'system', 'nodes', found)).toBeLessThan(10);
});

test('a search for subjects looks up as members only those on its page, however many hold the permission', async () => {
  const own = await newAccount(api);
  await somebody(own);
  const { accountId, environmentId } = own.scope;
  const role = await post(own, '/api/v1/roles', 201, { name: 'Opener', permission_keys: ['door.open'] });
  const root = await rootOf(callsWith(api, await keyOf(own)));
  await rowsOf(
    api,
    `with people as (
       insert into identities (id, account_id, email, metadata, created_at, updated_at)
       select gen_random_uuid(), $1, gen_random_uuid() || '@people.example', '{}', now(), now() from generate_series(1, 500) returning id),
     members as (
       insert into environment_memberships (id, account_id, environment_id, identity_id, is_active, created_at)
       select gen_random_uuid(), $1, $2, id, true, now() from people)
     insert into role_assignments (id, account_id, environment_id, identity_id, role_id, node_id, created_at)
     select gen_random_uuid(), $1, $2, id, $3, $4, now() from people`,
    [accountId, environmentId, role.data.id, root.id],
  );
  asked = [];
  const { results } = await post(own, '/access/v1/search/subject', 200, {
    subject: { type: 'identity' },
    action: { name: 'door.open' },
    resource: { type: 'node', id: root.id },
    page: { limit: 20 },
  });
  expect(results).toHaveLength(20);
  const found = asked.find(({ text }) => text.includes('distinct a.identity_id'))!;
  expect(await rowsRead(api, 'system', 'environment_memberships', found)).toBeLessThan(50);
});
