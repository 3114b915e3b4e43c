import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LightMyRequestResponse } from 'fastify';
import { newMember, rolesByKey } from '../support/administrators.js';
import { newAccount, send, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { allEnded, writeEvents } from '../support/audit-events.js';
import { type Call, callsOf } from '../support/calls.js';
import { newIdentityCaller } from '../support/identity-caller.js';
import { denialsIn } from '../support/retries.js';
import { rowsOf } from '../support/rows.js';
import { newToken } from '../support/scim.js';

/** A caller who loses access while their request arrives, or while it waits, is stopped there as well (contract §5). */

let api: TestApi;
/** Another api on the database with one request a minute; authenticating a caller a second time does not count. */
let strict: TestApi;
let account: TestAccount;
let owner: Call;
let key: Record<string, string>;
beforeAll(async () => {
  api = await startApi();
  const once = { RATE_LIMITS: 'on', REQUESTS_PER_MINUTE_API_KEY: '1', REQUESTS_PER_MINUTE_JWT: '1' };
  strict = await startApi(once, undefined, api.database);
  await strict.app.listen({ host: '127.0.0.1', port: 0 });
});
beforeEach(async () => {
  account = await newAccount(api);
  owner = callsOf(api, account.accountSlug, await account.as('owner'));
  key = await account.apiKey();
});
afterAll(async () => {
  await strict?.stop();
  await api?.stop();
});

interface Sent {
  method: 'POST' | 'PUT' | 'PATCH' | 'GET';
  url: string;
  headers: Record<string, string>;
  payload?: object;
  /** A body that is not JSON, in its place. */
  text?: string;
}

/** Sends the first byte, long enough for its caller to be authenticated, then does something, then sends the rest. */
async function slowly(
  { method, url, headers, payload = {}, text = JSON.stringify(payload) }: Sent,
  meanwhile: () => Promise<unknown>,
): Promise<string> {
  const { port } = strict.app.server.address() as AddressInfo;
  const described = { 'content-type': 'application/json', 'content-length': text.length, ...headers };
  const sent = request({ host: '127.0.0.1', port, path: url, method, headers: described });
  const answer = new Promise<string>((resolve, reject) => {
    sent.on('error', reject);
    sent.on('response', async (response) => {
      const said = JSON.parse(Buffer.concat(await response.toArray()).toString() || '{}');
      resolve([response.statusCode, said.error?.code].filter(Boolean).join(' '));
    });
  });
  sent.write(text.slice(0, 1));
  await sleep(500);
  await meanwhile();
  await sleep(1100);
  sent.end(text.slice(1));
  return answer;
}

const denials = () => denialsIn(api, account.scope.accountId);
const byKey = (method: 'POST' | 'PATCH' | 'DELETE', path: string, payload?: object, status = 200) =>
  send(api.app, status, { method, url: `/api/v1${path}`, headers: key, ...(payload && { payload }) });
const keyNamed = async (body: object): Promise<{ id: string; secret: string }> =>
  (await byKey('POST', '/api-keys', { name: 'Slow', ...body }, 201)).json().data;
const aRole = { name: 'Made slowly', permission_keys: [] };

test('a caller who keeps their permissions is served, however slowly they send, and counted once', async () => {
  const { secret } = await keyNamed({ access_mode: 'full' });
  const headers = { 'x-api-key': secret };
  expect(await slowly({ method: 'POST', url: '/api/v1/roles', headers, payload: aRole }, async () => {})).toBe('201');
});

describe('an API key', () => {
  test.each([
    ['the Public API', '/api/v1/roles', aRole],
    ['the decisions of AuthZEN', '/access/v1/evaluation', { subject: { type: 'identity', id: 'x' } }],
  ])('that is disabled meanwhile does nothing at %s', async (_, url, payload) => {
    const { id, secret } = await keyNamed({ access_mode: 'full' });
    const off = () => byKey('PATCH', `/api-keys/${id}`, { is_active: false });
    expect(await slowly({ method: 'POST', url, headers: { 'x-api-key': secret }, payload }, off)).toBe('401');
  });

  test('that is disabled meanwhile does not learn what exists from a body that cannot be read', async () => {
    const { id: role } = (await byKey('POST', '/roles', aRole, 201)).json().data;
    for (const one of [role, '01890000-0000-7000-8000-000000000000']) {
      const { id, secret } = await keyNamed({ access_mode: 'full' });
      const off = () => byKey('PATCH', `/api-keys/${id}`, { is_active: false });
      const headers = { 'x-api-key': secret };
      expect(await slowly({ method: 'PATCH', url: `/api/v1/roles/${one}`, headers, text: '{"name":' }, off)).toBe(
        '401',
      );
    }
  });
});

/** Creates an end user with every permission. */
const administrator = () => newIdentityCaller(api, account, [{ role: 'Administrator' }]);
const takeRolesOf = (id: string) =>
  rowsOf(api, 'update role_assignments set removed_at = now() where identity_id = $1', [id]);

describe('an end user', () => {
  test('who is deactivated meanwhile is refused', async () => {
    const { id, headers } = await administrator();
    const off = () => byKey('POST', `/identities/${id}/deactivate`, {});
    expect(await slowly({ method: 'POST', url: '/api/v1/roles', headers, payload: aRole }, off)).toBe('401');
  });

  test('whose role is removed while the body arrives is refused, with one row in the audit log', async () => {
    const { id, headers } = await administrator();
    const sent = { method: 'POST', url: '/api/v1/roles', headers, payload: aRole } as const;
    expect(await slowly(sent, () => takeRolesOf(id))).toBe('403 permission.required');
    expect(await denials()).toBe(1);
  });

  test('whose sessions end meanwhile changes nothing of their own', async () => {
    const { id, headers, password } = await administrator();
    const payload = { current_password: password, new_password: 'violet tractor 19' };
    const end = () => byKey('DELETE', `/identities/${id}/sessions`, undefined, 204);
    expect(await slowly({ method: 'PUT', url: '/v1/identity/auth/password', headers, payload }, end)).toBe('401');
  });
});

describe('an administrator', () => {
  const create = (headers: Record<string, string>, more = {}) =>
    ({ method: 'POST', url: account.portalPath('/roles'), headers: { ...headers, ...more }, payload: aRole }) as const;

  test('who is removed from the Account meanwhile finds nothing in it', async () => {
    const { headers, membershipId } = await newMember(api, account, 'admin');
    const remove = () => owner('DELETE', `/members/${membershipId}`);
    expect(await slowly(create(headers), remove)).toBe('404 account.not_found');
  });

  test('whose role is changed meanwhile lacks what it had', async () => {
    const { viewer } = await rolesByKey(owner);
    const { headers, membershipId } = await newMember(api, account, 'admin');
    const change = () => owner('PATCH', `/members/${membershipId}`, { roles: [{ role_id: viewer, limits: null }] });
    expect(await slowly(create(headers), change)).toBe('403 account.capability_required');
    expect(await denials()).toBe(1);
  });

  const endSessions = (userId: string) =>
    rowsOf(api, 'update user_sessions set revoked_at = now() where user_id = $1', [userId]);

  test('whose session ends while the body arrives can change neither their own user nor an Account', async () => {
    for (const sentBy of [
      (headers: Record<string, string>) => create(headers),
      (headers: Record<string, string>) =>
        ({
          method: 'PUT',
          url: '/v1/auth/password',
          headers,
          payload: { current_password: 'x', new_password: 'violet tractor 19' },
        }) as const,
    ]) {
      const { headers, userId } = await newMember(api, account, 'admin');
      expect(await slowly(sentBy(headers), () => endSessions(userId))).toBe('401');
    }
  });

  test('who has had an answer does not get it again, if their session ends while they ask', async () => {
    const { headers, membershipId, userId, call } = await newMember(api, account, 'admin');
    const once = { 'idempotency-key': 'once' };
    const { viewer } = await rolesByKey(owner);
    const payload = { roles: [{ role_id: viewer, limits: null }] };
    expect((await call('PATCH', `/members/${membershipId}`, payload, once)).statusCode).toBe(200);
    const url = `/portal/v1/accounts/${account.accountSlug}/members/${membershipId}`;
    const again = { method: 'PATCH', url, headers: { ...headers, ...once }, payload } as const;
    expect(await slowly(again, () => endSessions(userId))).toBe('401');
  });
});

test('a SCIM token that is revoked meanwhile provisions nobody', async () => {
  const { id, token } = await newToken(api, account);
  const sent = {
    method: 'POST',
    url: '/scim/v2/Users',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/scim+json' },
    payload: { userName: 'slow@example.com' },
  } as const;
  expect(await slowly(sent, () => owner('DELETE', `/scim/tokens/${id}`))).toBe('401');
  expect(await rowsOf(api, `select from identities where email = 'slow@example.com'`)).toEqual([]);
});

describe('the change feed', () => {
  const latest = async () => {
    await allEnded(api);
    const url = '/api/v1/changes?limit=1000';
    return (await send(api.app, 200, { url, headers: key })).json().next_cursor as string;
  };
  /** Starts a reader that has waited until its authentication is outdated; its starting point is read before. */
  async function waiting(headers: Record<string, string>): Promise<{ answer: Promise<LightMyRequestResponse> }> {
    const url = `/api/v1/changes?wait=30&cursor=${await latest()}`;
    const answer = strict.app.inject({ url, headers }).then((response) => response);
    await sleep(1200);
    return { answer };
  }

  test('ends for a key that is disabled while it waits', async () => {
    const { id, secret } = await keyNamed({ access_mode: 'full' });
    const { answer } = await waiting({ 'x-api-key': secret });
    await byKey('PATCH', `/api-keys/${id}`, { is_active: false });
    await sleep(100);
    await byKey('POST', '/roles', aRole, 201);
    expect((await answer).statusCode).toBe(401);
  });

  test('ends for a reader who has lost the permission, once in the audit log', async () => {
    const { id, headers } = await administrator();
    const { answer } = await waiting(headers);
    await takeRolesOf(id);
    await byKey('POST', '/roles', aRole, 201);
    const { statusCode, body } = await answer;
    expect([statusCode, JSON.parse(body).error.code]).toEqual([403, 'permission.required']);
    expect(await denials()).toBe(1);
  });

  test('goes on for a reader who still has it', async () => {
    const { secret } = await keyNamed({ access_mode: 'full' });
    const { answer } = await waiting({ 'x-api-key': secret });
    await byKey('POST', '/roles', aRole, 201);
    expect((await answer).json().items).toMatchObject([{ type: 'role.created' }]);
  });
});

describe('an export', () => {
  /** Reads slowly what a server sends, and does something meanwhile. */
  function readSlowly(
    path: string,
    headers: Record<string, string>,
    meanwhile: () => Promise<unknown>,
  ): Promise<number> {
    const { port } = strict.app.server.address() as AddressInfo;
    const sent = request({ host: '127.0.0.1', port, path, headers });
    const reading = new Promise<number>((resolve, reject) => {
      sent.on('error', reject);
      sent.on('response', async (response) => {
        response.pause();
        await sleep(1100);
        await meanwhile();
        await sleep(100);
        response
          .on('error', reject)
          .on('end', () => resolve(response.statusCode as number))
          .resume();
      });
    });
    sent.end();
    return reading;
  }
  const manyRows = () =>
    writeEvents(api, account, 20_000, { metadata: `jsonb_build_object('padding', repeat('x', 1000))` });

  test('ends where it is when its reader may not read on', async () => {
    await manyRows();
    const { id, secret } = await keyNamed({ access_mode: 'full' });
    const switchOff = () => byKey('PATCH', `/api-keys/${id}`, { is_active: false });
    await expect(readSlowly('/api/v1/audit-logs/export', { 'x-api-key': secret }, switchOff)).rejects.toThrow(
      'aborted',
    );
  });

  test('ends when its reader may see only a part of the Account by now, and goes on for others', async () => {
    await manyRows();
    const { headers, membershipId } = await newMember(api, account, 'admin');
    const other = await newMember(api, account, 'admin');
    const { admin } = await rolesByKey(owner);
    const limits = { application_ids: [account.scope.applicationId] };
    const limit = () => owner('PATCH', `/members/${membershipId}`, { roles: [{ role_id: admin, limits }] });
    const path = account.portalPath('/audit-log/export').replace(/\/applications.*(?=\/audit-log)/, '');
    await expect(readSlowly(path, headers, limit)).rejects.toThrow('aborted');
    expect(await readSlowly(path, other.headers, async () => {})).toBe(200);
  });
});
