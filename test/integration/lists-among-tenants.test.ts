import { jest } from '@jest/globals';
import { newAccount, send, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { asOwner } from '../support/database.js';
import { rowsRead, type Sent } from '../support/generic-plans.js';
import { nextOf } from '../support/operations/walks.js';

/** A page costs what it shows in a large Environment, also if there are many small ones, for which plans are made. */

const many = 3_000;
let api: TestApi;
let account: TestAccount;
let key: Record<string, string>;
let owner: Record<string, string>;
const sent: Sent[] = [];

beforeAll(async () => {
  api = await startApi();
  account = await newAccount(api);
  key = await account.apiKey();
  owner = await account.as('owner');
  await asOwner(async (client) => {
    await client.query('set session_replication_role = replica'); // the other tenants need nothing but these rows
    for (const text of [nodes(), organizations, counters, invites()]) await client.query(text);
    await client.query('select gatehouse_recount_rows()');
    await client.query('analyze nodes, organizations, identity_invites');
  }, api.database.ownerUrl);
  const { db } = api.database;
  const { statementIn } = db;
  jest.spyOn(db, 'statementIn').mockImplementation((scope, statement, values) => {
    sent.push({ text: statement.text, values });
    return statementIn(scope, statement, values);
  });
});
afterAll(async () => {
  jest.restoreAllMocks();
  await api?.stop();
});

/** SQL: the rows of this test's Environment, and thirty of each of a hundred others. */
const rows = () => {
  const { accountId, environmentId } = account.scope;
  return `(select '${accountId}'::uuid as account_id, '${environmentId}'::uuid as environment_id, n, now() - n * interval '1 second' as at
      from generate_series(1, ${many}) n
    union all select account_id, environment_id, n, now() from generate_series(1, 30) n
      cross join (select gen_random_uuid() as account_id, gen_random_uuid() as environment_id from generate_series(1, 100)) other
  ) r cross join lateral (select gen_random_uuid() as id where n is not null) made`;
};
const nodes =
  () => `insert into nodes (id, account_id, application_id, environment_id, parent_node_id, node_type, name, slug, status,
    metadata, path, version, created_at, updated_at)
  select id, account_id, environment_id, environment_id, environment_id, case when n % 2 = 0 then 'organization' else 'unit' end, 'N' || n,
    'n-' || n, 'active', '{}', array[id], 1, at, at from ${rows()}`;
const organizations = `insert into organizations (id, account_id, environment_id, member_count, pending_invite_count,
    authentication_policy, authentication_policy_version)
  select id, account_id, environment_id, 0, 0, '{}', 1 from nodes where node_type = 'organization'`;
const counters = `insert into counters as c (environment_id, name, account_id, value)
  select environment_id, 'nodes', account_id, count(*) from nodes group by 1, 3
  union all select environment_id, 'organizations', account_id, count(*) from organizations group by 1, 3
  on conflict (environment_id, name) do update set value = excluded.value`;
const invites =
  () => `insert into identity_invites (id, account_id, environment_id, intent, email, role_ids, locale, token_hash, token_key_id,
    link_number, status, invited_by_type, invited_by, created_at, expires_at, ended_at)
  select id, account_id, environment_id, 'activate', id || '@people.example', '{}', 'en', sha256(id::text::bytea), 'none', 1, 'revoked',
    'api_key', id, at, at, at from ${rows()}`;

/** Returns how many rows the first page and the next one read. */
async function readBy(path: string, headers: Record<string, string>, table: string): Promise<number[]> {
  const { accountId, environmentId } = account.scope;
  const scope = path.startsWith('/portal') ? { accountId } : { accountId, environmentId };
  const ask = async (url: string) => {
    sent.length = 0;
    const answer = await send(api.app, 200, { url, headers });
    expect(answer.json().items).toHaveLength(20);
    return { answer, read: await rowsRead(api, scope, table, sent.find(({ text }) => text.includes('"itemCount"'))!) };
  };
  const { answer, read } = await ask(path);
  const next = nextOf(answer);
  const following = next?.after === undefined ? null : await ask(`${path.split('?')[0]}?${new URLSearchParams(next)}`);
  return [read, ...(following ? [following.read] : [])];
}

test.each([
  ['/api/v1/nodes?sort_by=created_at', 'nodes', 2],
  ['/api/v1/nodes?sort_by=name', 'nodes', 1],
  ['/api/v1/nodes?sort_by=slug', 'nodes', 1],
  ['/api/v1/organizations?sort_by=created_at', 'nodes', 2],
  ['/api/v1/organizations?sort_by=name', 'nodes', 1],
  ['/api/v1/organizations?sort_by=slug', 'nodes', 1],
  ['/api/v1/identity-invites?sort_by=created_at', 'identity_invites', 2],
])('a page of %s is read by the index of its order', async (path, table, pages) => {
  const read = await readBy(path, key, table);
  expect(read).toHaveLength(pages);
  for (const count of read) expect(count).toBeLessThan(100);
});

test('a page of the invites into one environment of an account is, too', async () => {
  const { environmentId } = account.scope;
  const path = `/portal/v1/accounts/${account.accountSlug}/identity-invites?environment_id=${environmentId}`;
  const read = await readBy(path, owner, 'identity_invites');
  expect(read).toHaveLength(2);
  for (const count of read) expect(count).toBeLessThan(100);
});

test('what depends on the size of a tenant is planned for it each time, and no plan for the average is kept', async () => {
  const { environmentId } = account.scope;
  const [{ id: root } = { id: '' }] = (
    await send(api.app, 200, { url: '/api/v1/nodes?order=asc', headers: key })
  ).json().items;
  const inEnvironment = ['identities?sort_by=email', 'identities/with-roles?status=active', 'identities/summary'];
  inEnvironment.push(`nodes/${root}/children`, 'nodes?status=active', 'audit-logs?from=2026-01-01T00:00:00Z');
  const inAccount = [
    'identities/summary',
    `identities?environment_id=${environmentId}`,
    'processes?open=true&kind=email',
  ];
  for (let i = 0; i < 3; i++) {
    for (const path of inEnvironment) await send(api.app, 200, { url: `/api/v1/${path}`, headers: key });
    for (const path of inAccount)
      await send(api.app, 200, { url: `/portal/v1/accounts/${account.accountSlug}/${path}`, headers: owner });
  }
  const kept = await api.database.db.transaction('system', (tx) =>
    tx.query(
      `select statement from pg_prepared_statements where statement ~* '^select' and statement ~* 'count\\(|limit (20|\\$)'`,
    ),
  );
  expect(kept).toEqual([]);
});
