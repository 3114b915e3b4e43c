import { createWebhookDeliveries } from '../../src/domain/webhooks/deliveries.js';
import { createWebhookDeliveryLog } from '../../src/domain/webhooks/delivery-log.js';
import { disableWebhook } from '../../src/domain/webhooks/disable.js';
import { fanOutWebhooks } from '../../src/domain/webhooks/fan-out.js';
import { webhookSecretContext } from '../../src/domain/webhooks/secrets.js';
import { hours } from '../../src/platform/clock.js';
import { createOutbound } from '../../src/platform/outbound/fetch.js';
import { parseHosts } from '../../src/platform/outbound/hosts.js';
import { sealing } from '../support/administrators.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { startApiBesideTemporal } from '../support/api-beside-temporal.js';
import { deliveriesOf, happen, subscribe } from '../support/api-webhooks.js';
import { rowsOf } from '../support/rows.js';

let api: TestApi;
let account: TestAccount;
beforeAll(async () => {
  api = await startApiBesideTemporal();
});
afterAll(() => api.stop());
beforeEach(async () => {
  account = await newAccount(api);
});

const url = 'https://receiver.example/hook';
const wanted = { url, event_types: ['role.created'] };

/** A caller with every permission in each of the three places that have webhooks. */
const places = {
  'the Public API': async () => ({ base: '/api/v1', headers: await account.apiKey(), scope: 'environment' }),
  "an Environment's mount in the Portal": async () => ({
    base: account.portalPath(''),
    headers: await account.as('owner'),
    scope: 'environment',
  }),
  'the Account in the Portal': async () => ({
    base: `/portal/v1/accounts/${account.accountSlug}`,
    headers: await account.as('owner'),
    scope: 'account',
  }),
};
type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';
async function callerAt(place: keyof typeof places) {
  const { base, headers, scope } = await places[place]();
  const call = async (method: Method, path: string, payload?: object) => {
    const { statusCode: status, body } = await api.app.inject({
      method,
      url: `${base}${path}`,
      headers,
      ...(payload && { payload }),
    });
    return { status, body: body ? JSON.parse(body) : null };
  };
  return { call, scope };
}
const onThePublicApi = async () => (await callerAt('the Public API')).call;
const fieldOf = ({ body }: { body: { error: { details: { field: string; code: string }[] } } }) => {
  const [detail] = body.error.details;
  return `${detail?.field} ${detail?.code}`;
};
const events = (action: string) =>
  rowsOf<{ metadata: object; environment_id: string | null; actor_type: string }>(
    api,
    `select metadata, environment_id, actor_type from events where account_id = '${account.scope.accountId}' and action = '${action}' order by id`,
  );

test.each(Object.keys(places) as (keyof typeof places)[])(
  'a webhook can be created, changed and deleted on %s',
  async (place) => {
    const { call, scope } = await callerAt(place);
    const made = await call('POST', '/webhooks', { ...wanted, description: 'Ours' });
    expect(made.status).toBe(201);
    const { secret, ...webhook } = made.body.data;
    expect(webhook).toMatchObject({ scope, ...wanted, description: 'Ours', is_active: true, disabled_reason: null });
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const at = `/webhooks/${webhook.id}`;

    const read = await call('GET', at);
    expect(read).toEqual({ status: 200, body: { data: webhook } });
    expect((await call('GET', '/webhooks?q=RECEIVER.example')).body.items).toEqual([webhook]);
    expect((await call('GET', '/webhooks?q=nobody')).body.items).toEqual([]);
    expect((await call('GET', '/webhooks/summary?q=receiver')).body.data).toEqual({
      active_count: 1,
      inactive_count: 0,
    });

    const changed = await call('PATCH', at, { event_types: ['*'], description: null, is_active: false });
    expect(changed.body.data).toMatchObject({ url, event_types: ['*'], description: null, is_active: false });
    expect((await call('GET', '/webhooks/summary')).body.data).toEqual({ active_count: 0, inactive_count: 1 });
    expect((await call('GET', '/webhooks/summary?q=nobody')).body.data).toEqual({ active_count: 0, inactive_count: 0 });
    expect((await call('DELETE', at)).status).toBe(204);
    expect((await call('GET', at)).body.error.code).toBe('webhook.not_found');

    const environmentId = scope === 'account' ? null : account.scope.environmentId;
    expect(await events('webhook.created')).toMatchObject([{ environment_id: environmentId }]);
    const metadata = { changed: ['event_types', 'description', 'is_active'], is_active: false };
    expect((await events('webhook.updated'))[0]?.metadata).toEqual(metadata);
    expect(await events('webhook.deleted')).toHaveLength(1);
  },
);

test("an Environment's webhooks are not among the Account's, nor the other way round", async () => {
  const [inEnvironment, inAccount] = [await onThePublicApi(), (await callerAt('the Account in the Portal')).call];
  const ofEnvironment = (await inEnvironment('POST', '/webhooks', wanted)).body.data.id;
  const ofAccount = (await inAccount('POST', '/webhooks', wanted)).body.data.id;
  const idsOf = async (call: typeof inAccount) =>
    (await call('GET', '/webhooks')).body.items.map(({ id }: { id: string }) => id);
  expect([await idsOf(inEnvironment), await idsOf(inAccount)]).toEqual([[ofEnvironment], [ofAccount]]);
  expect((await inAccount('GET', `/webhooks/${ofEnvironment}`)).status).toBe(404);
  expect((await inEnvironment('GET', `/webhooks/${ofAccount}`)).status).toBe(404);
  expect((await inAccount('DELETE', `/webhooks/${ofEnvironment}`)).status).toBe(404);
  expect((await inAccount('GET', '/webhooks/summary')).body.data).toEqual({ active_count: 1, inactive_count: 0 });
});

test('the event types are listed, and an Account has more of them', async () => {
  const typesOf = async (place: keyof typeof places): Promise<string[]> => {
    const { call } = await callerAt(place);
    return (await call('GET', '/webhook-event-types')).body.items.map(({ type }: { type: string }) => type);
  };
  const ofEnvironment = await typesOf('the Public API');
  const ofAccount = await typesOf('the Account in the Portal');
  expect(ofEnvironment).toEqual(expect.arrayContaining(['identity.created', 'node.moved', 'webhook.disabled']));
  expect(ofAccount).toEqual(expect.arrayContaining([...ofEnvironment, 'account.updated', 'member.added']));
  const more = ofAccount.filter((type) => !ofEnvironment.includes(type));
  expect(new Set(more.map((type) => type.split('.')[0]))).toEqual(
    new Set(['account', 'administrator_invite', 'administrator_role', 'application', 'environment', 'member']),
  );
  expect(ofAccount.filter((type) => /^(auth|audit|process|email)\./.test(type))).toEqual([]);
});

test('event types are supported ones, or the wildcard alone', async () => {
  const call = await onThePublicApi();
  const create = (types: unknown) => call('POST', '/webhooks', { url, event_types: types });
  expect(fieldOf(await create(['role.created', 'role.painted']))).toBe('event_types[1] unsupported');
  expect(fieldOf(await create(['role.created', '*']))).toBe('event_types[1] exclusive');
  expect(fieldOf(await create(['audit.row.viewed']))).toBe('event_types[0] unsupported');
  expect(fieldOf(await create(['environment.updated']))).toBe('event_types[0] unsupported');
  expect(fieldOf(await create(['webhook.test']))).toBe('event_types[0] unsupported');
  for (const types of [[], ['*', '*'], 'role.created', [1], undefined]) expect((await create(types)).status).toBe(400);
  const { id } = (await call('POST', '/webhooks', wanted)).body.data;
  expect(fieldOf(await call('PATCH', `/webhooks/${id}`, { event_types: ['*', 'role.created'] }))).toBe(
    'event_types[0] exclusive',
  );
  const ofAccount = (await callerAt('the Account in the Portal')).call;
  expect((await ofAccount('POST', '/webhooks', { url, event_types: ['environment.updated'] })).status).toBe(201);
});

test('a URL has at most 2048 characters, and http is for networks that the operator allows', async () => {
  const call = await onThePublicApi();
  const create = (to: string) => call('POST', '/webhooks', { ...wanted, url: to });
  expect((await create(`https://receiver.example/${'a'.repeat(2025)}`)).status).toBe(400);
  expect((await create('receiver')).status).toBe(400);
  expect((await create('http://localhost:8080/hook')).status).toBe(201);
  expect((await create('http://10.0.0.1/hook')).status).toBe(400);
});

test('an Environment has at most a thousand webhooks, however many are created at once', async () => {
  const call = await onThePublicApi();
  const { id } = (await call('POST', '/webhooks', wanted)).body.data;
  await rowsOf(
    api,
    `insert into webhooks select (jsonb_populate_record(w, jsonb_build_object('id', gen_random_uuid()))).*
     from webhooks w, generate_series(1, 997) where id = '${id}'`,
  );
  const answers = await Promise.all(Array.from({ length: 5 }, () => call('POST', '/webhooks', wanted)));
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 409, 409, 409]);
  expect(answers.find(({ status }) => status === 409)?.body.error.code).toBe('webhook.limit_reached');
  const other = (await callerAt('the Account in the Portal')).call;
  expect((await other('POST', '/webhooks', wanted)).status).toBe(201);
});

test('a secret is stored sealed, shown once, and the former one signs for a day after a rotation', async () => {
  const call = await onThePublicApi();
  const first = (await call('POST', '/webhooks', wanted)).body.data;
  const second = (await call('POST', `/webhooks/${first.id}/rotate-secret`)).body.data;
  expect(second.secret).toMatch(/^whsec_/);
  expect(second.secret).not.toBe(first.secret);
  const until = new Date(api.clock.now.getTime() + 24 * 3_600_000).toISOString();
  expect(second.previous_secret_expires_at).toBe(until);
  const [row] = await rowsOf<Record<string, string>>(api, `select * from webhooks where id = '${first.id}'`);
  expect(JSON.stringify(row)).not.toContain('whsec_');
  const open = (text?: string) => sealing.open(text as string, webhookSecretContext(first.id));
  expect([open(row?.secret), open(row?.previous_secret)]).toEqual([second.secret, first.secret]);
  expect(JSON.stringify((await call('GET', `/webhooks/${first.id}`)).body)).not.toContain('whsec_');
  expect((await events('webhook.updated')).at(-1)?.metadata).toEqual({ changed: ['secret'], is_active: true });
});

test('disabling a webhook cancels its deliveries, and stops new ones; enabling it starts from nothing', async () => {
  const call = await onThePublicApi();
  const { id } = (await call('POST', '/webhooks', wanted)).body.data;
  await happen(api, account);
  await fanOutWebhooks(api.database.db, 100);
  await call('PATCH', `/webhooks/${id}`, { is_active: false });
  await happen(api, account);
  await fanOutWebhooks(api.database.db, 100);
  const { items } = (await call('GET', `/webhooks/${id}/deliveries`)).body;
  expect(items).toMatchObject([{ status: 'cancelled', ended_reason: 'webhook_disabled' }]);

  await call('PATCH', `/webhooks/${id}`, { is_active: true });
  await api.database.db.transaction('system', (tx) => disableWebhook(tx, id, 'failing', api.clock.now, {}));
  expect((await call('GET', `/webhooks/${id}`)).body.data).toMatchObject({
    is_active: false,
    disabled_reason: 'failing',
  });
  expect(await events('webhook.disabled')).toMatchObject([{ metadata: { reason: 'failing' }, actor_type: 'system' }]);
  await happen(api, account);
  await fanOutWebhooks(api.database.db, 100);
  expect(await deliveriesOf(api, account)).toHaveLength(1);
  const again = await call('PATCH', `/webhooks/${id}`, { is_active: true });
  expect(again.body.data).toMatchObject({ is_active: true, disabled_reason: null, failing_since: null });
  await happen(api, account);
  await fanOutWebhooks(api.database.db, 100);
  expect(await deliveriesOf(api, account)).toHaveLength(2);
});

test('another URL does not inherit the failures of the former one, and the event names what has changed', async () => {
  const call = await onThePublicApi();
  const { id } = (await call('POST', '/webhooks', wanted)).body.data;
  const failingSince = '2026-01-01T00:00:00.000Z';
  await rowsOf(api, `update webhooks set failing_since = '${failingSince}' where id = '${id}'`);
  const change = async (changes: object) => (await call('PATCH', `/webhooks/${id}`, changes)).body.data.failing_since;
  expect(await change({ url, description: 'Still there' })).toBe(failingSince);
  expect(await change({ url: `${url}/elsewhere` })).toBeNull();
  const changed = (await events('webhook.updated')).map(({ metadata }) => metadata);
  expect(changed).toMatchObject([{ changed: ['description'] }, { changed: ['url'] }]);
});

test('a deleted webhook does not exist any more, and nothing reaches it', async () => {
  const call = await onThePublicApi();
  const { id } = (await call('POST', '/webhooks', wanted)).body.data;
  await happen(api, account);
  await fanOutWebhooks(api.database.db, 100);
  await call('DELETE', `/webhooks/${id}`);
  expect((await call('GET', `/webhooks/${id}/deliveries`)).status).toBe(404);
  expect(await rowsOf(api, `select from webhook_routes where webhook_id = '${id}'`)).toEqual([]);
});

test('a test is a delivery to that webhook alone, and its process is requested', async () => {
  const call = await onThePublicApi();
  const { id } = (await call('POST', '/webhooks', wanted)).body.data;
  await subscribe(api, account, ['*']);
  const { status, body } = await call('POST', `/webhooks/${id}/test`);
  expect([status, body.data]).toMatchObject([200, { webhook_id: id, event_type: 'webhook.test', status: 'pending' }]);
  const shown = (await call('GET', `/webhooks/${id}/deliveries/${body.data.id}`)).body.data;
  const { accountId, environmentId } = account.scope;
  expect(JSON.parse(shown.body)).toEqual({
    type: 'webhook.test',
    timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
    data: { resource_type: 'webhook', resource_id: id },
    environment_id: environmentId,
    account_id: accountId,
  });
  expect(shown.attempts).toEqual([]);
  expect(
    await rowsOf(api, `select input from outbox where process = 'webhookDelivery' and input ->> 'webhookId' = '${id}'`),
  ).toEqual([{ input: { deliveryId: body.data.id, webhookId: id, accountId, environmentId } }]);
  await call('PATCH', `/webhooks/${id}`, { is_active: false });
  expect((await call('POST', `/webhooks/${id}/test`)).body.error.code).toBe('webhook.inactive');
});

test('a test is sent although the clock of the api is behind that by which the webhook was disabled before', async () => {
  const call = await onThePublicApi();
  const { id } = (await call('POST', '/webhooks', wanted)).body.data;
  api.clock.advance(-60_000);
  for (const is_active of [false, true]) await call('PATCH', `/webhooks/${id}`, { is_active });
  const { body } = await call('POST', `/webhooks/${id}/test`);
  const shown = (await call('GET', `/webhooks/${id}/deliveries/${body.data.id}`)).body.data;
  api.clock.advance(60_000);
  expect(shown).toMatchObject({ status: 'pending', ended_reason: null });
});

test('deliveries are listed, filtered and read with their attempts', async () => {
  const call = await onThePublicApi();
  const { id } = (await call('POST', '/webhooks', { url, event_types: ['role.created', 'role.deleted'] })).body.data;
  for (const action of ['role.created', 'role.deleted', 'role.created'] as const) await happen(api, account, action);
  await fanOutWebhooks(api.database.db, 100);
  const of = async (query: string) => (await call('GET', `/webhooks/${id}/deliveries${query}`)).body;
  const all = await of('');
  expect(all.pagination.item_count).toBe(3);
  expect(all.items[0]).toMatchObject({ webhook_id: id, status: 'pending', attempt_count: 0, settled_at: null });
  const { id: first, next_attempt_at } = all.items[0];
  expect(all.items[0].process).toEqual({
    id: first,
    state: 'pending',
    next_wake_up: next_attempt_at,
    verbs: ['cancel'],
  });
  expect(next_attempt_at).toMatch(/^\d{4}-.*Z$/);
  expect((await of('?event_type=role.deleted')).items).toHaveLength(1);
  expect((await of('?q=DELETED')).items).toHaveLength(1);
  expect((await of('?status=failed')).items).toEqual([]);
  expect((await of('?status=pending&take=2&page=2')).items).toHaveLength(1);
  expect((await call('GET', `/webhooks/${id}/deliveries?status=lost`)).status).toBe(400);

  const [one, two] = all.items;
  await rowsOf(
    api,
    `insert into webhook_attempts select id, n, account_id, environment_id, now(), 12, 500, null, 'no' from webhook_deliveries, generate_series(1, 2) n
     where id = '${one.id}'`,
  );
  const attempt = { duration_ms: 12, status_code: 500, error: null, response_excerpt: 'no' };
  const shown = (await call('GET', `/webhooks/${id}/deliveries/${one.id}`)).body.data;
  expect(shown.attempts).toMatchObject([
    { number: 1, ...attempt },
    { number: 2, ...attempt },
  ]);
  const { items } = await of('');
  expect([items[0].attempts, items[1].attempts, items[0].body]).toEqual([shown.attempts, [], undefined]);
  const another = (await call('POST', '/webhooks', wanted)).body.data.id;
  expect((await call('GET', `/webhooks/${another}/deliveries/${two.id}`)).body.error.code).toBe(
    'webhook.delivery_not_found',
  );
});

test('a delivery that has ended, or waits, is attempted again as the same message', async () => {
  const call = await onThePublicApi();
  const { id } = (await call('POST', '/webhooks', wanted)).body.data;
  await happen(api, account);
  await fanOutWebhooks(api.database.db, 100);
  const [before] = await deliveriesOf(api, account);
  await rowsOf(
    api,
    `delete from outbox; update webhook_deliveries set status = 'failed', ended_reason = 'attempts_exhausted', settled_at = now(), attempt_count = 10`,
  );
  const at = `/webhooks/${id}/deliveries/${before?.id}/retry`;
  const { status, body } = await call('POST', at);
  expect([status, body.data]).toMatchObject([
    200,
    { id: before?.id, status: 'pending', ended_reason: null, attempt_count: 10 },
  ]);
  expect((await call('POST', at)).status).toBe(200);
  const asked = await rowsOf<{ input: object }>(api, `select input from outbox where process = 'webhookDelivery'`);
  const input = { deliveryId: before?.id, webhookId: id, news: 'retryNow' };
  expect(asked).toMatchObject([{ input }, { input }]);
  expect((await deliveriesOf(api, account))[0]?.body).toBe(before?.body);
  expect((await events('webhook.delivery_retried')).map((row) => row.metadata)).toMatchObject([
    { webhook_id: id, status: 'failed' },
    { webhook_id: id, status: 'pending' },
  ]);
  await call('PATCH', `/webhooks/${id}`, { is_active: false });
  expect((await call('POST', at)).body.error.code).toBe('webhook.inactive');
});

test('a delivery has at most fifty attempts, whoever requests them', async () => {
  const { call } = await callerAt('the Account in the Portal');
  const { id } = (await call('POST', '/webhooks', wanted)).body.data;
  await happen(api, account);
  await fanOutWebhooks(api.database.db, 100);
  const [delivery] = await deliveriesOf(api, account);
  const after = (attempts: number) =>
    rowsOf(
      api,
      `update webhook_deliveries set status = 'failed', ended_reason = 'attempts_exhausted', next_attempt_at = null,
         settled_at = now(), attempt_count = ${attempts} where id = '${delivery?.id}'`,
    );
  const ways = [`/webhooks/${id}/deliveries/${delivery?.id}/retry`, `/processes/${delivery?.id}/retry`];
  for (const way of ways) {
    await after(49);
    expect((await call('POST', way)).status).toBe(200);
    await after(50);
    const refused = await call('POST', way);
    expect([refused.status, refused.body.error.code]).toEqual([409, 'webhook.too_many_attempts']);
    expect((await deliveriesOf(api, account))[0]?.status).toBe('failed');
  }
});

test('one webhook is tested thirty times a minute and retried six hundred times, counted for each Account', async () => {
  const { db } = api.database;
  const log = createWebhookDeliveryLog({
    db,
    rateLimits: true,
    now: () => api.clock.now,
    processes: { describe: async () => null },
  });
  const id = await subscribe(api, account, ['*']);
  const codes = async (calls: Promise<unknown>[]) => {
    const outcomes = await Promise.allSettled(calls);
    return outcomes.map((outcome) => (outcome.status === 'fulfilled' ? 'done' : outcome.reason.code)).sort();
  };
  const tests = Array.from({ length: 32 }, () => log.test(account.scope, id));
  expect(await codes(tests)).toEqual([...Array(30).fill('done'), ...Array(2).fill('rate_limit.exceeded')]);
  const { scope: stranger } = await newAccount(api);
  expect(await codes([log.test(stranger, id)])).toEqual(['webhook.not_found']);

  const [delivery] = await deliveriesOf(api, account);
  const retry = () => codes([log.retry(account.scope, id, delivery?.id as string)]);
  expect(await retry()).toEqual(['done']);
  const used = (points: number) =>
    rowsOf(api, `update rate_limits set points = ${points} where key ~ '^webhook-retries'`);
  await used(599);
  expect([await retry(), await retry()]).toEqual([['done'], ['rate_limit.exceeded']]);
});

test('an API key needs webhook.view to read and webhook.manage to change', async () => {
  const viewer = await account.apiKey(['webhook.view']);
  const stranger = await account.apiKey(['identity.view']);
  const list = (headers: Record<string, string>) => api.app.inject({ url: '/api/v1/webhooks', headers });
  expect([(await list(viewer)).statusCode, (await list(stranger)).statusCode]).toEqual([200, 403]);
  const create = { method: 'POST', url: '/api/v1/webhooks', headers: viewer, payload: wanted } as const;
  expect((await api.app.inject(create)).statusCode).toBe(403);
});

test('deliveries are among the Account’s processes: stopped there, and retried', async () => {
  const { call } = await callerAt('the Account in the Portal');
  const { id } = (await call('POST', '/webhooks', wanted)).body.data;
  await happen(api, account);
  await fanOutWebhooks(api.database.db, 100);
  const listed = async () => (await call('GET', `/processes?kind=webhook_delivery&subject_id=${id}`)).body.items;
  const [process] = await listed();
  expect(process).toMatchObject({
    subject_type: 'webhook',
    state: 'pending',
    waits_for: 'receiver',
    verbs: ['cancel'],
    workflow_id: `webhook-delivery/${process.id}`,
  });
  await call('POST', `/processes/${process.id}/cancel`, { reason: 'Told twice' });
  expect(await listed()).toMatchObject([
    { state: 'cancelled', ended_reason: 'cancelled_by_operator', waits_for: null, verbs: ['retry'] },
  ]);
  await call('POST', `/processes/${process.id}/retry`);
  expect(await listed()).toMatchObject([{ state: 'pending', ended_reason: null, ended_at: null }]);
  const asked = await rowsOf(
    api,
    `select input ->> 'news' as news from outbox where input ->> 'deliveryId' = '${process.id}' order by created_at, id`,
  );
  expect(asked).toEqual([{ news: null }, { news: 'retryNow' }]);
});

test('a webhook of an Environment is deleted with it', async () => {
  await subscribe(api, account, ['*']);
  await happen(api, account);
  await fanOutWebhooks(api.database.db, 100);
  await rowsOf(api, `delete from environments where id = '${account.scope.environmentId}'`);
  expect(await deliveriesOf(api, account)).toEqual([]);
  expect(await rowsOf(api, `select from webhooks where account_id = '${account.scope.accountId}'`)).toEqual([]);
});

test('with an operator’s list of hosts no other is registered, and a delivery to an earlier one fails', async () => {
  const { id: webhookId } = (await (await onThePublicApi())('POST', '/webhooks', wanted)).body.data;
  await happen(api, account);
  await fanOutWebhooks(api.database.db, 100);
  const [{ id } = { id: '' }] = await rowsOf<{ id: string }>(
    api,
    `select id from webhook_deliveries where webhook_id = '${webhookId}'`,
  );

  const listed = 'hooks.example.com';
  const strict = await startApi({ OUTBOUND_ALLOWED_HOSTS: listed }, undefined, api.database);
  const headers = await account.as('owner');
  const create = async (path: string, payload: object) => {
    const answer = await strict.app.inject({ method: 'POST', url: account.portalPath(path), headers, payload });
    return answer.statusCode === 201 ? 201 : fieldOf({ body: answer.json() });
  };
  const client = { name: 'Web', client_type: 'confidential', token_endpoint_auth_method: 'private_key_jwt' };
  const withKeysAt = (host: string) => ({ ...client, redirect_uris: [], jwks_uri: `https://${host}/jwks` });
  const oidc = (host: string) => ({ type: 'oidc', name: 'IdP', oidc_discovery_url: `https://${host}/` });
  expect(await create('/webhooks', wanted)).toBe('url host');
  expect(await create('/webhooks', { ...wanted, url: `https://${listed}/` })).toBe(201);
  expect(await create('/oauth-clients', withKeysAt('keys.example.com'))).toBe('jwks_uri host');
  expect(await create('/oauth-clients', withKeysAt(listed))).toBe(201);
  expect(await create('/sso-connections', oidc('idp.example.com'))).toBe('oidc_discovery_url host');
  expect(await create('/sso-connections', oidc(listed))).toBe(201);
  const visited = { type: 'saml', name: 'IdP', saml_sso_url: 'https://idp.example.com/' }; // browsers visit these addresses, we do not
  expect(await create('/sso-connections', visited)).toBe(201);
  await strict.stop();

  let time = Date.now();
  const deliveries = createWebhookDeliveries({
    db: api.database.db,
    sealing,
    outbound: createOutbound({ allowedHosts: parseHosts(listed) }),
    signLogoutToken: async () => '',
    now: () => new Date(time),
    schedule: [hours(1)],
    onFault: () => {},
  });
  expect(await deliveries.attempt(id, webhookId)).toMatchObject({ status: 'pending', attempts: 1 });
  time += hours(2);
  expect(await deliveries.attempt(id, webhookId)).toMatchObject({ status: 'failed', attempts: 2 });
  const attempts = `select error from webhook_attempts where delivery_id = '${id}'`;
  expect(await rowsOf(api, attempts)).toEqual([{ error: 'host' }, { error: 'host' }]);
});
