import { accessible, outcomeOf, outcomesOf, shape } from '../../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { type Call, callsOf } from '../../support/calls.js';
import { databaseTime, eventsSince, rowsOf } from '../../support/rows.js';

let api: TestApi;
let account: TestAccount;
let call: Call;
beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  account = await newAccount(api);
  call = callsOf(api, account.accountSlug, await account.as('owner'));
});
afterAll(() => api.stop());

const create = (body: object) => call('POST', '/applications', body);

test('a new application has what the first one of an account has', async () => {
  const since = await databaseTime(api);
  const made = await create({ name: ' Größe & Söhne ' });
  expect(outcomeOf(made)).toBe('201');
  expect(made.json()).toEqual({ data: { ...shape, ...accessible, name: 'Größe & Söhne', slug: 'grosse-sohne' } });
  const { id, slug } = made.json().data;
  expect((await call('GET', `/applications/${slug}`)).json()).toEqual(made.json());

  const inside = `select e.slug, e.type, s.version, c.name, c.value from environments e
    join environment_settings s on s.environment_id = e.id join counters c on c.environment_id = e.id
    where e.application_id = $1 order by e.slug, c.name`;
  const first = await rowsOf(api, inside, [account.scope.applicationId]);
  expect(first).toHaveLength(6); // two environments with three counters each
  expect(await rowsOf(api, inside, [id])).toEqual(first);
  const events = await eventsSince(api, account.scope.accountId, since);
  expect(events.map(({ action }) => action)).toEqual([
    'application.created',
    'environment.created',
    'environment.created',
  ]);
  expect(new Set(events.map(({ application_id }) => application_id))).toEqual(new Set([id]));
  // It works at once: its settings can be read, and its keys are accepted.
  const environment = `/applications/${slug}/environments/production`;
  expect(outcomeOf(await call('GET', `${environment}/settings`))).toBe('200');
  const key = await call('POST', `${environment}/api-keys`, { name: 'k', access_mode: 'full' });
  expect(key.json().data.secret).toMatch(/^ghk_live_/);
});

test('the slug is the requested one, or made from the name, with a suffix if that is taken', async () => {
  expect((await create({ name: 'Shop', slug: 'my-shop' })).json().data.slug).toBe('my-shop');
  expect((await create({ name: 'Shop' })).json().data.slug).toBe('shop');
  expect((await create({ name: 'Shop', slug: null })).json().data.slug).toMatch(/^shop-[a-z0-9]{5}$/);
  expect((await create({ name: '株式会社' })).json().data.slug).toBe('application');
  expect(outcomeOf(await create({ name: 'Other', slug: 'shop' }))).toBe('409 application.slug_taken');
  // Another account may use it too.
  const other = await newAccount(api);
  const theirs = callsOf(api, other.accountSlug, await other.as('admin'));
  expect(outcomeOf(await theirs('POST', '/applications', { name: 'Shop', slug: 'shop' }))).toBe('201');
});

test('twenty that create one slug at once create one application; a retry creates none', async () => {
  const answers = await Promise.all(Array.from({ length: 20 }, () => create({ name: 'Race', slug: 'race' })));
  expect(outcomesOf(answers)).toEqual({ 201: 1, '409 application.slug_taken': 19 });
  expect(
    await rowsOf(
      api,
      `select from environments e join applications a on a.id = e.application_id where a.slug = 'race'`,
    ),
  ).toHaveLength(2);

  const key = { 'idempotency-key': 'once' };
  const first = await call('POST', '/applications', { name: 'Once' }, key);
  const again = await call('POST', '/applications', { name: 'Once' }, key);
  expect(again.body).toBe(first.body);
  expect(again.headers['idempotency-replayed']).toBe('true');
});

test('name and slug can be changed; the application’s contents stay', async () => {
  const { slug } = (await create({ name: 'Old', slug: 'old' })).json().data;
  const since = await databaseTime(api);
  const key = { 'idempotency-key': 'rename' };
  const changed = await call('PATCH', `/applications/${slug}`, { name: 'New', slug: 'new' }, key);
  expect(changed.json().data).toMatchObject({ name: 'New', slug: 'new' });
  expect(outcomeOf(await call('GET', '/applications/old'))).toBe('404 application.not_found');
  expect(outcomeOf(await call('GET', '/applications/new/environments/development'))).toBe('200');
  // The retry's path names nothing any more, and still gets its answer.
  const again = await call('PATCH', `/applications/${slug}`, { name: 'New', slug: 'new' }, key);
  expect([again.statusCode, again.body]).toEqual([200, changed.body]);

  expect(outcomeOf(await call('PATCH', '/applications/new', { slug: account.applicationSlug }))).toBe(
    '409 application.slug_taken',
  );
  expect(outcomeOf(await call('PATCH', '/applications/new', { name: 'New' }))).toBe('200');
  expect(await eventsSince(api, account.scope.accountId, since)).toMatchObject([
    { action: 'application.updated', metadata: { changed: ['name', 'slug'] } },
  ]);
});

test('the list has pages, a search and an order', async () => {
  for (const name of ['Alpha', 'Beta 50%', 'Gamma']) {
    api.clock.advance(1000);
    await create({ name });
  }
  const names = async (query: string) => {
    const answer = await call('GET', `/applications?${query}`);
    return answer.json().items.map(({ name }: { name: string }) => name);
  };
  expect(await names('')).toEqual(['Gamma', 'Beta 50%', 'Alpha', 'Portal']);
  expect(await names('sort_by=name&order=asc&take=3&page=2')).toEqual(['Portal']);
  expect(await names('sort_by=slug&order=desc&take=1')).toEqual(['Portal']);
  expect(await names('q=0%25')).toEqual(['Beta 50%']);
  expect(await names('q=beta-50')).toEqual(['Beta 50%']);
  expect((await call('GET', '/applications?take=2&page=2')).json().pagination).toEqual({
    page: 2,
    take: 2,
    item_count: 4,
    page_count: 2,
    has_previous_page: true,
    has_next_page: false,
  });
  for (const page of [1_000_001, 2_147_483_647]) {
    const beyond = await call('GET', `/applications?take=100&page=${page}`);
    expect([beyond.statusCode, beyond.json().items, beyond.json().pagination.has_next_page]).toEqual([200, [], false]);
  }
  for (const query of ['take=0', 'take=101', 'page=0', 'sort_by=id', 'order=up', 'type=x', `q=${'x'.repeat(201)}`]) {
    expect(outcomeOf(await call('GET', `/applications?${query}`))).toBe('400 validation.failed');
  }
});

test.each([
  [{}],
  [{ name: '' }],
  [{ name: ' ' }],
  [{ name: 'x'.repeat(201) }],
  [{ name: 'a\nb' }],
  [{ name: null }],
  [{ name: 'x', slug: '' }],
  [{ name: 'x', slug: 'A' }],
  [{ name: 'x', slug: '-a' }],
  [{ name: 'x', slug: 'x'.repeat(64) }],
  [{ name: 'x', slug: 'a/b' }],
  [{ name: 'x', account_id: '1' }],
])('a bad body is refused: %j', async (body) => {
  expect(outcomeOf(await create(body))).toBe('400 validation.failed');
  const { name, ...rest } = body as { name?: unknown };
  const change = name === 'x' ? rest : name === undefined ? { nonsense: 1 } : body;
  expect(outcomeOf(await call('PATCH', `/applications/${account.applicationSlug}`, change))).toBe(
    '400 validation.failed',
  );
});

test('strangers, members without the capability and neighbours are refused before the request is validated', async () => {
  const { applicationSlug: slug } = account;
  const anonymous = callsOf(api, account.accountSlug, {});
  const viewer = callsOf(api, account.accountSlug, await account.as('viewer'));
  const neighbour = callsOf(api, account.accountSlug, await (await newAccount(api)).as('owner'));
  const reads = ['/applications', `/applications/${slug}`];
  const writes = [
    ['POST', '/applications', { nonsense: 1 }],
    ['PATCH', `/applications/${slug}`, { nonsense: 1 }],
    ['DELETE', `/applications/${slug}?nonsense=1`, undefined],
  ] as const;
  for (const path of reads) {
    expect(outcomeOf(await anonymous('GET', path))).toBe('401');
    expect(outcomeOf(await viewer('GET', path))).toBe('200');
    expect(outcomeOf(await neighbour('GET', path))).toBe('404 account.not_found');
  }
  for (const [method, path, body] of writes) {
    expect(outcomeOf(await anonymous(method, path, body))).toBe('401');
    expect(outcomeOf(await viewer(method, path, body))).toBe('403 account.capability_required');
    expect(outcomeOf(await neighbour(method, path, body))).toBe('404 account.not_found');
    expect(outcomeOf(await call(method, path, body))).toBe('400 validation.failed');
  }
  // Another account's, a missing one, or not even a slug.
  const theirs = await newAccount(api);
  await callsOf(api, theirs.accountSlug, await theirs.as('owner'))('POST', '/applications', { name: 'Theirs' });
  for (const missing of ['theirs', 'nowhere', 'Not_A_Slug']) {
    for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
      const body = method === 'PATCH' ? { nonsense: 1 } : undefined;
      expect(outcomeOf(await call(method, `/applications/${missing}`, body))).toBe('404 application.not_found');
    }
  }
  // Without a role there is nothing to see either.
  await rowsOf(api, 'delete from membership_roles where account_id = $1', [account.scope.accountId]);
  for (const path of reads) expect(outcomeOf(await viewer('GET', path))).toBe('403 account.capability_required');
});

test('an account has at most a thousand applications', async () => {
  await rowsOf(
    api,
    `insert into applications (id, account_id, name, slug, created_at, updated_at)
     select gen_random_uuid(), $1, 'A', 'a-' || n, now(), now() from generate_series(1, 998) n`,
    [account.scope.accountId],
  );
  const two = [call('POST', '/applications', { name: 'One' }), call('POST', '/applications', { name: 'Other' })];
  expect(outcomesOf(await Promise.all(two))).toEqual({ 201: 1, '409 application.limit_reached': 1 });
});
