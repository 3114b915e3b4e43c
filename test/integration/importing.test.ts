import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type OutgoingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '../../src/platform/root.js';
import { newAccount, send, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { runProgram, savePrograms } from '../support/document-programs.js';
import { totpCode } from '../support/mfa.js';
import { patience } from '../support/patience.js';
import { rowsOf } from '../support/rows.js';

/** The programs of `docs/importing.md`, run as a reader copies them from there. */

let api: TestApi;
let account: TestAccount;
let key: Record<string, string>;
let folder: string;
let server: Server;
let origin: string;
/** What happens to a request, by its number from 1. */
let fate: (request: number) => 'answered' | 'refused' | 'unanswered';
let requests: number;
let running: ChildProcess | undefined;
let complaint: string;

beforeAll(async () => {
  api = await startApi();
  account = await newAccount(api);
  key = await account.apiKey(['identity.manage', 'identity.view']);
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-import-'));
  await savePrograms('docs/importing.md', folder);
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const what = fate(++requests);
    if (what === 'refused') return response.writeHead(503, { 'retry-after': '0' }).end();
    const { method, url, headers } = request;
    const payload = Buffer.concat(chunks);
    const answer = await api.app.inject({ method: method as 'POST', url: url as string, headers, payload });
    if (what === 'answered') {
      return response.writeHead(answer.statusCode, answer.headers as OutgoingHttpHeaders).end(answer.payload);
    }
    running?.kill('SIGKILL'); // the request succeeds, and the program does not get the answer
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  running?.kill('SIGKILL');
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true });
  await api.stop();
});
beforeEach(() => {
  fate = () => 'answered';
  requests = 0;
});

/**
 * The keys in the export of `test/support/keycloak`: Ana's as Keycloak 26.7.3 showed it when she enrolled, Carl's as it was
 * given to Keycloak.
 */
const shownByKeycloak = { ana: 'OVJUI6LMGFCUI4BWNBTUWTDKKVIUQ23H', carl: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ' };

const pathOf = (name: string) => join(folder, name);
const lines = async (name: string) => (await readFile(pathOf(name), 'utf8')).split('\n').filter(Boolean);

/** @returns its output at the end; null if it was killed */
async function run(file: string): Promise<Record<string, number> | null> {
  const env = { ...process.env, NODE_OPTIONS: '', GATEHOUSE_URL: origin, GATEHOUSE_API_KEY: key['x-api-key'] };
  running = spawn(process.execPath, ['import.mjs', file], {
    cwd: folder,
    env: { ...env, BATCH_SIZE: '50', AT_ONCE: '2' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  complaint = '';
  running.stdout?.on('data', (chunk) => {
    said += chunk;
  });
  running.stderr?.on('data', (chunk) => {
    complaint += chunk;
  });
  const [code] = await once(running, 'close');
  return code === 0 ? JSON.parse(said) : null;
}

const made = () =>
  rowsOf<{ email: string; has: boolean; events: number }>(
    api,
    `select i.email::text, i.password_hash is not null as has,
       (select count(*)::int from events e where e.resource_id = i.id::text and e.action = 'identity.created') as events
     from identities i where i.account_id = $1 order by 1`,
    [account.scope.accountId],
  );

test(
  'interrupted and started again, it has made everybody once, and says who was refused',
  async () => {
    const emails = Array.from({ length: 500 }, (_, i) => `p${String(i).padStart(3, '0')}@example.com`);
    const people: object[] = emails.map((email) => ({ email, first_name: 'Ana', email_verified: true }));
    people[120] = { email: emails[120], password_hash: `$2b$12$${'a'.repeat(53)}` };
    people[333] = { email: 'no address' };
    await writeFile(pathOf('people.ndjson'), people.map((person) => `${JSON.stringify(person)}\n`).join(''));

    fate = (request) => (request === 2 ? 'refused' : request === 5 ? 'unanswered' : 'answered');
    expect(await run('people.ndjson')).toBeNull();
    expect((await lines('people.ndjson.done')).length).toBeLessThan(10);
    fate = () => 'answered';
    expect(await run('people.ndjson')).toMatchObject({ exists: 0 }); // a lost answer is the same again
    expect((await lines('people.ndjson.done')).map(Number).sort((a, b) => a - b)).toEqual([...Array(10).keys()]);
    const expected = emails.filter((email) => email !== emails[333]);
    expect(await made()).toEqual(expected.map((email) => ({ email, has: email === emails[120], events: 1 })));

    const [failed, ...more] = (await lines('people.ndjson.failed')).map((line) => JSON.parse(line));
    expect(more).toEqual([]);
    expect(failed).toMatchObject({ email: 'no address', error: { code: 'validation.failed' } });
    await writeFile(pathOf('mended.ndjson'), JSON.stringify({ ...failed, email: emails[333] }));
    expect(await run('mended.ndjson')).toEqual({ created: 1, joined: 0, exists: 0, failed: 0 });
    requests = 0;
    expect(await run('people.ndjson')).toEqual({ created: 0, joined: 0, exists: 0, failed: 0 }); // everything is imported
    expect(requests).toBe(0);
  },
  patience,
);

test('an import that begins again from the start reports who was in another Environment before', async () => {
  const [ana, ben] = ['rehearsed@example.com', 'elsewhere@example.com'];
  await api.services.identities.create(account.productionScope, { email: ben, emailVerified: true, password: null });
  await writeFile(pathOf('again.ndjson'), [ana, ben].map((email) => `${JSON.stringify({ email })}\n`).join(''));
  expect(await run('again.ndjson')).toEqual({ created: 1, joined: 1, exists: 0, failed: 0 });
  // Without the second file it is the same import, which was answered already.
  await rm(pathOf('again.ndjson.done'));
  expect(await run('again.ndjson')).toEqual({ created: 1, joined: 1, exists: 0, failed: 0 });
  for (const name of ['again.ndjson.done', 'again.ndjson.run']) await rm(pathOf(name));
  expect(await run('again.ndjson')).toEqual({ created: 0, joined: 0, exists: 2, failed: 0 });
});

test('people of a Keycloak sign in with the password and the authenticator app that they used there', async () => {
  const file = join(projectRoot, 'test/support/keycloak/shop-users-0.json');
  await writeFile(pathOf('shop.ndjson'), await runProgram(folder, {}, 'keycloak.mjs', file));
  expect(await run('shop.ndjson')).toEqual({ created: 4, joined: 0, exists: 0, failed: 1 });
  const failed = (await lines('shop.ndjson.failed')).map((line) => JSON.parse(line));
  expect(failed).toMatchObject([{ email: 'ben@example.com', error: { code: 'mfa.parameters_not_supported' } }]);
  expect(failed[0].error.details.map(({ field }: { field: string }) => field)).toEqual([
    'identities[1].mfa_factors[0].algorithm',
    'identities[1].mfa_factors[0].digits',
  ]);

  const client = { name: 'Shop', client_type: 'public', redirect_uris: ['https://shop.example/cb'] };
  const creating = { url: account.portalPath('/oauth-clients'), headers: await account.as('owner'), payload: client };
  const { client_id } = (await send(api.app, 201, { method: 'POST', ...creating })).json().data;
  const post = (path: string, payload: object) =>
    api.app.inject({ method: 'POST', url: `/v1/identity/auth${path}`, payload });
  const login = (name: string) =>
    post('/login', { client_id, email: `${name}@example.com`, password: `the password of ${name}` });
  for (const [name, key] of Object.entries(shownByKeycloak)) {
    const { mfa_challenge: challenge } = (await login(name)).json().data;
    expect(challenge.available_factors).toContain('totp');
    const code = totpCode(key, api.clock.now);
    const done = await post('/mfa/challenge/totp', { challenge_token: challenge.challenge_token, code });
    expect([name, done.statusCode]).toEqual([name, 200]);
  }
  expect((await login('dora')).json().data).toMatchObject({ requires_mfa_challenge: false, token_type: 'Bearer' });
  expect((await login('emil')).statusCode).toBe(401); // disabled there
  const labels = await rowsOf<{ label: string }>(
    api,
    'select label from mfa_factors where account_id = $1 order by label',
    [account.scope.accountId],
  );
  const longest =
    'Tablet in the office, of which there are two: this is the one with the sticker beside its cameras: 📱';
  expect(labels.map(({ label }) => label)).toEqual(['My phone', longest]); // cut to 100 characters
});

test('an error that no retry can fix ends the import, and is shown', async () => {
  await writeFile(pathOf('other.ndjson'), '{"email":"somebody@example.com"}\n');
  key = { 'x-api-key': 'ghk_test_unknown' };
  expect(await run('other.ndjson')).toBeNull();
  expect([requests, complaint]).toEqual([1, expect.stringContaining('Error: 401: ')]);
});
