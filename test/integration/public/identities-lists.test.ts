import type { DomainError } from '../../../src/domain/errors.js';
import { readMembers } from '../../../src/domain/identities/read-members.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { asOwner } from '../../support/database.js';
import { walk } from '../../support/operations/walks.js';

interface Member {
  id: string;
  email: string;
  first_name: string;
  is_active: boolean;
  created_at: string;
}
interface Page {
  items: Member[];
  pagination: { item_count: number; page_count: number };
}

const count = 130;
let api: TestApi;
let account: TestAccount;
let key: Record<string, string>;
let members: Member[];

beforeAll(async () => {
  api = await startApi();
  account = await newAccount(api);
  const neighbour = await newAccount(api);
  for (const { scope } of [account, neighbour]) await seed(scope);
  key = await account.apiKey();
  const pages = [await pageOf('take=100&order=asc'), await pageOf('take=100&order=asc&page=2')];
  members = pages.flatMap(({ items }) => items);
});
afterAll(() => api.stop());

/** Every second one joined in the same millisecond as the one before, and every tenth is inactive. */
const seed = ({ accountId, environmentId }: { accountId: string; environmentId: string }) =>
  asOwner(async (client) => {
    await client.query(
      `with made as (
         insert into identities (id, account_id, email, first_name, last_name, metadata, created_at, updated_at)
         select gen_random_uuid(), $1, 'p' || n || '@example.com', 'First' || n % 7, null, '{}',
           timestamptz '2026-01-01 10:00:00.5+02' + n / 2 * interval '1 hour', now()
         from generate_series(1, ${count}) n returning id, created_at, email)
       insert into environment_memberships (id, account_id, environment_id, identity_id, is_active, created_at)
       select gen_random_uuid(), $1, $2, id, email not like '%0@%', created_at from made`,
      [accountId, environmentId],
    );
    await client.query(
      `insert into counters (environment_id, name, account_id, value) values ($1, 'identities', $2, ${count})
       on conflict (environment_id, name) do update set value = ${count}`,
      [environmentId, accountId],
    );
  }, api.database.ownerUrl);

const ask = (query: Record<string, string>) =>
  api.app.inject({ url: `/api/v1/identities?${new URLSearchParams(query)}`, headers: key });

async function pageOf(query: string, list = ''): Promise<Page> {
  const answer = await api.app.inject({ url: `/api/v1/identities${list}?${query}`, headers: key });
  expect([query, answer.statusCode]).toEqual([query, 200]);
  return answer.json();
}

/** Sorts as the database does: by bytes here, since all have one length and case. */
const sortedBy = (field: 'created_at' | 'first_name' | 'id', order: 'asc' | 'desc', of: Member[]) => {
  const sign = order === 'asc' ? 1 : -1;
  const compare = (a: string, b: string) => (a < b ? -sign : a > b ? sign : 0);
  return [...of].sort((a, b) => compare(a[field], b[field]) || compare(a.id, b.id));
};

test('everybody is listed once, with their present data', () => {
  expect(new Set(members.map(({ id }) => id)).size).toBe(count);
  expect(members.find(({ email }) => email === 'p3@example.com')).toEqual({
    id: expect.any(String),
    email: 'p3@example.com',
    first_name: 'First3',
    last_name: null,
    avatar_url: null,
    external_id: null,
    is_active: true,
    created_at: '2026-01-01T09:00:00.500Z',
  });
});

test.each([
  ['sorted by age, newest first', 'sort_by=created_at&order=desc', 'created_at', 'desc', () => true],
  ['oldest first', 'sort_by=created_at&order=asc', 'created_at', 'asc', () => true],
  ['the active ones', 'status=active', 'created_at', 'desc', ({ is_active }) => is_active],
  ['the inactive ones', 'status=inactive&order=asc', 'created_at', 'asc', ({ is_active }) => !is_active],
  ['by name', 'sort_by=first_name&order=asc', 'first_name', 'asc', () => true],
  ['found by search', 'q=p1', 'created_at', 'desc', ({ email }) => email.startsWith('p1')],
  ['found by search, by name', 'q=P1&sort_by=first_name', 'first_name', 'desc', ({ email }) => email.startsWith('p1')],
  [
    'found by search and active',
    'q=p1&status=active',
    'created_at',
    'desc',
    ({ email, is_active }) => is_active && email.startsWith('p1'),
  ],
] as [string, string, 'created_at' | 'first_name', 'asc' | 'desc', (member: Member) => boolean][])(
  'every page of every size, %s',
  async (_name, query, field, order, isIn) => {
    const all = sortedBy(field, order, members.filter(isIn));
    for (const take of [7, 20, 50, 100]) {
      const pageCount = Math.ceil(all.length / take);
      for (let page = 1; page <= pageCount + 1; page++) {
        const { items, pagination } = await pageOf(`${query}&take=${take}&page=${page}`);
        const expected = all.slice((page - 1) * take, page * take);
        expect([take, page, items.map(({ email }) => email)]).toEqual([take, page, expected.map(({ email }) => email)]);
        expect(pagination).toMatchObject({ item_count: all.length, page_count: pageCount });
      }
      const met = await walk(ask, Object.fromEntries(new URLSearchParams(`${query}&take=${take}`)));
      expect([take, met.map(({ email }) => email)]).toEqual([take, all.map(({ email }) => email)]);
    }
  },
);

describe('a search with too many results', () => {
  const found = (q: string, most: number, isActive?: boolean) =>
    readMembers(
      api.database.db,
      account.scope,
      { page: 1, take: 20, sortBy: 'created_at', order: 'desc', q, isActive },
      { isActive, maxFound: most },
    ).then(
      ({ itemCount }) => itemCount,
      (error: DomainError) => error.options.details?.map(({ field, code }) => `${field} ${code}`).join(),
    );

  test('is refused, and not cut off, whatever its filters', async () => {
    expect(await found('example.com', count)).toBe(count);
    expect(await found('example.com', count - 1)).toBe('query.q too_broad');
    expect(await found('example.com', count - 1, false)).toBe('query.q too_broad');
    expect(await found('p10@example.com', 1, true)).toBe(0); // inactive, like every tenth
  });

  test('with fewer than three letters in a row is one among many members', async () => {
    expect(await found('p1', count)).toBe(42);
    expect(await found('p1', count - 1)).toBe('query.q too_short');
    expect(await found('@p-', count - 1)).toBe('query.q too_short');
  });
});

test('a list with roles has the pages of the list, and of a role’s holders', async () => {
  const { roleId, holders } = await giveRole(members.filter((_, i) => i % 3 === 0));
  for (const query of ['take=50&page=2', 'status=inactive', 'q=p1&take=7&page=3', 'sort_by=email&page=7&order=asc']) {
    const [one, other] = [await pageOf(query), await pageOf(query, '/with-roles')];
    expect(other.items.map(({ id }) => id)).toEqual(one.items.map(({ id }) => id));
    expect(other.pagination).toEqual(one.pagination);
  }
  const others = members.filter((member) => !holders.includes(member));
  for (const [role, expected] of [
    [roleId, holders],
    ['no_assignment', others],
  ] as const) {
    const ordered = sortedBy('created_at', 'desc', [...expected]);
    for (const page of [1, 2, Math.ceil(expected.length / 20), 9]) {
      const { items, pagination } = await pageOf(`role_id=${role}&page=${page}`, '/with-roles');
      expect(items.map(({ id }) => id)).toEqual(ordered.slice((page - 1) * 20, page * 20).map(({ id }) => id));
      expect(pagination.item_count).toBe(expected.length);
    }
    const found = await pageOf(`role_id=${role}&q=p1&status=active`, '/with-roles');
    const isFound = ({ email, is_active }: Member) => email.startsWith('p1') && is_active;
    expect(found.pagination.item_count).toBe(expected.filter(isFound).length);
  }
});

async function giveRole(holders: Member[]): Promise<{ roleId: string; holders: Member[] }> {
  const headers = { ...key };
  const role = await api.app.inject({
    method: 'POST',
    url: '/api/v1/roles',
    headers,
    payload: { name: 'Every third', permission_keys: [] },
  });
  const roleId = role.json().data.id;
  const payload = { role_assignments: holders.map(({ id }) => ({ identity_id: id, role_id: roleId })) };
  const given = await api.app.inject({ method: 'POST', url: '/api/v1/role-assignments', headers, payload });
  expect([role.statusCode, given.statusCode]).toEqual([201, 200]);
  return { roleId, holders };
}

test('nobody of another Account is found', async () => {
  const other = await newAccount(api);
  const headers = await other.apiKey();
  for (const query of ['', '?q=example', '?page=2', '?sort_by=email', '?status=active']) {
    const answer = await api.app.inject({ url: `/api/v1/identities${query}`, headers });
    expect(answer.json()).toMatchObject({ items: [], pagination: { item_count: 0 } });
  }
});
