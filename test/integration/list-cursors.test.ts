import { v7 as uuidv7 } from 'uuid';
import { writeCursor } from '../../src/domain/lists/cursors.js';
import { newAccount, send, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { nextOf, walk } from '../support/operations/walks.js';
import { rowsOf } from '../support/rows.js';

/** Walks through a list while others change it. every-operation.test.ts checks that every list can be walked. */

let api: TestApi;
let account: TestAccount;
let key: Record<string, string>;
beforeAll(async () => {
  api = await startApi();
  account = await newAccount(api);
  key = await account.apiKey();
});
afterAll(() => api?.stop());

type Query = Record<string, string>;
const ask = (query: Query) => api.app.inject({ url: `/api/v1/identities?${new URLSearchParams(query)}`, headers: key });
const create = async (first_name: string): Promise<string> => {
  const payload = { email: `${uuidv7()}@example.com`, first_name };
  const answer = await send(api.app, 201, { method: 'POST', url: '/api/v1/identities', headers: key, payload });
  return answer.json().data.id;
};
const remove = (id: string) => send(api.app, 204, { method: 'DELETE', url: `/api/v1/identities/${id}`, headers: key });

describe.each(['asc', 'desc'])('%s', (order) => {
  test.each([
    ['everybody', {}],
    ['the active ones', { status: 'active' }],
    ['a search', { q: 'walker' }],
  ])('an item that stays is listed once while others come and go: %s', async (_name, filter: Query) => {
    const ids: string[] = [];
    for (let made = 0; made < 12; made++) ids.push(await create(`Walker ${made}`));
    const gone = new Set<string>();
    const met: string[] = [];
    for (let place: Query | null = { ...filter, order, take: '3' }; place; ) {
      const answer = await ask(place);
      expect(answer.statusCode).toBe(200);
      const page: string[] = answer.json().items.map(({ id }: { id: string }) => id);
      met.push(...page);
      place = nextOf(answer);
      // The row that the cursor is made from, and the one before.
      for (const id of page.slice(-2)) {
        gone.add(id);
        await remove(id);
      }
      await create('Walker who is late');
      if (met.length > 60) throw new Error('goes on for ever');
    }
    expect(met).toHaveLength(new Set(met).size);
    expect(ids.filter((id) => !met.includes(id))).toEqual([]);
    expect(gone.size).toBeGreaterThan(7);
  });
});

test('times that differ by a microsecond, and equal ones, are told apart', async () => {
  const { scope, apiKey } = await newAccount(api);
  const headers = await apiKey();
  const rows = await rowsOf<{ id: string }>(
    api,
    `with made as (
       insert into identities (id, account_id, email, metadata, created_at, updated_at)
       select gen_random_uuid(), $1, 'p' || n || '@example.com', '{}',
         timestamptz '2026-03-04 05:06:07.123456+00' + n / 2 * interval '1 microsecond', now()
       from generate_series(1, 30) n returning id, created_at)
     insert into environment_memberships (id, account_id, environment_id, identity_id, is_active, created_at)
     select gen_random_uuid(), $1, $2, id, true, created_at from made returning identity_id as id`,
    [scope.accountId, scope.environmentId],
  );
  await rowsOf(
    api,
    `insert into counters (environment_id, name, account_id, value) values ($1, 'identities', $2, 30)
     on conflict (environment_id, name) do update set value = counters.value + 30`,
    [scope.environmentId, scope.accountId],
  );
  const met = await walk(
    (query) => api.app.inject({ url: `/api/v1/identities?${new URLSearchParams(query)}`, headers }),
    { take: '1' },
  );
  expect(met.map(({ id }) => id).sort()).toEqual(rows.map(({ id }) => id).sort());
});

test('the link is the same request, for the next page', async () => {
  for (let made = 0; made < 3; made++) await create('Müller & Söhne? Ja');
  const asked = { q: 'Müller & Söhne? Ja', take: '2', status: 'active' };
  const answer = await ask(asked);
  expect(answer.headers.link).toMatch(/^<\/api\/v1\/identities\?[^<>\s]+>; rel="next"$/);
  expect(nextOf(answer)).toEqual({ ...asked, page: '2', after: expect.stringMatching(/^[\w-]{32}$/) });
  const last = await ask(nextOf(answer)!);
  expect(last.json()).toMatchObject({
    items: [{ first_name: 'Müller & Söhne? Ja' }],
    pagination: { page: 2, take: 2, item_count: 3, page_count: 2, has_previous_page: true, has_next_page: false },
  });
  expect(last.headers.link).toBeUndefined();
});

test('a list in any other order has numbered pages', async () => {
  const asked = { sort_by: 'email', take: '1' };
  expect(nextOf(await ask(asked))).toEqual({ ...asked, page: '2' });
});

test('the Portal has cursors too, with the requested path', async () => {
  const url = account.portalPath('/identities?take=1');
  const { headers } = await send(api.app, 200, { url, headers: await account.as('viewer') });
  const [path] = url.split('?');
  expect(headers.link).toMatch(new RegExp(`^<${path}\\?take=1&page=2&after=[\\w-]{32}>; rel="next"$`));
});

test.each([
  ['with another order', { after: writeCursor({ placeAt: 1, placeId: uuidv7() }), sort_by: 'email' }, 'sort_by'],
  ['from before 1970', { after: Buffer.alloc(24, 255).toString('base64url') }, 'cursor'],
  ['of an impossible time', { after: Buffer.alloc(24, 127).toString('base64url') }, 'cursor'],
  ['too short', { after: 'AAYcmNNlQAAB' }, 'pattern'],
  ['of other characters', { after: '+'.repeat(32) }, 'pattern'],
])('a cursor is refused: %s', async (_name, query: Query, code) => {
  const answer = await ask(query);
  expect([answer.statusCode, answer.json().error.code]).toEqual([400, 'validation.failed']);
  expect(answer.json().error.details).toEqual([{ field: 'query.after', code, message: expect.any(String) }]);
});
