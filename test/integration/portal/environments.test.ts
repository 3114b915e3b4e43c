import { jest } from '@jest/globals';
import pg from 'pg';
import { accessible, outcomeOf, outcomesOf, shape } from '../../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { type Call, callsOf } from '../../support/calls.js';
import { databaseTime, eventsSince, rowsOf } from '../../support/rows.js';

let api: TestApi;
let account: TestAccount;
let call: Call;
let path: string;
beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  account = await newAccount(api);
  call = callsOf(api, account.accountSlug, await account.as('owner'));
  path = `/applications/${account.applicationSlug}/environments`;
});
afterAll(() => api.stop());

const create = (body: object) => call('POST', path, { type: 'development', ...body });

test('a new environment is empty, has default settings and works at once', async () => {
  const since = await databaseTime(api);
  const made = await create({ name: 'Staging EU', type: 'production' });
  expect(outcomeOf(made)).toBe('201');
  const { applicationId, accountId } = account.scope;
  expect(made.json()).toEqual({
    data: {
      ...shape,
      ...accessible,
      application_id: applicationId,
      name: 'Staging EU',
      slug: 'staging-eu',
      type: 'production',
    },
  });
  const { id } = made.json().data;
  expect((await call('GET', `${path}/staging-eu`)).json()).toEqual(made.json());
  const settings = (slug: string) => call('GET', `${path}/${slug}/settings`);
  const { environment_id: _, updated_at: __, ...defaults } = (await settings('development')).json().data;
  expect((await settings('staging-eu')).json().data).toMatchObject({ ...defaults, environment_id: id, version: 1 });
  const counters = 'select name, value from counters where environment_id = $1 order by name';
  expect(await rowsOf(api, counters, [id])).toEqual([
    { name: 'identities', value: '0' },
    { name: 'nodes', value: '1' }, // the root
    { name: 'organizations', value: '0' },
  ]);
  expect(await eventsSince(api, accountId, since)).toMatchObject([
    {
      action: 'environment.created',
      application_id: applicationId,
      environment_id: id,
      metadata: { type: 'production' },
    },
  ]);
  const key = await call('POST', `${path}/staging-eu/api-keys`, { name: 'k', access_mode: 'full' });
  const headers = { 'x-api-key': key.json().data.secret };
  expect((await api.app.inject({ url: '/api/v1/identities', headers })).json().items).toEqual([]);
});

test('the slug is the requested one, or made from the name, with a suffix if that is taken', async () => {
  expect((await create({ name: 'QA', slug: 'quality' })).json().data.slug).toBe('quality');
  expect((await create({ name: 'QA' })).json().data.slug).toBe('qa');
  expect((await create({ name: 'QA' })).json().data.slug).toMatch(/^qa-[a-z0-9]{5}$/);
  expect((await create({ name: '検証', type: 'production' })).json().data.slug).toMatch(/^production-[a-z0-9]{5}$/);
  expect(outcomeOf(await create({ name: 'X', slug: 'development' }))).toBe('409 environment.slug_taken');
  // Another application may use it too.
  await call('POST', '/applications', { name: 'Second' });
  expect(outcomeOf(await call('POST', '/applications/second/environments', { name: 'QA', type: 'production' }))).toBe(
    '201',
  );
});

test('twenty that create one slug at once create one environment; a retry creates none', async () => {
  const answers = await Promise.all(Array.from({ length: 20 }, () => create({ name: 'Race', slug: 'race' })));
  expect(outcomesOf(answers)).toEqual({ 201: 1, '409 environment.slug_taken': 19 });
  const key = { 'idempotency-key': 'once' };
  const body = { name: 'Once', type: 'development' };
  const first = await call('POST', path, body, key);
  expect((await call('POST', path, body, key)).body).toBe(first.body);
});

test('a client with a secret gets another one; a client without is refused', async () => {
  const clients = `${path}/development/oauth-clients`;
  const settings = { name: 'Web', redirect_uris: ['https://app.example/callback'] };
  const made = async (more: object) => (await call('POST', clients, { ...settings, ...more })).json().data;
  const [web, spa] = [await made({ client_type: 'confidential' }), await made({ client_type: 'public' })];
  const rotated = await call('POST', `${clients}/${web.id}/rotate-secret`);
  expect(rotated.json().data.client_secret).not.toBe(web.client_secret);
  expect(outcomeOf(await call('POST', `${clients}/${spa.id}/rotate-secret`))).toBe('400 oauth_client.has_no_secret');
});

test('name and slug can be changed, but not the type; an admin’s last opened place follows', async () => {
  const state = `/applications/${account.applicationSlug}/me/state`;
  const owner = { ...(await account.as('owner')) };
  const url = `/portal/v1/accounts/${account.accountSlug}${state}`;
  await api.app.inject({ method: 'PUT', url, headers: owner, payload: { environment_slug: 'development' } });
  const since = await databaseTime(api);
  const key = { 'idempotency-key': 'rename' };
  const changed = await call('PATCH', `${path}/development`, { name: 'Dev', slug: 'dev' }, key);
  expect(changed.json().data).toMatchObject({ name: 'Dev', slug: 'dev', type: 'development' });
  expect(outcomeOf(await call('GET', `${path}/development`))).toBe('404 environment.not_found');
  expect((await call('GET', state)).json().data.environment_slug).toBe('dev');
  const again = await call('PATCH', `${path}/development`, { name: 'Dev', slug: 'dev' }, key);
  expect([again.statusCode, again.body]).toEqual([200, changed.body]);
  expect(outcomeOf(await call('PATCH', `${path}/dev`, { slug: 'production' }))).toBe('409 environment.slug_taken');
  expect(outcomeOf(await call('PATCH', `${path}/dev`, { type: 'production' }))).toBe('400 validation.failed');
  expect(outcomeOf(await call('PATCH', `${path}/dev`, {}))).toBe('200');
  expect(await eventsSince(api, account.scope.accountId, since)).toMatchObject([
    { action: 'environment.updated', metadata: { changed: ['name', 'slug'] } },
  ]);
});

test('the list has pages, a search, an order and a filter by type', async () => {
  await create({ name: 'Alpha' });
  const names = async (query: string) =>
    (await call('GET', `${path}?${query}`)).json().items.map(({ name }: { name: string }) => name);
  expect(await names('sort_by=name&order=asc')).toEqual(['Alpha', 'Development', 'Production']);
  expect(await names('type=development&sort_by=slug&order=desc')).toEqual(['Development', 'Alpha']);
  expect(await names('q=PROD')).toEqual(['Production']);
  expect((await call('GET', `${path}?take=2&page=2`)).json().pagination).toMatchObject({
    item_count: 3,
    page_count: 2,
  });
  for (const query of ['take=0', 'page=0', 'sort_by=id', 'order=up', 'type=staging', 'limit=1']) {
    expect(outcomeOf(await call('GET', `${path}?${query}`))).toBe('400 validation.failed');
  }
});

test.each([
  [{ type: undefined, name: 'x' }],
  [{ type: 'staging', name: 'x' }],
  [{ type: null, name: 'x' }],
  [{}],
  [{ name: ' ' }],
  [{ name: 'x'.repeat(201) }],
  [{ name: 'x', slug: 'A' }],
  [{ name: 'x', slug: 'a.b' }],
  [{ name: 'x', settings: {} }],
])('a bad body is refused: %j', async (body) => {
  expect(outcomeOf(await create(body))).toBe('400 validation.failed');
});

test('strangers, members without the capability and neighbours are refused before the request is validated', async () => {
  const anonymous = callsOf(api, account.accountSlug, {});
  const support = callsOf(api, account.accountSlug, await account.as('support'));
  const developer = callsOf(api, account.accountSlug, await account.as('developer'));
  const neighbour = callsOf(api, account.accountSlug, await (await newAccount(api)).as('owner'));
  const writes = [
    ['POST', path, { nonsense: 1 }],
    ['PATCH', `${path}/production`, { nonsense: 1 }],
    ['DELETE', `${path}/production?nonsense=1`, undefined],
  ] as const;
  for (const read of [path, `${path}/production`]) {
    expect(outcomeOf(await anonymous('GET', read))).toBe('401');
    expect(outcomeOf(await support('GET', read))).toBe('200');
    expect(outcomeOf(await neighbour('GET', read))).toBe('404 account.not_found');
  }
  for (const [method, url, body] of writes) {
    expect(outcomeOf(await anonymous(method, url, body))).toBe('401');
    expect(outcomeOf(await support(method, url, body))).toBe('403 account.capability_required');
    expect(outcomeOf(await neighbour(method, url, body))).toBe('404 account.not_found');
    expect(outcomeOf(await developer(method, url, body))).toBe('400 validation.failed');
  }
  // Another application's, a missing one, or not even a slug; and below a missing application.
  await call('POST', '/applications', { name: 'Second' });
  await call('POST', '/applications/second/environments', { name: 'Theirs', type: 'development' });
  for (const missing of ['theirs', 'nowhere', 'Not_A_Slug']) {
    for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
      const body = method === 'PATCH' ? { nonsense: 1 } : undefined;
      expect(outcomeOf(await call(method, `${path}/${missing}`, body))).toBe('404 environment.not_found');
      expect(outcomeOf(await call(method, `/applications/nowhere/environments/production`, body))).toBe(
        '404 application.not_found',
      );
    }
  }
  expect(outcomeOf(await call('POST', '/applications/nowhere/environments', { nonsense: 1 }))).toBe(
    '404 application.not_found',
  );
  await rowsOf(api, 'delete from membership_roles where account_id = $1', [account.scope.accountId]);
  expect(outcomeOf(await developer('GET', path))).toBe('403 account.capability_required');
});

test('an application has at most five hundred environments, also if two are created at once, and all end together', async () => {
  const { accountId, applicationId } = account.scope;
  await rowsOf(
    api,
    `insert into environments (id, account_id, application_id, name, slug, type, created_at, updated_at)
     select gen_random_uuid(), $1, $2, 'E', 'e-' || n, 'development', now(), now() from generate_series(1, 497) n`,
    [accountId, applicationId],
  );
  const two = await Promise.all([create({ name: 'One' }), create({ name: 'Other' })]);
  expect(outcomesOf(two)).toEqual({ 201: 1, '409 environment.limit_reached': 1 });
  const query = jest.spyOn(pg.Client.prototype, 'query');
  const slug = account.applicationSlug;
  expect(outcomeOf(await call('DELETE', `/applications/${slug}?confirm=${slug}`))).toBe('204');
  const texts = query.mock.calls.map(([one]) => (typeof one === 'string' ? one : (one as { text: string }).text));
  query.mockRestore();
  // Once for all environments with their nodes, however many there are, and once for the application.
  expect(texts.filter((text) => text.includes('update membership_roles'))).toHaveLength(2);
});
