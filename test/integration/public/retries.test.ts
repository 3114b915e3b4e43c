import { hours } from '../../../src/platform/clock.js';
import { sealing } from '../../support/administrators.js';
import { ageKeys } from '../../support/age-keys.js';
import { outcomeOf } from '../../support/answers.js';
import { newAccount, send, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import type { Call } from '../../support/calls.js';
import { holdRoles, newIdentityCaller } from '../../support/identity-caller.js';
import { denialsIn, key, sentTwice } from '../../support/retries.js';
import { rowsOf } from '../../support/rows.js';

/** An end user's permission can end by their own request; its retry is answered all the same (docs/decisions/0010). */

let api: TestApi;
let account: TestAccount;
let byKey: Call;
beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  account = await newAccount(api);
  byKey = callsAs(await account.apiKey());
});
afterAll(() => api?.stop());

const callsAs =
  (headers: Record<string, string>): Call =>
  (method, path, payload, more = {}) =>
    api.app.inject({ method, url: `/api/v1${path}`, headers: { ...headers, ...more }, ...(payload && { payload }) });
const made = async (path: string, payload: object) => {
  const answer = await byKey('POST', path, payload);
  if (answer.statusCode !== 201) throw new Error(answer.body);
  return answer.json().data;
};
const denials = () => denialsIn(api, account.scope.accountId);
const twice = (call: Call, ...sent: Parameters<Call>) => sentTwice(api, account.scope.accountId, call, ...sent);
const version = (of: { version: number }) => ({ 'if-match': String(of.version) });

/** Creates an end user with one new role at a node (at the root if none is given). */
async function holder(permissions: string[], nodeId?: string) {
  const role = await made('/roles', { name: `Role of ${permissions.join(', ')}`, permission_keys: permissions });
  const caller = await newIdentityCaller(api, account);
  await holdRoles(api, account.scope, caller.id, [{ role: role.name, ...(nodeId && { nodeId }) }]);
  const [{ id: assignmentId } = { id: '' }] = await rowsOf<{ id: string }>(
    api,
    'select id from role_assignments where identity_id = $1 and removed_at is null',
    [caller.id],
  );
  return { ...caller, role, assignmentId, call: callsAs(caller.headers) };
}

describe('a retry is answered like the first time although', () => {
  test('the caller has deactivated the node at which they hold their role', async () => {
    const node = await made('/nodes', { name: 'Team', node_type: 'unit' });
    const { call } = await holder(['hierarchy.manage'], node.id);
    const inactive = { status: 'inactive' };
    expect(outcomeOf(await twice(call, 'PATCH', `/nodes/${node.id}`, inactive, version(node)))).toBe('200');
    const before = await denials();
    const other = { ...version(node), 'idempotency-key': 'other' };
    expect(outcomeOf(await call('PATCH', `/nodes/${node.id}`, inactive, other))).toBe('403 permission.required');
    expect(await denials()).toBe(before + 1);
  });

  describe('in an organization of theirs', () => {
    const organized = async () => {
      const organization = await made('/organizations', { name: 'Customer' });
      const member = await holder(['svc:organization.manage', 'rbac.assign_roles'], organization.id);
      await made(`/organizations/${organization.id}/members`, { identity_id: member.id });
      return { organization, ...member, path: `/organizations/${organization.id}` };
    };

    test('they have left it', async () => {
      const { call, path, id } = await organized();
      expect(outcomeOf(await twice(call, 'DELETE', `${path}/members/${id}`))).toBe('204');
    });

    test('they have given up their role there', async () => {
      const { call, path, id } = await organized();
      expect(outcomeOf(await twice(call, 'PATCH', `${path}/members/${id}`, { role_ids: [] }))).toBe('200');
    });

    test('they have deleted it', async () => {
      const { call, path, organization } = await organized();
      expect(outcomeOf(await twice(call, 'DELETE', path, undefined, version(organization)))).toBe('204');
      expect(outcomeOf(await call('DELETE', path, undefined, version(organization)))).toBe(
        '404 organization.not_found',
      );
    });
  });

  test('the caller has given up their only role', async () => {
    const one = await holder(['rbac.assign_roles']);
    const path = `/identities/${one.id}/role-assignments/${one.assignmentId}`;
    expect(outcomeOf(await twice(one.call, 'DELETE', path))).toBe('204');
    const several = await holder(['rbac.assign_roles', 'rbac.view_roles']);
    const all = { assignment_ids: [several.assignmentId] };
    expect((await twice(several.call, 'DELETE', '/role-assignments', all)).json().items).toMatchObject([
      { status: 'removed' },
    ]);
  });

  test('the role by which the caller may do it is disabled', async () => {
    const { call, role } = await holder(['rbac.manage_roles']);
    const off = { is_active: false };
    expect(outcomeOf(await twice(call, 'PATCH', `/roles/${role.id}`, off, version(role)))).toBe('200');
  });

  test('the role by which the caller may do it has lost its permissions', async () => {
    const { call, role } = await holder(['rbac.manage_roles']);
    const none = { permission_keys: [] };
    expect(outcomeOf(await twice(call, 'PUT', `/roles/${role.id}/permissions`, none, version(role)))).toBe('200');
  });
});

test('nobody else gets an answer by that key, nor the caller once their sessions have ended', async () => {
  const { id, call, role } = await holder(['rbac.manage_roles']);
  const sent = ['PATCH', `/roles/${role.id}`, { is_active: false }, { ...version(role), ...key }] as const;
  expect(outcomeOf(await call(...sent))).toBe('200');
  const stranger = await newIdentityCaller(api, account);
  expect(outcomeOf(await callsAs(stranger.headers)(...sent))).toBe('403 permission.required');
  await send(api.app, 204, {
    method: 'DELETE',
    url: `/api/v1/identities/${id}/sessions`,
    headers: await account.apiKey(),
  });
  expect(outcomeOf(await call(...sent))).toBe('401');
});

test('a key that is free after its day stands for the new request alone', async () => {
  const [one, other] = [
    { name: 'Editor', description: 'Edits' },
    { name: 'Writer', description: 'Writes' },
  ];
  const create = (payload: object) => byKey('POST', '/roles', payload, { 'idempotency-key': 'a-day-later' });
  expect(outcomeOf(await create(one))).toBe('201');
  await ageKeys(api.database.ownerUrl, hours(24));
  const answer = await create(other);
  expect([answer.statusCode, answer.json().data.name]).toEqual([201, 'Writer']);
  for (const same of [other, { description: 'Writes', name: 'Writer' }]) {
    const again = await create(same);
    expect([again.body, again.headers['idempotency-replayed']]).toEqual([answer.body, 'true']);
  }
  expect(outcomeOf(await create(one))).toBe('400 idempotency.key_reused');
  const kept = await rowsOf(
    api,
    `select locked_until > now() as "isLocked", expires_at > now() + interval '23 hours' as "isNew"
     from idempotent_requests where key = 'a-day-later'`,
  );
  expect(kept).toEqual([{ isLocked: true, isNew: true }]);
});

describe('a retry is recognized although its client serializes it anew:', () => {
  const first = { name: 'Editor', description: 'Edits', permission_keys: ['identity.view', 'hierarchy.view'] };
  const { permission_keys: keys, ...described } = first;
  const create = (payload: object) => byKey('POST', '/roles', payload, key);
  const reused = '400 idempotency.key_reused';

  test('members in another order, but not elements, and nothing else', async () => {
    const made = await create(first);
    expect(outcomeOf(made)).toBe('201');
    const again = await create({ permission_keys: keys, ...described });
    expect([again.body, again.headers['idempotency-replayed']]).toEqual([made.body, 'true']);
    expect(outcomeOf(await create({ ...first, permission_keys: [...keys].reverse() }))).toBe(reused);
    expect(outcomeOf(await create({ ...first, description: null }))).toBe(reused);
  });

  test('a version in another form, but no other version', async () => {
    const { id } = await made('/roles', first);
    const rename = (version: string) =>
      byKey('PATCH', `/roles/${id}`, { name: 'Writer' }, { ...key, 'if-match': version });
    const renamed = await rename('"1"');
    expect(outcomeOf(renamed)).toBe('200');
    for (const same of ['1', 'W/"1"', '"1"']) expect((await rename(same)).body).toBe(renamed.body);
    expect(outcomeOf(await rename('2'))).toBe(reused);
  });

  test('answers that the previous release stored are valid, it knows those of this one, and none answers another request', async () => {
    const { id } = await made('/roles', first);
    const sent = { name: 'Writer', description: null };
    const patch = (payload: object, version: string) =>
      byKey('PATCH', `/roles/${id}`, payload, { 'idempotency-key': 'of-before', 'if-match': version });
    expect(outcomeOf(await patch(sent, '"1"'))).toBe('200');
    const kept = "select credential, request_hash as hash from idempotent_requests where key = 'of-before'";
    const [row] = await rowsOf<{ credential: string; hash: Buffer }>(api, kept, []);
    if (!row) throw new Error('nothing is kept');
    const asSent = (payload: object) => {
      const text = `PATCH\n/api/v1/roles/${id}\n"1"\n${JSON.stringify(payload)}`;
      return sealing.derive('idempotent-request', `idempotent-request/${row.credential}/of-before\n${text}`).secret;
    };
    expect(row.hash).toEqual(asSent(sent));

    // The previous release reuses a row for another request without updating how its hash was made.
    const other = { description: null, name: 'Reader' };
    const takeOver = 'update idempotent_requests set request_hash = $1 where credential = $2 returning 1';
    expect(await rowsOf(api, takeOver, [asSent(other), row.credential])).toHaveLength(1);
    expect((await patch(other, '"1"')).headers['idempotency-replayed']).toBe('true');
    expect(outcomeOf(await patch(sent, '"1"'))).toBe(reused);
  });
});
