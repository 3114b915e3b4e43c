import { hours } from '../../../src/platform/clock.js';
import { newMember, rolesByKey } from '../../support/administrators.js';
import { ageKeys } from '../../support/age-keys.js';
import { outcomeOf, outcomesOf } from '../../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { type Call, callsOf } from '../../support/calls.js';
import { denialsIn, key, sentTwice } from '../../support/retries.js';
import { rowsOf } from '../../support/rows.js';

let api: TestApi;
let account: TestAccount;
let owner: Call;
let app: string;
beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  account = await newAccount(api);
  owner = callsOf(api, account.accountSlug, await account.as('owner'));
  app = `/applications/${account.applicationSlug}`;
});
afterAll(() => api.stop());

const denials = () => denialsIn(api, account.scope.accountId);
const twice = (call: Call, ...sent: Parameters<Call>) => sentTwice(api, account.scope.accountId, call, ...sent);

describe('a retry is answered like the first time although', () => {
  test('the slug of the account has changed', async () => {
    const renamed = await twice(owner, 'PATCH', '', { slug: `${account.accountSlug}-new` });
    expect(renamed.json().data.slug).toBe(`${account.accountSlug}-new`);
    expect(outcomeOf(await owner('PATCH', '', { slug: `${account.accountSlug}-new` }))).toBe('404 account.not_found');
  });

  test('the slug of the account has changed, and another account has taken the old one', async () => {
    const change = { slug: `${account.accountSlug}-new` };
    const first = await owner('PATCH', '', change, key);
    const taker = await newAccount(api);
    const taken = callsOf(api, taker.accountSlug, await taker.as('owner'));
    expect(outcomeOf(await taken('PATCH', '', { slug: account.accountSlug }))).toBe('200');
    const again = await owner('PATCH', '', change, key);
    expect([again.statusCode, again.body]).toEqual([200, first.body]);
    expect(outcomeOf(await owner('GET', ''))).toBe('404 account.not_found');
  });

  test('the slug of the account has changed, which was most of a day ago', async () => {
    const change = { slug: `${account.accountSlug}-new` };
    const first = await owner('PATCH', '', change, key);
    await ageKeys(api.database.ownerUrl, hours(23));
    const again = await owner('PATCH', '', change, key);
    expect([again.statusCode, again.body]).toEqual([200, first.body]);
  });

  test.each([
    ['application', () => app],
    ['environment', () => `${app}/environments/production`],
  ])('the slug of the %s has changed', async (_, path) => {
    expect((await twice(owner, 'PATCH', path(), { slug: 'renamed' })).json().data.slug).toBe('renamed');
  });

  test.each([
    ['application', () => [app, account.applicationSlug]],
    ['environment', () => [`${app}/environments/production`, 'production']],
  ])('the %s is gone', async (_, place) => {
    const [path, slug] = place();
    expect(outcomeOf(await twice(owner, 'DELETE', `${path}?confirm=${slug}`))).toBe('204');
  });

  test('the caller has left the account', async () => {
    const leaver = await newMember(api, account, 'admin');
    expect(outcomeOf(await twice(leaver.call, 'DELETE', `/members/${leaver.membershipId}`))).toBe('204');
    expect(outcomeOf(await leaver.call('GET', '/me'))).toBe('404 account.not_found');
  });

  test('the caller has given up the capability', async () => {
    const roles = await rolesByKey(owner);
    const member = await newMember(api, account, 'admin');
    const change = { roles: [{ role_id: roles.viewer, limits: null }] };
    expect(outcomeOf(await twice(member.call, 'PATCH', `/members/${member.membershipId}`, change))).toBe('200');
    // With another key it is a new request, which they may not send any more.
    const before = await denials();
    const other = await member.call('PATCH', `/members/${member.membershipId}`, change, { 'idempotency-key': 'other' });
    expect(outcomeOf(other)).toBe('403 account.capability_required');
    expect(await denials()).toBe(before + 1);
  });

  test('the caller has removed the capability from their role', async () => {
    const role = { name: 'Clerk', description: '', capabilities: ['members.view', 'members.manage'] };
    const { id: roleId } = (await owner('POST', '/administrator-roles', role)).json().data;
    const clerk = await newMember(api, account, { roleId });
    const change = { capabilities: ['members.view'] };
    expect(outcomeOf(await twice(clerk.call, 'PATCH', `/administrator-roles/${roleId}`, change))).toBe('200');
    expect(outcomeOf(await clerk.call('PATCH', `/administrator-roles/${roleId}`, change))).toBe(
      '403 account.capability_required',
    );
  });
});

describe('a key reveals nothing to', () => {
  let change: { slug: string };
  beforeEach(async () => {
    change = { slug: `${account.accountSlug}-new` };
    expect(outcomeOf(await owner('PATCH', '', change, key))).toBe('200');
  });

  test('another owner of the account, a neighbour or a stranger', async () => {
    const { call: colleague } = await newMember(api, account, 'owner');
    const neighbour = callsOf(api, account.accountSlug, await (await newAccount(api)).as('owner'));
    for (const call of [colleague, neighbour]) {
      expect(outcomeOf(await call('PATCH', '', change, key))).toBe('404 account.not_found');
    }
    expect(outcomeOf(await callsOf(api, account.accountSlug, {})('PATCH', '', change, key))).toBe('401');
  });

  test('the same caller with another request, key or method, or a day later', async () => {
    for (const [method, body, headers] of [
      ['PATCH', { slug: 'another' }, key],
      ['PATCH', { ...change, name: 'x' }, key],
      ['PATCH', { slug: '!' }, key],
      ['PATCH', change, {}],
      ['PATCH', change, { 'idempotency-key': 'twice' }],
      ['PATCH', change, { 'idempotency-key': 'ü' }],
      ['GET', undefined, key],
    ] as const) {
      expect(outcomeOf(await owner(method, '', body, headers))).toBe('404 account.not_found');
    }
    await rowsOf(api, `update idempotent_requests set expires_at = $1 where key = 'once'`, [api.clock.now]);
    expect(outcomeOf(await owner('PATCH', '', change, key))).toBe('404 account.not_found');
  });

  test('a session that has ended', async () => {
    await rowsOf(api, 'update user_sessions set revoked_at = now()');
    expect(outcomeOf(await owner('PATCH', '', change, key))).toBe('401');
  });
});

test('a caller who has left does not get an answer with a secret again', async () => {
  const { call, membershipId } = await newMember(api, account, 'admin');
  const client = { name: 'Web', client_type: 'confidential', redirect_uris: ['https://app.example/callback'] };
  const path = `${app}/environments/development/oauth-clients`;
  const first = await call('POST', path, client, key);
  expect(first.json().data.client_secret).toEqual(expect.any(String));
  expect((await call('POST', path, client, key)).body).toBe(first.body);
  expect(outcomeOf(await owner('DELETE', `/members/${membershipId}`))).toBe('204');
  expect(outcomeOf(await call('POST', path, client, key))).toBe('404 account.not_found');
});

test('a retry while the first request still runs gets a “try again”, and a lost one frees its key', async () => {
  const change = { slug: `${account.accountSlug}-new` };
  expect(outcomeOf(await owner('PATCH', '', change, key))).toBe('200');
  const credential = `platform_admin/${account.userId}`;
  const unanswered = (lockedUntil: Date) =>
    rowsOf(api, `update idempotent_requests set status_code = null, locked_until = $1 where credential = $2`, [
      lockedUntil,
      credential,
    ]);
  await unanswered(new Date(api.clock.now.getTime() + 60_000));
  const running = await owner('PATCH', '', change, key);
  expect(outcomeOf(running)).toBe('409 idempotency.in_progress');
  expect(running.headers['retry-after']).toBe('1');
  await unanswered(new Date(api.clock.now.getTime() - 1));
  expect(outcomeOf(await owner('PATCH', '', change, key))).toBe('404 account.not_found');
});

/**
 * Has the api crashed after the caller's request with the key was done, and before its answer was stored.
 * @param id SQL for the id of the request whose answer is lost; $3 is who sent this one
 */
const crashed = (id: string) =>
  rowsOf(
    api,
    `update idempotent_requests set status_code = null, body_sealed = null, locked_until = $1,
      headers = jsonb_build_object('request-id', coalesce((${id}), gen_random_uuid()))
    where credential = $2 and $3::text is not null`,
    [new Date(api.clock.now.getTime() - 1), `platform_admin/${account.userId}`, account.userId],
  );
const crashedAfter = (event: string) =>
  crashed(`select correlation_id from events where action = '${event}' and actor_id = $3 limit 1`);

test('a request whose answer a crash has lost is not carried out twice, and the retry learns what it did', async () => {
  const client = { name: 'Web', client_type: 'public', redirect_uris: ['https://app.example/callback'] };
  const create = () => owner('POST', `${app}/environments/development/oauth-clients`, client, key);
  const first = await create();
  expect(outcomeOf(first)).toBe('201');
  await crashedAfter('oauth_client.created');
  const retried = await create();
  expect(outcomeOf(retried)).toBe('409 idempotency.answer_lost');
  const made = { field: 'oauth_client', code: 'oauth_client.created', message: first.json().data.id };
  expect(retried.json().error.details).toEqual([made]);
  await crashedAfter('nothing.of.the.kind');
  expect(outcomeOf(await create())).toBe('201');
  // Only what it has done counts, and not what it was refused or what failed.
  const failed = `update events set outcome = 'failure' where actor_id = $1 and action = 'oauth_client.created' returning 1`;
  expect(await rowsOf(api, failed, [account.userId])).toHaveLength(2);
  await crashedAfter('oauth_client.created');
  expect(outcomeOf(await create())).toBe('201');
  // The caller chooses a request's id, and may choose another caller's: nothing of that caller's changes is shown.
  await crashed(`select e.correlation_id from events e where outcome = 'success'
    and not exists (select from events own where own.correlation_id = e.correlation_id and own.actor_id = $3) limit 1`);
  expect(outcomeOf(await create())).toBe('201');
});

test('a key whose request changed something and died is not free for another request, also if that one may be repeated', async () => {
  const client = { name: 'Web', client_type: 'public', redirect_uris: ['https://app.example/callback'] };
  const create = () => owner('POST', `${app}/environments/development/oauth-clients`, client, key);
  expect(outcomeOf(await create())).toBe('201');
  await crashedAfter('oauth_client.created');
  const reused = '400 idempotency.key_reused';
  const rename = (name: string) => owner('PATCH', '', { name }, key);
  expect(outcomeOf(await rename('Other'))).toBe(reused);
  expect(outcomeOf(await owner('DELETE', `${app}/environments/development?confirm=development`, undefined, key))).toBe(
    reused,
  );
  expect(outcomeOf(await create())).toBe('409 idempotency.answer_lost');
  await crashed('gen_random_uuid()'); // it changed nothing
  expect(outcomeOf(await rename('One'))).toBe('200');
  await crashedAfter('account.updated');
  expect(outcomeOf(await rename('Other'))).toBe(reused);
  const again = outcomesOf(await Promise.all([rename('One'), rename('One'), rename('One')]));
  const { 200: done = 0, '409 idempotency.in_progress': waiting = 0 } = again;
  expect([done > 0, done + waiting]).toEqual([true, 3]);
});

test('an answer is sent again for a day, also if its request changed nothing and would succeed by now', async () => {
  const other = await newAccount(api);
  const [slug, change] = [other.accountSlug, { slug: other.accountSlug }];
  const refused = await owner('PATCH', '', change, key);
  expect(outcomeOf(refused)).toBe('409 account.slug_taken');
  const call = callsOf(api, slug, await other.as('owner'));
  expect(outcomeOf(await call('PATCH', '', { slug: `${slug}-new` }))).toBe('200');
  await ageKeys(api.database.ownerUrl, hours(23));
  const again = await owner('PATCH', '', change, key);
  expect([again.body, again.headers['idempotency-replayed']]).toEqual([refused.body, 'true']);
});

test('a request that is told to try again later can do so with the same key', async () => {
  const limited = await startApi({ RATE_LIMITS: 'on' }, undefined, api.database);
  const call = callsOf(limited, account.accountSlug, await account.as('owner'));
  const hook = { url: 'https://receiver.example/hook', event_types: ['*'] };
  const { id } = (await call('POST', '/webhooks', hook)).json().data;
  const test = (more = key) => call('POST', `/webhooks/${id}/test`, undefined, more);
  expect(outcomeOf(await test({ 'idempotency-key': 'first' }))).toBe('200');
  await rowsOf(api, `update rate_limits set points = 30 where key ~ '^webhook-tests'`);
  const refused = await test();
  expect([outcomeOf(refused), refused.headers['retry-after']]).toEqual(['429 rate_limit.exceeded', expect.any(String)]);
  await rowsOf(api, `delete from rate_limits where key ~ '^webhook-tests'`);
  const tested = await test();
  expect([outcomeOf(tested), tested.headers['idempotency-replayed']]).toEqual(['200', undefined]);
  expect((await test()).body).toBe(tested.body);
  await limited.stop();
});

test('each of twenty equal requests at once gets the one answer or a “try again”', async () => {
  const change = { slug: `${account.accountSlug}-new` };
  const send = () => owner('PATCH', '', change, key);
  const counts = outcomesOf(await Promise.all(Array.from({ length: 20 }, send)));
  const { 200: answered = 0, '409 idempotency.in_progress': waiting = 0, ...others } = counts;
  expect(others).toEqual({});
  expect(answered + waiting).toBe(20);
  expect(outcomeOf(await send())).toBe('200');
});
