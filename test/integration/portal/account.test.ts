import { outcomeOf, outcomesOf, shape } from '../../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { type Call, callsOf } from '../../support/calls.js';
import { databaseTime, eventsSince } from '../../support/rows.js';

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

test('the account and its subscription can be read', async () => {
  const read = await call('GET', '');
  expect(read.statusCode).toBe(200);
  expect(read.json()).toEqual({
    data: {
      ...shape,
      id: account.scope.accountId,
      name: account.accountSlug,
      slug: account.accountSlug,
      require_mfa: false,
      require_sso: false,
    },
  });
  const { updated_at: _, ...dated } = shape;
  expect((await call('GET', '/subscription')).json()).toEqual({ data: { ...dated, plan: 'free', status: 'active' } });
});

test('name and slug can be changed, each by itself, and the old path is gone', async () => {
  const since = await databaseTime(api);
  api.clock.advance(1000);
  const renamed = await call('PATCH', '', { name: '  Größe & Söhne ' });
  expect(renamed.json().data).toMatchObject({ name: 'Größe & Söhne', slug: account.accountSlug });
  expect(renamed.json().data.updated_at > renamed.json().data.created_at).toBe(true);

  const slug = `${account.accountSlug}-new`;
  expect((await call('PATCH', '', { slug })).json().data).toMatchObject({ name: 'Größe & Söhne', slug });
  expect(outcomeOf(await call('GET', ''))).toBe('404 account.not_found');
  const moved = callsOf(api, slug, await account.as('owner'));
  expect((await moved('GET', '')).json().data.slug).toBe(slug);
  // Without a change there is no event.
  expect(outcomeOf(await moved('PATCH', '', {}))).toBe('200');
  expect(outcomeOf(await moved('PATCH', '', { slug }))).toBe('200');

  const events = await eventsSince(api, account.scope.accountId, since);
  expect(events.map(({ action, metadata, actor_id }) => ({ action, metadata, actor_id }))).toEqual(
    [['name'], ['slug']].map((changed) => ({
      action: 'account.updated',
      metadata: { changed },
      actor_id: account.userId,
    })),
  );
});

test.each([
  ['an empty name', { name: '' }],
  ['a blank name', { name: '   ' }],
  ['a name with a control character', { name: 'a\u0007b' }],
  ['a name with a line separator', { name: 'a\u2028b' }],
  ['a name that reverses the text after it', { name: 'Acme \u202egro.live' }],
  ['a name of 201 characters', { name: 'x'.repeat(201) }],
  ['no name', { name: null }],
  ['a number for a name', { name: 7 }],
  ['capitals in the slug', { slug: 'Acme' }],
  ['a slug that ends in a hyphen', { slug: 'acme-' }],
  ['a slug of 64 characters', { slug: 'x'.repeat(64) }],
  ['no slug', { slug: null }],
  ['an unknown field', { plan: 'enterprise' }],
  ['an array', []],
])('%s is refused', async (_name, body) => {
  expect(outcomeOf(await call('PATCH', '', body))).toBe('400 validation.failed');
});

test('strangers, members without the capability and neighbours are refused, in this order', async () => {
  const anonymous = callsOf(api, account.accountSlug, {});
  const support = callsOf(api, account.accountSlug, await account.as('support')); // has no account.view
  const admin = callsOf(api, account.accountSlug, await account.as('admin')); // has no account.manage
  const neighbour = callsOf(api, account.accountSlug, await (await newAccount(api)).as('owner'));
  const bad = { slug: '!' };
  for (const path of ['', '/subscription']) {
    expect(outcomeOf(await anonymous('GET', path))).toBe('401');
    expect(outcomeOf(await support('GET', path))).toBe('403 account.capability_required');
    expect(outcomeOf(await admin('GET', path))).toBe('200');
    expect(outcomeOf(await neighbour('GET', path))).toBe('404 account.not_found');
  }
  expect(outcomeOf(await anonymous('PATCH', '', bad))).toBe('401');
  expect(outcomeOf(await admin('PATCH', '', bad))).toBe('403 account.capability_required');
  expect(outcomeOf(await neighbour('PATCH', '', bad))).toBe('404 account.not_found');
});

test('a slug belongs to one account: one of twenty that request it at once gets it', async () => {
  const taken = await newAccount(api);
  expect(outcomeOf(await call('PATCH', '', { slug: taken.accountSlug }))).toBe('409 account.slug_taken');

  const accounts = await Promise.all(Array.from({ length: 20 }, () => newAccount(api)));
  const slug = `wanted-${account.accountSlug}`;
  const answers = await Promise.all(
    accounts.map(async (one) => callsOf(api, one.accountSlug, await one.as('owner'))('PATCH', '', { slug })),
  );
  expect(outcomesOf(answers)).toEqual({ 200: 1, '409 account.slug_taken': 19 });
});
