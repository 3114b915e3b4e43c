import { execFile } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { createGatehouse, type Gatehouse, GatehouseError } from '../../client/index.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { amidCollections } from '../support/garbage.js';
import { patience } from '../support/patience.js';

let api: TestApi;
let account: TestAccount;
let baseUrl: string;
let apiKey: string;
let gatehouse: Gatehouse;
beforeAll(async () => {
  api = await startApi();
  baseUrl = await api.app.listen({ host: '127.0.0.1', port: 0 });
  account = await newAccount(api);
  apiKey = (await account.apiKey())['x-api-key'] as string;
  gatehouse = createGatehouse({ baseUrl, apiKey });
});
afterAll(() => api?.stop());

const refusalOf = (call: Promise<unknown>): Promise<GatehouseError> =>
  call.then(
    () => Promise.reject(new Error('it was not refused')),
    (error: unknown) => (error instanceof GatehouseError ? error : Promise.reject(error)),
  );

test('a server creates a tree, a role and an identity, and asks what the identity may do, and why', async () => {
  const schema = await gatehouse.get('/api/v1/node-type-schema');
  const node_type = schema.data.node_types.map(({ key }) => key).find((key) => key !== 'organization') ?? '';
  const { data: berlin } = await gatehouse.post('/api/v1/nodes', { body: { node_type, name: 'Berlin' } });
  const { data: role } = await gatehouse.post('/api/v1/roles', {
    body: { name: 'Reader', permission_keys: ['identity.view'] },
  });
  const { data: ana } = await gatehouse.post('/api/v1/identities', {
    body: { email: 'ana@example.com', first_name: 'Ana' },
  });
  const check = { identity_id: ana.id, permission: 'identity.view', node_id: berlin.id };
  const before = await gatehouse.post('/api/v1/authorization/evaluate', { body: check });
  expect(before.data).toEqual({ allowed: false, reason: 'no_assignment' });

  const params = { path: { id: ana.id } };
  await gatehouse.post('/api/v1/identities/{id}/role-assignments', {
    params,
    body: { role_id: role.id, node_id: berlin.id },
  });
  const after = await gatehouse.post('/api/v1/authorization/evaluate', { body: check });
  expect(after.data).toEqual({ allowed: true, reason: 'granted' });
  const bulk = await gatehouse.post('/api/v1/authorization/evaluate/bulk', { body: { checks: [check, check] } });
  expect(bulk.data.results.map(({ allowed }) => allowed)).toEqual([true, true]);
  const { data: why } = await gatehouse.post('/api/v1/authorization/explain', { body: check });
  expect(why.decision).toMatchObject({ role: { name: 'Reader' }, node: { name: 'Berlin' } });
  expect(why.decision?.path.at(-1)?.name).toBe('Berlin');

  const authzen = await gatehouse.post('/access/v1/evaluation', {
    body: {
      subject: { type: 'identity', id: ana.id },
      action: { name: 'identity.view' },
      resource: { type: 'node', id: berlin.id },
    },
  });
  expect(authzen.decision).toBe(true);
});

test('a read sends no Idempotency-Key, and its answer is not stored', async () => {
  const keyed: Record<string, boolean> = {};
  const watched: typeof fetch = (input, init) => {
    const { url, headers } = input as Request;
    keyed[new URL(url).pathname] = headers.has('idempotency-key');
    return fetch(input, init);
  };
  const asking = createGatehouse({ baseUrl, apiKey, fetch: watched });
  const check = { identity_id: crypto.randomUUID(), permission: 'identity.view' };
  await asking.post('/api/v1/authorization/evaluate', { body: check });
  await asking.post('/api/v1/authorization/evaluate/bulk', { body: { checks: [check] } });
  await asking.post('/api/v1/authorization/explain', { body: check });
  const [subject, action, resource] = [
    { type: 'identity', id: check.identity_id },
    { name: check.permission },
    { type: 'node', id: check.identity_id },
  ];
  await asking.post('/access/v1/evaluation', { body: { subject, action, resource } });
  await asking.post('/access/v1/evaluations', { body: { subject, action, evaluations: [{ resource }] } });
  await asking.post('/access/v1/search/resource', { body: { subject, action, resource: { type: 'node' } } });
  await asking.post('/api/v1/roles', { body: { name: 'Keyed' } });
  expect(keyed).toEqual({
    '/api/v1/authorization/evaluate': false,
    '/api/v1/authorization/evaluate/bulk': false,
    '/api/v1/authorization/explain': false,
    '/access/v1/evaluation': false,
    '/access/v1/evaluations': false,
    '/access/v1/search/resource': false,
    '/api/v1/roles': true,
  });
});

test('keys are created, rotated and deleted', async () => {
  const { data: made } = await gatehouse.post('/api/v1/api-keys', {
    body: { name: 'Billing', access_mode: 'scoped', scopes: ['identity.view'] },
  });
  const billing = createGatehouse({ baseUrl, apiKey: made.secret });
  expect((await billing.get('/api/v1/identities')).items.length).toBeGreaterThanOrEqual(0);
  const refused = await refusalOf(billing.post('/api/v1/identities', { body: { email: 'no@example.com' } }));
  expect(refused).toMatchObject({ status: 403, code: 'api_key.scope_required', requestId: expect.any(String) });
  const params = { path: { id: made.id } };
  const { data: rotated } = await gatehouse.post('/api/v1/api-keys/{id}/rotate', { params, body: {} });
  expect(rotated.secret).not.toBe(made.secret);
  expect(await gatehouse.delete('/api/v1/api-keys/{id}', { params })).toBeUndefined();
});

test('a list is read to its end, page by page', async () => {
  const emails = Array.from({ length: 5 }, (_, i) => `page-${i}@example.com`);
  for (const email of emails) await gatehouse.post('/api/v1/identities', { body: { email } });
  const found: string[] = [];
  const query = { q: 'page-', take: 2, sort_by: 'email', order: 'asc' } as const;
  for await (const { email } of gatehouse.all('/api/v1/identities', { params: { query } })) found.push(email);
  expect(found).toEqual(emails);
});

test('a person who is deleted while a list is read makes the list skip nobody', async () => {
  const emails = Array.from({ length: 6 }, (_, i) => `leaver-${i}@example.com`);
  for (const email of emails) await gatehouse.post('/api/v1/identities', { body: { email } });
  const found: string[] = [];
  const query = { q: 'leaver-', take: 2 };
  for await (const { id, email } of gatehouse.all('/api/v1/identities', { params: { query } })) {
    found.push(email);
    await gatehouse.delete('/api/v1/identities/{id}', { params: { path: { id } } });
  }
  expect(found).toEqual(emails.toReversed());
});

test('a program ends once it has its answer, however long its timeout', async () => {
  const client = new URL('../../dist/client/index.js', import.meta.url).href;
  const options = JSON.stringify({ baseUrl, apiKey, timeoutMs: 86_400_000 });
  const program = `const { createGatehouse } = await import('${client}');
    console.log(typeof (await createGatehouse(${options}).get('/api/v1/identities/summary')).data.total);`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
    timeout: patience,
  });
  expect(stdout.trim()).toBe('number');
});

test('an export is returned as a file, unparsed', async () => {
  await gatehouse.post('/api/v1/identities', { body: { email: 'filed@example.com' } });
  const lines = async (format: 'ndjson' | 'csv') =>
    (await text(await gatehouse.get('/api/v1/audit-logs/export', { params: { query: { format } } })))
      .trim()
      .split('\n');
  expect((await lines('ndjson')).map((line) => JSON.parse(line).action)).toContain('identity.created');
  expect((await lines('csv')).length).toBeGreaterThan(1);
});

test('a change with a stale version gets the current one in the error', async () => {
  const { data: role } = await gatehouse.post('/api/v1/roles', { body: { name: 'Editor', permission_keys: [] } });
  const params = { path: { id: role.id }, header: { 'If-Match': `"${role.version}"` } };
  await gatehouse.patch('/api/v1/roles/{id}', { params, body: { name: 'Author' } });
  const conflict = await refusalOf(gatehouse.patch('/api/v1/roles/{id}', { params, body: { name: 'Writer' } }));
  expect(conflict).toMatchObject({ status: 409, code: 'version.conflict', current: { name: 'Author' } });
});

test('an invalid request is explained field by field', async () => {
  const refused = await refusalOf(gatehouse.post('/api/v1/identities', { body: { email: 'nobody' } }));
  expect(refused.code).toBe('validation.failed');
  expect(refused.details).toEqual([expect.objectContaining({ field: 'email', code: 'format' })]);
});

test('an administrator calls the same operations on the Portal API', async () => {
  const { authorization = '' } = await account.as('owner');
  const administrator = createGatehouse({
    baseUrl,
    accessToken: async () => authorization.replace('Bearer ', ''),
    environment: { account: account.accountSlug, application: account.applicationSlug, environment: 'development' },
  });
  const { items } = await administrator.get('/api/v1/identities', { params: { query: { q: 'page-' } } });
  expect(items).toHaveLength(5);
  const members = await administrator.get('/portal/v1/accounts/{accountSlug}/members', {
    params: { path: { accountSlug: account.accountSlug } },
  });
  expect(members.items.length).toBeGreaterThan(0);
});

describe('trouble between client and service', () => {
  let proxy: Server;
  let trouble: ('lose' | 'refuse' | 'hang')[] = [];
  let seen: string[] = [];
  let proxied: string;
  beforeAll(async () => {
    proxy = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      seen.push(String(request.headers['idempotency-key']));
      const next = trouble.shift();
      if (next === 'hang') return;
      if (next === 'refuse') return response.writeHead(503, { 'retry-after': '0' }).end();
      const { method = 'GET', url } = request;
      const headers = { 'x-api-key': apiKey, 'content-type': 'application/json', 'idempotency-key': seen.at(-1) ?? '' };
      const answer = await fetch(`${baseUrl}${url}`, { method, headers, body: Buffer.concat(chunks) });
      if (next === 'lose') return request.socket.destroy();
      return response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => proxy.once('listening', resolve));
    proxied = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  });
  beforeEach(() => {
    seen = [];
  });
  afterAll(() => new Promise((resolve) => proxy.close(resolve)));

  test('a write whose answer is lost is retried, and carried out once', async () => {
    trouble = ['lose', 'refuse'];
    const patient = createGatehouse({ baseUrl: proxied, apiKey });
    const { data } = await patient.post('/api/v1/identities', { body: { email: 'once@example.com' } });
    expect(data.email).toBe('once@example.com');
    expect(seen).toHaveLength(3);
    expect(new Set(seen).size).toBe(1);
  });

  test('a request without an answer ends at its timeout', async () => {
    trouble = ['hang'];
    const bound = createGatehouse({ baseUrl: proxied, apiKey, retries: 0, timeoutMs: 500 });
    const asked = amidCollections(() => bound.get('/api/v1/identities/summary'));
    await expect(asked).rejects.toMatchObject({ name: 'TimeoutError' });
    await expect(
      bound.get('/api/v1/identities/summary', { signal: AbortSignal.abort(new Error('not any more')) }),
    ).rejects.toThrow('not any more');
  });

  test('a caller without retries gets the error', async () => {
    trouble = ['refuse'];
    const impatient = createGatehouse({ baseUrl: proxied, apiKey, retries: 0 });
    const refused = await refusalOf(impatient.post('/api/v1/identities', { body: { email: 'never@example.com' } }));
    expect(refused).toMatchObject({ status: 503, code: null });
  });
});

test('the generated types match the current API', async () => {
  const run = promisify(execFile);
  await expect(run(process.execPath, ['scripts/generate-client.js', '--check'])).resolves.toMatchObject({ stderr: '' });
});
