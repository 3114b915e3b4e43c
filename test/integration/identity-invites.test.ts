import { v7 as uuidv7 } from 'uuid';
import { identityInviteMails } from '../../src/domain/identity-invites/mails.js';
import { sealing } from '../support/administrators.js';
import { outcomeOf, outcomesOf } from '../support/answers.js';
import { baseUrl, newAccount, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { callsOf } from '../support/calls.js';
import { newIdentityCaller } from '../support/identity-caller.js';
import { inviteTo, linkTokenOf, newAddress, newRole } from '../support/identity-invites.js';
import { type Calls, callsWith, newNode, rootOf } from '../support/nodes.js';
import { databaseTime, eventsSince, rowsOf } from '../support/rows.js';

let api: TestApi;
let account: TestAccount;
let key: Calls;
beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  account = await newAccount(api);
  key = callsWith(api, await account.apiKey());
});
afterAll(() => api.stop());

const path = '/identity-invites';
const days = (count: number) => count * 86_400_000;
const infoOf = async (token: string) =>
  outcomeOf(await api.app.inject({ method: 'POST', url: '/v1/identity/auth/invite-info', payload: { token } }));
const summaryOf = async (call: Calls, query = '') => (await call('GET', `${path}/summary${query}`)).json().data;

test('an invite is created, shown and mailed, and has its process', async () => {
  const role = await newRole(key, ['identity.view']);
  const root = await rootOf(key);
  const since = await databaseTime(api);
  const made = await inviteTo(key, path, { role_id: role, locale: 'de' });
  const { token: _, ...shown } = made;
  expect(shown).toEqual({
    id: made.id,
    email: made.email,
    intent: 'activate',
    first_name: 'Ivo',
    last_name: 'Kern',
    name: 'Ivo Kern',
    locale: 'de',
    role_id: role,
    node_id: root.id,
    environment_id: account.scope.environmentId,
    environment_name: 'Development',
    has_initial_assignment: true,
    status: 'pending',
    ended_reason: null,
    expires_at: new Date(api.clock.now.getTime() + days(7)).toISOString(),
    ended_at: null,
    invited_by: expect.any(String),
    invited_by_type: 'api_key',
    identity_id: null,
    created_at: api.clock.now.toISOString(),
    process: {
      id: made.id,
      state: 'pending',
      next_wake_up: new Date(api.clock.now.getTime() + days(5)).toISOString(), // the reminder
      verbs: ['cancel'],
    },
  });
  expect((await key('GET', `${path}/${made.id}`)).json().data).toEqual(shown);
  const events = await eventsSince(api, account.scope.accountId, since);
  expect(events).toMatchObject([
    {
      action: 'identity_invite.created',
      metadata: { intent: 'activate', role_ids: [role], node_id: root.id },
      application_id: account.scope.applicationId,
      environment_id: account.scope.environmentId,
    },
  ]);
  expect(JSON.stringify(events)).not.toContain(made.email);
  const mails = await rowsOf(api, 'select template, locale, cause from emails where subject_id = $1', [made.id]);
  expect(mails).toEqual([{ template: 'identity-invite', locale: 'de', cause: `identity-invite/${made.id}/link/1` }]);
  const started = await rowsOf(api, `select input from outbox where input->>'inviteId' = $1`, [made.id]);
  expect(started).toMatchObject([
    { input: { kind: 'identity', inviteId: made.id, environmentId: account.scope.environmentId } },
  ]);
  const tables = JSON.stringify(await rowsOf(api, 'select * from identity_invites where id = $1', [made.id]));
  expect(tables).not.toContain(made.token);
});

test('a mail is not sent while the person who now has the address is kept out', async () => {
  const made = await inviteTo(key, path, {});
  const mails = identityInviteMails({ sealing, now: () => api.clock.now, baseUrl });
  const content = () =>
    api.database.db.transaction('system', (tx) => mails['identity-invite-reminder'](tx, made.id, 'en'));
  expect(await content()).toMatchObject({ to: made.email });
  const person = (await key('POST', '/identities', { email: made.email })).json().data;
  const letIn = (isIn: boolean) =>
    rowsOf(api, 'update environment_memberships set is_active = $2 where identity_id = $1', [person.id, isIn]);
  await letIn(false);
  expect(await content()).toBeNull();
  await letIn(true);
  expect(await content()).not.toBeNull();
});

test('an invite to the directory has neither an environment nor a role', async () => {
  const made = await inviteTo(key, path, { intent: 'directory' });
  expect(made).toMatchObject({ intent: 'directory', environment_id: null, environment_name: null, role_id: null });
  const refused = async (body: object) => outcomeOf(await key('POST', path, { email: newAddress(), ...body }));
  const role_id = await newRole(key);
  expect(await refused({ intent: 'directory', role_id })).toBe('400 validation.failed');
  expect(await refused({ node_id: (await rootOf(key)).id })).toBe('400 validation.failed');
  expect(await refused({ intent: 'both' })).toBe('400 validation.failed');
  expect(await refused({ email: 'nobody' })).toBe('400 validation.failed');
  expect(await refused({ colour: 'red' })).toBe('400 validation.failed');
  expect(await refused({ role_id: uuidv7() })).toBe('404 role.not_found');
  expect(await refused({ role_id, node_id: uuidv7() })).toBe('404 nodes.node_not_found');
});

test('an address has one pending invite, and none while it belongs to a member', async () => {
  const email = newAddress();
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) => key('POST', path, { email: i % 2 ? email : email.toUpperCase() })),
  );
  expect(outcomesOf(answers)).toEqual({ 201: 1, '409 identity_invite.already_pending': 19 });
  expect(outcomeOf(await key('POST', path, { email, intent: 'directory' }))).toBe(
    '409 identity_invite.already_pending',
  );

  const member = newAddress();
  const made = (await key('POST', '/identities', { email: member })).json().data;
  expect(outcomeOf(await key('POST', path, { email: member }))).toBe('409 identity_invite.already_member');
  expect(outcomeOf(await key('POST', path, { email: member, intent: 'directory' }))).toBe(
    '409 identity_invite.already_member',
  );
  await key('POST', `/identities/${made.id}/deactivate`);
  expect(outcomeOf(await key('POST', path, { email: member }))).toBe('409 identity_invite.already_member');
  // Elsewhere in the Account the address is free.
  const production = callsWith(api, await account.as('owner'), account.portalPath('', 'production'));
  expect(outcomeOf(await production('POST', path, { email: member }))).toBe('201');
  expect(outcomeOf(await production('POST', path, { email }))).toBe('201');
});

test('a list is filtered by status, environment and text, as of now', async () => {
  const [pending, revoked, expired] = [await inviteTo(key, path), await inviteTo(key, path), await inviteTo(key, path)];
  const directory = await inviteTo(key, path, { intent: 'directory', first_name: 'Dora', last_name: null });
  await inviteTo(key, path, { role_id: await newRole(key) });
  expect(outcomeOf(await key('POST', `${path}/${revoked.id}/revoke`))).toBe('200');
  await rowsOf(api, 'update identity_invites set expires_at = $2 where id = $1', [expired.id, api.clock.now]);
  const ids = async (query: string) =>
    (await key('GET', `${path}?take=100&${query}`)).json().items.map(({ id }: { id: string }) => id);
  expect(await ids('status=revoked')).toEqual([revoked.id]);
  expect(await ids('status=expired')).toEqual([expired.id]);
  expect(await ids('status=accepted')).toEqual([]);
  expect(await ids('status=pending')).toHaveLength(3);
  expect(await ids('environment_id=none')).toEqual([directory.id]);
  expect(await ids(`environment_id=${account.scope.environmentId}`)).toHaveLength(4);
  expect(await ids(`environment_id=${account.productionScope.environmentId}`)).toEqual([]);
  expect(await ids('q=dora')).toEqual([directory.id]);
  expect(await ids(`q=${pending.email.slice(4, 12).toUpperCase()}`)).toEqual([pending.id]);
  expect(await ids('sort_by=email&order=asc')).toHaveLength(5);
  for (const bad of ['status=open', 'environment_id=any', 'sort_by=name', 'take=0'])
    expect(outcomeOf(await key('GET', `${path}?${bad}`))).toBe('400 validation.failed');
  expect((await key('GET', `${path}/${expired.id}`)).json().data).toMatchObject({
    status: 'expired',
    ended_reason: 'not_accepted_in_time',
    ended_at: api.clock.now.toISOString(),
  });
  const counts = {
    total_invites: 5,
    pending_count: 3,
    pending_with_role_count: 1,
    accepted_count: 0,
    expired_count: 1,
    revoked_count: 1,
  };
  expect(await summaryOf(key)).toEqual(counts);

  // The Account shows the invites of all Environments, and each one.
  const portal = callsOf(api, account.accountSlug, await account.as('support'));
  const production = callsWith(api, await account.as('owner'), account.portalPath('', 'production'));
  const elsewhere = await inviteTo(production, path);
  const inAccount = async (query = '') => (await portal('GET', `${path}/summary${query}`)).json().data;
  expect(await inAccount()).toEqual({ ...counts, total_invites: 6, pending_count: 4 });
  const { environmentId } = account.scope;
  expect(await inAccount(`?environment_id=${environmentId}`)).toEqual({
    ...counts,
    total_invites: 4,
    pending_count: 2,
  });
  for (const place of [environmentId, account.productionScope.environmentId, 'none', uuidv7()]) {
    const { total_invites } = await inAccount(`?environment_id=${place}`);
    const { pagination } = (await portal('GET', `${path}?environment_id=${place}`)).json();
    expect([place, total_invites]).toEqual([place, pagination.item_count]);
  }
  expect((await portal('GET', `${path}?environment_id=${account.productionScope.environmentId}`)).json()).toMatchObject(
    {
      items: [{ id: elsewhere.id, environment_name: 'Production' }],
      pagination: { item_count: 1 },
    },
  );
  expect((await portal('GET', path)).json().pagination.item_count).toBe(6);
});

test('a resent invite has another link and a full lifetime, also after its end; the old link is void', async () => {
  const made = await inviteTo(key, path);
  expect(await infoOf(made.token)).toBe('200');
  await rowsOf(api, 'update identity_invites set expires_at = $2 where id = $1', [made.id, api.clock.now]);
  expect(await infoOf(made.token)).toBe('400 invite.link_invalid');
  const again = await key('POST', `${path}/${made.id}/resend`);
  expect(again.json().data).toMatchObject({
    status: 'pending',
    ended_reason: null,
    expires_at: new Date(api.clock.now.getTime() + days(7)).toISOString(),
  });
  expect(await infoOf(made.token)).toBe('400 invite.link_invalid');
  expect(await infoOf(linkTokenOf(made.id, 2))).toBe('200');
  const [news] = await rowsOf<{ input: object }>(
    api,
    `select input from outbox where input->>'inviteId' = $1 and input->>'news' is not null`,
    [made.id],
  );
  expect(news?.input).toMatchObject({ kind: 'identity', news: 'resent' });
  const actions = await rowsOf(
    api,
    `select action, actor_type, is_domain_event from events where resource_id = $1 order by created_at, id`,
    [made.id],
  );
  expect(actions).toEqual([
    { action: 'identity_invite.created', actor_type: 'api_key', is_domain_event: true },
    { action: 'identity_invite.expired', actor_type: 'system', is_domain_event: true },
    { action: 'identity_invite.resent', actor_type: 'api_key', is_domain_event: true },
  ]);
  // Another invite may have replaced it.
  await key('POST', `${path}/${made.id}/revoke`);
  expect(outcomeOf(await key('POST', `${path}/${made.id}/resend`))).toBe('409 identity_invite.not_pending');
  expect(outcomeOf(await key('POST', `${path}/${made.id}/revoke`))).toBe('409 identity_invite.not_pending');
  expect(await infoOf(linkTokenOf(made.id, 2))).toBe('400 invite.link_invalid');
  const late = await inviteTo(key, path);
  // Changed by an operator, whose now() is finer than ours.
  const finer = `update identity_invites set expires_at = $2::timestamptz - interval '7 microseconds' where id = $1`;
  await rowsOf(api, finer, [late.id, api.clock.now]);
  await inviteTo(key, path, { email: late.email });
  expect(outcomeOf(await key('POST', `${path}/${late.id}/resend`))).toBe('409 identity_invite.already_pending');
});

test('a role is offered by a caller who may assign it there, and resent only by such a caller', async () => {
  const [one, other] = [await newNode(key, 'One', null), await newNode(key, 'Other', null)];
  const role = await newRole(key, ['hierarchy.view']);
  const giver = await newRole(key, ['identity.manage', 'identity.view']);
  const local = await newRole(key, ['rbac.assign_roles', 'hierarchy.view']);
  const more = await newRole(key, ['hierarchy.view', 'webhook.view']);
  const caller = await newIdentityCaller(api, account);
  for (const [role_id, node_id] of [
    [giver, null],
    [local, one.id],
  ]) {
    const given = await key('POST', `/identities/${caller.id}/role-assignments`, { role_id, node_id });
    expect(outcomeOf(given)).toBe('201');
  }
  const call = callsWith(api, caller.headers);
  const offer = async (body: object) => outcomeOf(await call('POST', path, { email: newAddress(), ...body }));
  expect(await offer({})).toBe('201');
  expect(await offer({ role_id: role, node_id: one.id })).toBe('201');
  expect(await offer({ role_id: role, node_id: other.id })).toBe('403 permission.required');
  expect(await offer({ role_id: role })).toBe('403 permission.required');
  expect(await offer({ role_id: more, node_id: one.id })).toBe('403 role.cannot_grant');
  const byOthers = await inviteTo(key, path, { role_id: role, node_id: other.id });
  expect(outcomeOf(await call('POST', `${path}/${byOthers.id}/resend`))).toBe('403 permission.required');
  expect(outcomeOf(await call('POST', `${path}/${byOthers.id}/revoke`))).toBe('200');
  const gone = await inviteTo(key, path, { role_id: await newRole(key) });
  expect(outcomeOf(await key('DELETE', `/roles/${gone.role_id}`, undefined, 1))).toBe('204');
  expect(outcomeOf(await key('POST', `${path}/${gone.id}/resend`))).toBe('409 identity_invite.role_deleted');
});

test('reading and writing invites requires the permission, or the capability', async () => {
  const made = await inviteTo(key, path);
  const reading: [string, string, object?][] = [
    ['GET', path],
    ['GET', `${path}/summary`],
    ['GET', `${path}/${made.id}`],
  ];
  const writing: [string, string, object?][] = [
    ['POST', path, { email: newAddress() }],
    ['POST', `${path}/${made.id}/resend`],
    ['POST', `${path}/${made.id}/revoke`],
  ];
  const statuses = async (call: Calls, calls: typeof reading) => {
    const found: number[] = [];
    for (const [method, at, body] of calls) found.push((await call(method as 'GET', at, body)).statusCode);
    return found;
  };
  expect(await statuses(callsWith(api, {}), [...reading, ...writing])).toEqual(Array(6).fill(401));
  expect(await statuses(callsWith(api, await account.apiKey(['hierarchy.view'])), [...reading, ...writing])).toEqual(
    Array(6).fill(403),
  );
  const viewer = callsWith(api, await account.as('viewer'), account.portalPath(''));
  const viewing = callsWith(api, await account.apiKey(['identity.view']));
  for (const call of [viewer, viewing]) {
    expect(await statuses(call, writing)).toEqual([403, 403, 403]);
    expect(await statuses(call, reading)).toEqual([200, 200, 200]);
  }
  const support = callsWith(api, await account.as('support'), account.portalPath(''));
  expect(await statuses(support, writing)).toEqual([201, 200, 200]);
  const account_ = callsOf(api, account.accountSlug, {});
  expect((await account_('GET', `${path}/summary`)).statusCode).toBe(401);
});

test('an invite of another Environment or Account does not exist', async () => {
  const made = await inviteTo(key, path);
  const directory = await inviteTo(key, path, { intent: 'directory' });
  const production = callsWith(api, await account.as('owner'), account.portalPath('', 'production'));
  const other = await newAccount(api);
  const strangers = [production, callsWith(api, await other.apiKey())];
  for (const call of strangers) {
    for (const { id } of [made, directory]) {
      for (const [method, at] of [
        ['GET', ''],
        ['POST', '/resend'],
        ['POST', '/revoke'],
      ] as const) {
        expect(outcomeOf(await call(method, `${path}/${id}${at}`))).toBe('404 identity_invite.not_found');
      }
    }
    expect((await call('GET', `${path}?environment_id=none`)).json().items).toEqual([]);
    expect(await summaryOf(call)).toMatchObject({ total_invites: 0 });
  }
  const portal = callsOf(api, other.accountSlug, await other.as('owner'));
  expect((await portal('GET', path)).json().items).toEqual([]);
  expect(
    (await portal('GET', `${path}/summary?environment_id=${account.scope.environmentId}`)).json().data,
  ).toMatchObject({ total_invites: 0 });
});

test('a write that is repeated with its key is done once', async () => {
  const headers = { ...(await account.apiKey()), 'idempotency-key': uuidv7() };
  const email = newAddress();
  const once = callsWith(api, headers);
  const answers = [await once('POST', path, { email }), await once('POST', path, { email })];
  expect(outcomesOf(answers)).toEqual({ 201: 2 });
  expect(answers[1]?.headers['idempotency-replayed']).toBe('true');
  expect(answers[0]?.json()).toEqual(answers[1]?.json());
});

test('support sees and stops an invite’s process', async () => {
  const made = await inviteTo(key, path);
  const portal = callsOf(api, account.accountSlug, await account.as('support'));
  const { items } = (await portal('GET', `/processes?kind=identity_invite&subject_id=${made.id}`)).json();
  expect(items).toMatchObject([
    {
      id: made.id,
      environment_id: account.scope.environmentId,
      subject_type: 'identity_invite',
      state: 'pending',
      waits_for: 'acceptance',
    },
  ]);
  expect(outcomeOf(await portal('POST', `/processes/${made.id}/cancel`, { reason: 'asked for by mail' }))).toBe('200');
  expect((await key('GET', `${path}/${made.id}`)).json().data).toMatchObject({
    status: 'revoked',
    ended_reason: 'cancelled_by_operator',
  });
  expect(await infoOf(made.token)).toBe('400 invite.link_invalid');
});
