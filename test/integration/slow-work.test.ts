import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LightMyRequestResponse } from 'fastify';
import pg from 'pg';
import { newMember, rolesByKey, type TestMember } from '../support/administrators.js';
import { outcomeOf } from '../support/answers.js';
import { newAccount, send, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { type Call, callsOf } from '../support/calls.js';
import { untilWaiting } from '../support/lock-waits.js';
import { denialsIn } from '../support/retries.js';
import { rowsOf } from '../support/rows.js';
import { newToken, scimOf } from '../support/scim.js';
import { providerMetadata } from '../support/sso-connections.js';
import { until } from '../support/until.js';

/** A caller who loses access while their request is worked on is stopped there, before any write (contract §5). */

let api: TestApi;
let account: TestAccount;
let owner: Call;
/** Pending requests of the breach check and of a provider: both keep the caller waiting. */
const held: ServerResponse[] = [];
const server = createServer((_request, response) => void held.push(response));
const base = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
beforeAll(async () => {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  api = await startApi({ BREACH_CHECK_URL: `${base()}/range/`, WEBHOOK_ALLOW_PRIVATE_ADDRESSES: 'true' });
});
beforeEach(async () => {
  account = await newAccount(api);
  owner = callsOf(api, account.accountSlug, await account.as('owner'));
});
afterAll(async () => {
  await api?.stop();
  server.close();
});

/**
 * Does something while a request waits for a third party, which answers when the caller's authentication is outdated.
 */
async function slowly(
  ask: () => Promise<LightMyRequestResponse>,
  meanwhile: () => Promise<unknown>,
  answer = '',
): Promise<string> {
  const asked = ask();
  await until('somebody is asked', () => held.length > 0);
  const since = performance.now();
  await meanwhile();
  await sleep(1_020 - (performance.now() - since));
  held.shift()?.end(answer);
  return outcomeOf(await asked);
}

describe('an API key that is disabled while a password is checked', () => {
  const password = 'violet tractor 19';
  const email = () => `slow.${Math.random()}@example.com`;
  const passwordsOf = () =>
    rowsOf(api, 'select from identities where account_id = $1 and password_hash is not null', [
      account.scope.accountId,
    ]);

  test.each([
    ['sets no password', 'PUT', async (id: string) => [`/identities/${id}/password`, { password }] as const],
    ['creates no identity', 'POST', async () => ['/identities', { email: email(), password }] as const],
    [
      'creates none of many identities',
      'POST',
      async () => ['/identities/bulk', { identities: [{ email: email(), password }] }] as const,
    ],
  ] as const)('%s', async (_, method, asking) => {
    const headers = await account.apiKey();
    const by = (verb: 'POST' | 'PATCH', path: string, payload: object, status: number) =>
      send(api.app, status, { method: verb, url: `/api/v1${path}`, headers, payload });
    const { id } = (await by('POST', '/identities', { email: email() }, 201)).json().data;
    const made = (await by('POST', '/api-keys', { name: 'Slow', access_mode: 'full' }, 201)).json().data;
    const [path, payload] = await asking(id);
    const ask = () =>
      api.app
        .inject({ method, url: `/api/v1${path}`, headers: { 'x-api-key': made.secret }, payload })
        .then((answer) => answer);
    const off = () => by('PATCH', `/api-keys/${made.id}`, { is_active: false }, 200);
    expect(await slowly(ask, off)).toBe('401');
    expect(await passwordsOf()).toEqual([]);
  });
});

describe('an administrator who imports metadata by URL', () => {
  let member: TestMember;
  let connection: string;
  beforeEach(async () => {
    member = await newMember(api, account, 'admin');
    const made = await owner('POST', '/sso/connections', { type: 'saml', name: 'Acme' });
    connection = `/sso/connections/${made.json().data.connection.id}`;
  });
  const imported = async (meanwhile: () => Promise<unknown>) => {
    const metadata_url = `${base()}/metadata`;
    const ask = () => member.call('POST', `${connection}/import-metadata`, { metadata_url });
    const came = await slowly(ask, meanwhile, await providerMetadata());
    const { saml_entity_id: entityId } = (await owner('GET', connection)).json().data.connection;
    return [came, entityId === null ? 'as it was' : 'imported'];
  };
  const giveRole = (role_id: string) =>
    owner('PATCH', `/members/${member.membershipId}`, { roles: [{ role_id, limits: null }] });

  test('imports it', async () => {
    expect(await imported(async () => {})).toEqual(['200', 'imported']);
  });

  test('imports nothing when they are removed meanwhile', async () => {
    const remove = () => owner('DELETE', `/members/${member.membershipId}`);
    expect(await imported(remove)).toEqual(['404 account.not_found', 'as it was']);
  });

  test('imports nothing when their role is changed meanwhile, which is one row of the audit log', async () => {
    const { viewer } = await rolesByKey(owner);
    expect(await imported(() => giveRole(viewer!))).toEqual(['403 account.capability_required', 'as it was']);
    expect(await denialsIn(api, account.scope.accountId)).toBe(1);
  });

  test('is checked again when they get another role that is enough', async () => {
    const role = { name: 'Providers', capabilities: ['sso.view', 'sso.manage'] };
    const { id } = (await owner('POST', '/administrator-roles', role)).json().data;
    expect(await imported(() => giveRole(id))).toEqual(['503 service.unavailable', 'as it was']);
  });
});

test('a SCIM token that is revoked while it waits for another change of its directory provisions nobody', async () => {
  const { id, token } = await newToken(api, account);
  const other = new pg.Client(api.database.ownerUrl);
  await other.connect();
  const { environmentId } = account.scope;
  await other.query(`select pg_advisory_lock(hashtextextended('scim/' || $1, 0))`, [environmentId]);
  const asked = scimOf(api, token)('POST', '/Users', { userName: 'slow@example.com' });
  await untilWaiting(api.database.ownerUrl, 1);
  expect((await owner('DELETE', `/scim/tokens/${id}`)).statusCode).toBe(204);
  await sleep(1_100);
  await other.end();
  expect((await asked).statusCode).toBe(401);
  expect(await rowsOf(api, `select from identities where email = 'slow@example.com'`)).toEqual([]);
});
