import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';
import { AdministratorRole } from '../../entities/administrator-role.js';
import { MembershipRole } from '../../entities/membership-role.js';
import { ScopedRunner } from '../../src/platform/database/scoped-runner.js';
import { shape } from '../support/answers.js';
import { newAccount, send, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { settle, writeEvents } from '../support/audit-events.js';
import { type Call, callsOf } from '../support/calls.js';
import { rowsOf } from '../support/rows.js';

let api: TestApi;
let account: TestAccount;
let key: Record<string, string>;
let owner: Record<string, string>;
let portal: Call;
beforeAll(async () => {
  api = await startApi();
  account = await newAccount(api);
  key = await account.apiKey();
  owner = await account.as('owner');
  portal = callsOf(api, account.accountSlug, owner);
});
afterAll(() => api.stop());

const get = async (url: string, status = 200, headers = key) =>
  (await send(api.app, status, { url: `/api/v1${url}`, headers })).json();
const newNode = async (name: string, headers = key, requestId = randomUUID()) => {
  const payload = { name, node_type: 'unit', parent_node_id: await rootId() };
  const url = '/api/v1/nodes';
  const more = { ...headers, 'x-request-id': requestId };
  return (await send(api.app, 201, { method: 'POST', url, headers: more, payload })).json().data;
};
const rootId = async () =>
  (
    await rowsOf<{ id: string }>(api, 'select id from nodes where environment_id = $1 and parent_node_id is null', [
      account.scope.environmentId,
    ])
  )[0]?.id;

test('a change is a row with who, what, where, its outcome and its request id', async () => {
  const requestId = randomUUID();
  const node = await newNode('Depot', key, requestId);
  const { items, pagination } = await get(`/audit-logs?resource_id=${node.id}`);
  expect(items).toEqual([
    {
      id: shape.id,
      account_id: account.scope.accountId,
      application_id: account.scope.applicationId,
      environment_id: account.scope.environmentId,
      actor_id: shape.id,
      actor_type: 'api_key',
      actor_label: 'test',
      action: 'node.created',
      resource_type: 'node',
      resource_id: node.id,
      resource_label: 'Depot',
      metadata: expect.objectContaining({ node_type: 'unit' }),
      outcome: 'success',
      category: 'structure',
      severity: 'info',
      correlation_id: requestId,
      customer_visible: true,
      identity_visible: false,
      created_at: shape.created_at,
    },
  ]);
  expect(pagination).toMatchObject({ item_count: 1, page_count: 1 });
});

test('ids of actors and resources are found in upper case, too, also in exports', async () => {
  const { id } = await newNode('Upper case');
  const [{ actor_id }] = (await get(`/audit-logs?resource_id=${id}`)).items;
  const query = `resource_id=${id.toUpperCase()}&actor_id=${actor_id.toUpperCase()}`;
  expect((await get(`/audit-logs?${query}`)).items).toMatchObject([{ resource_id: id, actor_id }]);
  const { body } = await send(api.app, 200, { url: `/api/v1/audit-logs/export?${query}`, headers: key });
  expect(body.trim().split('\n')).toHaveLength(1);
  expect((await portal('GET', `/audit-log?${query}`)).json().items).toMatchObject([{ resource_id: id }]);
  expect((await get('/audit-logs?resource_id=listroles')).items).toEqual([]); // not a UUID: matched as written
});

test('rows about deleted objects show the last name; rows about a person show their present name, and none after their erasure', async () => {
  const node = await newNode('Old yard');
  const { headers } = await send(api.app, 200, { url: `/api/v1/nodes/${node.id}`, headers: key });
  const ifMatch = { ...key, 'if-match': headers.etag as string };
  await send(api.app, 204, { method: 'DELETE', url: `/api/v1/nodes/${node.id}`, headers: ifMatch });
  const { items: ofNode } = await get(`/audit-logs?resource_id=${node.id}`);
  expect(ofNode.map((row: { resource_label: string }) => row.resource_label)).toEqual(['Old yard', 'Old yard']);

  const payload = { email: `${randomUUID()}@example.com`, first_name: 'Ana', last_name: 'Lima' };
  const made = await send(api.app, 201, { method: 'POST', url: '/api/v1/identities', headers: key, payload });
  const { id } = made.json().data;
  const labels = async () =>
    (await get(`/audit-logs?resource_id=${id}`)).items.map(
      (row: { resource_label: string | null }) => row.resource_label,
    );
  expect(await labels()).toEqual(['Ana Lima']);
  expect(await rowsOf(api, 'select resource_label from events where resource_id = $1', [id])).toEqual([
    { resource_label: null },
  ]);
  await rowsOf(api, 'delete from identities where id = $1', [id]);
  expect(await labels()).toEqual([null]);
});

test('a row of an organization has the name that it had then, also after its deletion', async () => {
  const call = async (
    status: number,
    method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    payload?: object,
    version?: number,
  ) => {
    const headers = { ...key, ...(version && { 'if-match': `${version}` }) };
    const answer = await send(api.app, status, { method, url: `/api/v1${path}`, headers, ...(payload && { payload }) });
    return answer.body === '' ? null : answer.json().data;
  };
  const newPerson = () => call(201, 'POST', '/identities', { email: `${randomUUID()}@example.com` });
  const role = await call(201, 'POST', '/roles', { name: randomUUID() });
  const [ana, ben] = [await newPerson(), await newPerson()];
  const { id } = await call(201, 'POST', '/organizations', { name: 'Old customer' });
  const path = `/organizations/${id}`;
  for (const { id: identity_id } of [ana, ben]) await call(201, 'POST', `${path}/members`, { identity_id });
  await call(200, 'PATCH', `${path}/members/${ana.id}`, { role_ids: [role.id] });
  await call(204, 'DELETE', `${path}/members/${ana.id}`);
  await call(204, 'DELETE', `/identities/${ben.id}`);
  await call(201, 'POST', `${path}/invitations`, { email: `${randomUUID()}@example.com` });
  const policy = { allowed_methods: null, require_mfa: true, require_sso: false, session_ttl_seconds: null };
  await call(200, 'PUT', `${path}/authentication-policy`, policy, 1);
  await call(200, 'PATCH', path, { name: 'New customer' }, 1);
  await call(204, 'DELETE', path, undefined, 2);
  const { items } = await get(`/audit-logs?resource_id=${id}&resource_type=organization&order=asc`);
  const told = items.map((row: { action: string; resource_label: string }) => [row.action, row.resource_label]);
  expect(told).toEqual([
    ...['created', 'member_added', 'member_added', 'member_updated', 'member_removed', 'member_removed'].map((verb) => [
      `organization.${verb}`,
      'Old customer',
    ]),
    ['organization.invitation_created', 'Old customer'],
    ['organization.updated', 'Old customer'],
    ['organization.updated', 'New customer'],
    ['organization.invitation_revoked', 'New customer'],
    ['organization.deleted', 'New customer'],
  ]);
});

test('refusals are rows too', async () => {
  const scoped = await account.apiKey(['hierarchy.view', 'audit.view']);
  await send(api.app, 403, { url: '/api/v1/roles', headers: scoped });
  const { items } = await get('/audit-logs?outcome=denied&severity=warning&category=security', 200, scoped);
  expect(items[0]).toMatchObject({ action: 'auth.access_denied', resource_id: 'listRoles', actor_type: 'api_key' });
});

test('each filter narrows exactly, alone and together, settled or not', async () => {
  const other = await newAccount(api);
  const headers = await other.apiKey();
  const [actor, resource, request] = [randomUUID(), randomUUID(), randomUUID()];
  await writeEvents(api, other, 3, { actor_id: `'${actor}'` });
  await writeEvents(api, other, 2, { resource_id: `'${resource}'`, action: `'role.updated'`, resource_type: `'role'` });
  await settle(api);
  await writeEvents(api, other, 4, { correlation_id: `'${request}'`, outcome: `'failure'`, severity: `'warning'` });
  await writeEvents(api, other, 5, {
    created_at: `'2026-01-02T23:59:59.999Z'`,
    action: `'api_key.rotated'`,
    category: `'security'`,
  });
  await writeEvents(api, other, 2, { created_at: `'2026-01-05T12:00:00Z'`, action: `'webhook.updated'` });
  const counts: Record<string, number> = {
    [`actor_id=${actor}`]: 3,
    [`resource_id=${resource}`]: 2,
    [`correlation_id=${request}`]: 4,
    [`q=${request}`]: 4,
    [`q=${actor.toUpperCase()}`]: 3,
    'q=key.rot': 5,
    'action=role.updated': 2,
    'action=role.updated&resource_type=node': 0,
    'resource_type=role': 2,
    'category=security': 5,
    'outcome=failure': 4,
    'severity=warning': 4,
    'severity=warning&outcome=success': 0,
    'from=2026-01-02T23:59:59.999Z&to=2026-01-03T00:00:00Z': 5,
    'from=2026-01-02T00:00:00Z&to=2026-01-02T23:59:59.999Z': 0,
    'from=2026-01-01T00:00:00Z&to=2026-01-03T00:00:00Z': 5,
    'from=2026-01-01T12:00:00Z&to=2026-01-04T12:00:00Z&action=api_key.rotated': 5,
    'from=2026-01-03T00:00:00Z&action=api_key.rotated': 0,
    'to=2026-01-04T00:00:00Z': 5,
    'from=2026-01-05T11:00:00Z&to=2026-01-05T12:00:00.001Z': 2, // within a day
    'from=2026-01-05T11:00:00Z&to=2026-01-05T13:00:00Z&action=webhook.updated': 2,
    'from=2026-01-05T13:00:00Z&to=2026-01-05T14:00:00Z': 0,
    'from=2026-01-05T13:00:00Z&to=2026-01-05T11:00:00Z': 0,
    'from=2026-01-06T13:00:00Z&to=2026-01-04T11:00:00Z': 0,
  };
  const ask = async () => {
    const found: Record<string, number> = {};
    for (const query of Object.keys(counts)) {
      const { items, pagination } = await get(`/audit-logs?${query}`, 200, headers);
      expect([query, items.length]).toEqual([query, pagination.item_count]);
      found[query] = pagination.item_count;
    }
    return found;
  };
  expect(await ask()).toEqual(counts);
  await settle(api);
  expect(await ask()).toEqual(counts);
});

test('bad input is 400, a missing credential 401, a missing permission 403', async () => {
  for (const query of [
    'take=0',
    'outcome=odd',
    'from=yesterday',
    'from=2026-12-31T23:59:60Z',
    'colour=red',
    'page=0',
    'q=%00',
    'action=%00',
  ]) {
    await get(`/audit-logs?${query}`, 400);
  }
  await get('/audit-logs/not-an-id', 404);
  await get('/audit-logs', 401, {});
  await get('/audit-logs', 403, await account.apiKey(['identity.view']));
  await get('/audit-logs/export', 403, await account.apiKey(['identity.view']));
  await get('/audit-logs/export?format=pdf', 400);
});

describe('a single row', () => {
  test('comes with the rows of its request and of its actor, as the specification counts them', async () => {
    const [actor, request] = [randomUUID(), randomUUID()];
    const at = (text: string) => `now() - interval '${text}' + i * interval '1 millisecond'`;
    const ofActor = { actor_id: `'${actor}'`, identity_visible: 'true' };
    await writeEvents(api, account, 1, { ...ofActor, created_at: at('1 hour 1 minute') });
    const inTheHour = await writeEvents(api, account, 12, { ...ofActor, created_at: at('30 minutes') });
    const correlated = await writeEvents(api, account, 60, {
      correlation_id: `'${request}'`,
      identity_visible: 'true',
      created_at: at('2 hours'),
    });
    const [id] = await writeEvents(api, account, 1, {
      ...ofActor,
      correlation_id: `'${request}'`,
      created_at: at('5 seconds'),
    });
    await writeEvents(api, account, 1, { ...ofActor, created_at: at('1 second') });

    for (const url of [`/audit-log/identities/${id}`, `/audit-log/${id}`]) {
      const { data } = (await portal('GET', url)).json();
      expect(data).toMatchObject({ id, correlation_id: request });
      const ids = (rows: { id: string }[]) => rows.map((row) => row.id);
      expect(ids(data.related_by_correlation)).toEqual([...correlated.slice(-49), id]);
      expect(ids(data.related_by_actor)).toEqual([id, ...inTheHour.toReversed().slice(0, 9)]);
    }
    const around = async (of: string | undefined): Promise<string[]> =>
      (await portal('GET', `/audit-log/${of}`)).json().data.related_by_correlation.map((row: { id: string }) => row.id);
    const all = [...correlated, id];
    expect(await around(correlated[0])).toEqual(all.slice(0, 50));
    expect(await around(correlated[30])).toEqual(all.slice(6, 56)); // in the middle
    const viewed = await rowsOf(
      api,
      `select actor_id, resource_id, environment_id from events where action = 'audit.row.viewed' and resource_id = $1`,
      [id],
    );
    expect(viewed).toEqual(
      [1, 2].map(() => ({ actor_id: account.userId, resource_id: id, environment_id: account.scope.environmentId })),
    );
  });

  test('is 404 for every cause, and the answers do not differ', async () => {
    const stranger = await newAccount(api);
    const [foreign] = await writeEvents(api, stranger, 1, { identity_visible: 'true' });
    const [offSurface] = await writeEvents(api, account, 1);
    const [internal] = await writeEvents(api, account, 1, { identity_visible: 'true', customer_visible: 'false' });
    const [readable] = await writeEvents(api, account, 1, { identity_visible: 'true' });
    const statements: string[][] = [];
    const answers = [];
    for (const id of [uuidv7(), foreign, offSurface, internal]) {
      const before = await statementsOf();
      const response = await portal('GET', `/audit-log/identities/${id}`);
      statements.push(await statementsOf(before));
      const { timestamp, path, ...error } = response.json().error;
      answers.push({ status: response.statusCode, error, headers: Object.keys(response.headers).sort() });
    }
    expect(answers[0]).toMatchObject({ status: 404, error: { code: 'audit.row_not_found' } });
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    for (const each of statements) expect(each).toEqual(statements[0]);
    expect((await portal('GET', `/audit-log/identities/${readable}`)).statusCode).toBe(200);
    expect((await portal('GET', `/audit-log/${internal}`)).statusCode).toBe(404);
    await get(`/audit-logs/${foreign}`, 404);
    await get(`/audit-logs/${offSurface}`);
  });
});

const statementsSeen: string[] = [];
/** Returns the texts of the statements that transactions have run since. */
async function statementsOf(before?: string[]): Promise<string[]> {
  return before === undefined ? [...statementsSeen] : statementsSeen.slice(before.length);
}
beforeAll(() => {
  const query = ScopedRunner.prototype.query;
  jest.spyOn(ScopedRunner.prototype, 'query').mockImplementation(function (this: ScopedRunner, text, ...rest) {
    statementsSeen.push(text);
    return query.call(this, text, ...rest);
  });
});
afterAll(() => jest.restoreAllMocks());

describe('administrators', () => {
  test('see the account’s rows, and separately those of end users', async () => {
    const fresh = await newAccount(api);
    const call = callsOf(api, fresh.accountSlug, await fresh.as('viewer'));
    const before = (await call('GET', '/audit-log')).json().pagination.item_count;
    await writeEvents(api, fresh, 2);
    await writeEvents(api, fresh, 1, {
      identity_visible: 'true',
      environment_id: `'${fresh.productionScope.environmentId}'`,
    });
    expect((await call('GET', '/audit-log')).json().pagination.item_count).toBe(before + 3);
    expect((await call('GET', '/audit-log/identities')).json().pagination.item_count).toBe(1);
    const environment = `/applications/${fresh.applicationSlug}/environments/production/audit-logs?action=node.updated`;
    expect((await call('GET', environment)).json().pagination.item_count).toBe(1);
    const strangers = callsOf(api, fresh.accountSlug, owner);
    expect((await strangers('GET', '/audit-log')).statusCode).toBe(404);
  });

  test('with limits see the rows of their part and nothing else', async () => {
    const fresh = await newAccount(api);
    const { scope, productionScope } = fresh;
    const [inProduction] = await writeEvents(api, fresh, 1, { environment_id: `'${productionScope.environmentId}'` });
    const [inDevelopment] = await writeEvents(api, fresh, 1);
    const limited = await limitedTo(fresh, {
      application_ids: [],
      environment_ids: [productionScope.environmentId],
      node_ids: [],
    });
    const call = callsOf(api, fresh.accountSlug, limited);
    const ids = async (path: string) => (await call('GET', path)).json().items.map(({ id }: { id: string }) => id);
    expect(await ids('/audit-log?action=node.updated')).toEqual([inProduction]);
    expect((await call('GET', `/audit-log/${inDevelopment}`)).statusCode).toBe(404);
    expect((await call('GET', `/audit-log/${inProduction}`)).statusCode).toBe(200);
    await settle(api);
    expect(await ids('/audit-log?action=node.updated')).toEqual([inProduction]);
    const all: { environment_id: string }[] = (await call('GET', '/audit-log')).json().items;
    expect(new Set(all.map((row) => row.environment_id))).toEqual(new Set([productionScope.environmentId]));
    expect(
      (await call('GET', `/applications/${fresh.applicationSlug}/environments/development/audit-logs`)).statusCode,
    ).toBe(404);

    const nodes = callsOf(
      api,
      fresh.accountSlug,
      await limitedTo(fresh, { application_ids: [], environment_ids: [], node_ids: [await unitOf(fresh)] }),
    );
    const seen = await nodes('GET', `/applications/${fresh.applicationSlug}/environments/development/audit-logs`);
    expect(seen.json().items.map(({ action }: { action: string }) => action)).toEqual(['node.created']);
    expect((await nodes('GET', `/audit-log/${inDevelopment}`)).statusCode).toBe(404);
    expect(scope.environmentId).not.toBe(productionScope.environmentId);
  });

  async function limitedTo(of: TestAccount, limits: object): Promise<Record<string, string>> {
    const headers = await of.as('viewer');
    await api.database.db.transaction('system', async (tx) => {
      const { id } = await tx.findOneByOrFail(AdministratorRole, {
        accountId: of.scope.accountId,
        systemKey: 'viewer',
      });
      const { userId } = JSON.parse(
        Buffer.from(headers.authorization!.split('.')[1] as string, 'base64url').toString(),
        (name, value) => (name === '' ? { userId: value.sub } : value),
      );
      await tx.query(
        'update membership_roles set limits = $3 where role_id = $1 and membership_id = (select id from memberships where account_id = $2 and user_id = $4)',
        [id, of.scope.accountId, limits, userId],
      );
      expect(await tx.countBy(MembershipRole, { roleId: id })).toBeGreaterThan(0);
    });
    return headers;
  }

  async function unitOf(of: TestAccount): Promise<string> {
    const headers = await of.apiKey();
    const [root] = await rowsOf<{ id: string }>(
      api,
      'select id from nodes where environment_id = $1 and parent_node_id is null',
      [of.scope.environmentId],
    );
    const payload = { name: 'Theirs', node_type: 'unit', parent_node_id: root?.id };
    return (await send(api.app, 201, { method: 'POST', url: '/api/v1/nodes', headers, payload })).json().data.id;
  }
});

describe('an export', () => {
  test('has every row that exists when it begins, as JSON or CSV, and is a row itself', async () => {
    const fresh = await newAccount(api);
    const headers = await fresh.apiKey();
    await writeEvents(api, fresh, 1_203, { metadata: `jsonb_build_object('text', 'a "quoted", line' || i)` });
    const filter = 'action=node.updated';
    const listed = (await get(`/audit-logs?${filter}`, 200, headers)).pagination.item_count;
    const json = await send(api.app, 200, { url: `/api/v1/audit-logs/export?${filter}`, headers });
    expect(json.headers['content-type']).toMatch('application/x-ndjson');
    const rows = json.body
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(rows.length).toBe(listed);
    expect(new Set(rows.map(({ id }) => id)).size).toBe(1_203);
    expect(rows.map(({ created_at: at }) => at)).toEqual(rows.map(({ created_at: at }) => at).sort());

    const csv = await send(api.app, 200, { url: `/api/v1/audit-logs/export?format=csv&${filter}`, headers });
    expect(csv.headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': 'attachment; filename="audit-log.csv"',
    });
    const lines = csv.body.trimEnd().split('\r\n');
    expect(lines[0]).toMatch(/^id,account_id,application_id/);
    expect(lines).toHaveLength(1_204);
    expect(lines[1]).toContain('"{""text"":""a \\""quoted\\"", line1""}"');
    const [first] = (await get('/audit-logs?action=audit.exported', 200, headers)).items;
    expect(first).toMatchObject({
      metadata: { format: 'csv', surface: 'all', filters: ['action'] },
      severity: 'notice',
    });
  });

  test('as CSV has no cell that a spreadsheet runs as a formula', async () => {
    const fresh = await newAccount(api);
    const headers = await fresh.apiKey();
    const starts = ['=', '+', '-', '@', '\t', '\r', '\n', '＝'];
    const list = starts.map((start) => `U&'\\${start.charCodeAt(0).toString(16).padStart(4, '0')}cmd'`).join(', ');
    await writeEvents(api, fresh, starts.length, { resource_label: `(array[${list}])[i]` });
    const url = '/api/v1/audit-logs/export?format=csv&action=node.updated';
    const { body } = await send(api.app, 200, { url, headers });
    for (const start of starts) expect(body).toContain(`'${start}cmd`);
  });

  test('loses and repeats nothing while others write, and omits later rows', async () => {
    const fresh = await newAccount(api);
    const place = { accountId: fresh.scope.accountId, surface: 'all', reach: null } as const;
    const wanted = await writeEvents(api, fresh, 1_500);
    const batches = await api.services.auditLog.export(place, { action: 'node.updated' }, 'ndjson');
    const ids: string[] = [];
    for await (const rows of batches) {
      ids.push(...rows.map(({ id }) => id));
      // Between events that were read already and those still to be read.
      await writeEvents(api, fresh, 50, { created_at: `now() - i * interval '100 milliseconds'` });
    }
    expect(ids).toEqual(wanted);
  });

  test('reads no further than its first rows if only the headers are requested', async () => {
    const fresh = await newAccount(api);
    const headers = await fresh.apiKey();
    await writeEvents(api, fresh, 3_000);
    const began = jest.spyOn(api.services.auditLog, 'export');
    for (const method of ['HEAD', 'GET'] as const)
      await send(api.app, 200, { method, url: '/api/v1/audit-logs/export', headers });
    const [head, whole] = await Promise.all(began.mock.results.map(({ value }) => value as AsyncGenerator));
    began.mockRestore();
    expect([(await head?.next())?.done, (await whole?.next())?.done]).toEqual([false, true]); // one not started, one at its end
  });
});
