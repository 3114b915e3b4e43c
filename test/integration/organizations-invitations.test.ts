import { v7 as uuidv7 } from 'uuid';
import { outcomeOf, outcomesOf } from '../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { callsOf } from '../support/calls.js';
import { newIdentityCaller } from '../support/identity-caller.js';
import { heldBy, inviteTo, linkTokenOf, newAddress, newRole, signInTo } from '../support/identity-invites.js';
import { untilWaiting } from '../support/lock-waits.js';
import { type Calls, callsWith } from '../support/nodes.js';
import { databaseTime, eventsSince, rowsOf } from '../support/rows.js';

let api: TestApi;
let account: TestAccount;
let key: Calls;
let organization: { id: string; version: number };
let path: string;
beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  account = await newAccount(api);
  key = callsWith(api, await account.apiKey());
  organization = (await key('POST', '/organizations', { name: 'Acme' })).json().data;
  path = `/organizations/${organization.id}/invitations`;
});
afterAll(() => api.stop());

const password = 'violet tractor 19';
const post = (at: string, payload: object) =>
  api.app.inject({ method: 'POST', url: `/v1/identity/auth${at}`, payload });
const accept = (token: string) => post('/accept-invite', { token, password });
const counts = async () => {
  const { member_count, pending_invite_count } = (await key('GET', `/organizations/${organization.id}`)).json().data;
  return { members: member_count, pending: pending_invite_count };
};
const itemsOf = async (query = '') => (await key('GET', `${path}${query}`)).json().items;
const membersOf = (email: string) =>
  rowsOf(
    api,
    `select m.organization_id from organization_members m join identities i on i.id = m.identity_id where i.email = $1`,
    [email],
  );

test('a person is invited with roles, counted, and becomes a member by accepting', async () => {
  const role_ids = [await newRole(key), await newRole(key)].sort();
  const since = await databaseTime(api);
  const made = await inviteTo(key, path, { role_ids });
  const { token: _, ...shown } = made;
  expect(shown).toMatchObject({
    status: 'pending',
    organization_id: organization.id,
    role_ids,
    name: 'Ivo Kern',
    invited_by_type: 'api_key',
  });
  expect(await itemsOf()).toEqual([shown]);
  expect((await key('GET', `${path}/${made.id}`)).json()).toEqual({ data: shown });
  expect(await counts()).toEqual({ members: 0, pending: 1 });
  expect((await post('/invite-info', { token: made.token })).json().data).toMatchObject({
    intent: 'organization',
    organization_name: 'Acme',
    application_name: 'Portal',
    asks_password: true,
  });
  const page = await api.app.inject({ url: `/oauth/invite?token=${made.token}`, headers: { accept: 'text/html' } });
  expect(page.body).toContain('Join Acme');

  const answers = await Promise.all(Array.from({ length: 20 }, () => accept(made.token)));
  expect(outcomesOf(answers)).toEqual({ 200: 1, '400 invite.link_invalid': 19 });
  expect(await counts()).toEqual({ members: 1, pending: 0 });
  expect(await membersOf(made.email)).toEqual([{ organization_id: organization.id }]);
  expect(await heldBy(api, account.scope, made.email)).toEqual(
    role_ids.map((role_id) => ({ role_id, node_id: organization.id })),
  );
  expect(await itemsOf('?status=accepted')).toMatchObject([{ id: made.id, identity_id: expect.any(String) }]);
  const events = (await eventsSince(api, account.scope.accountId, since)).filter(({ action }) =>
    action.startsWith('organization.'),
  );
  expect(events).toMatchObject([
    { action: 'organization.invitation_created', metadata: { invitation_id: made.id, role_ids } },
    { action: 'organization.member_added' },
    { action: 'organization.invitation_accepted', metadata: { invitation_id: made.id, role_ids } },
  ]);
  // The Environment's own list does not contain them.
  expect((await key('GET', '/identity-invites')).json().items).toEqual([]);
  expect(outcomeOf(await key('GET', `/identity-invites/${made.id}`))).toBe('404 identity_invite.not_found');
});

test('a member of the environment joins with their present sign-in', async () => {
  const caller = await newIdentityCaller(api, account);
  const made = await inviteTo(key, path, { email: caller.email });
  expect(outcomeOf(await post('/accept-invite', { token: made.token }))).toBe('200');
  expect(await membersOf(caller.email)).toHaveLength(1);
  expect(await signInTo(api, caller.clientId, caller.email, caller.password)).toBe('200');
  expect(outcomeOf(await key('POST', path, { email: caller.email }))).toBe('409 identity_invite.already_member');
});

test('one invitation per address and organization is pending, besides one of the environment', async () => {
  const email = newAddress();
  const answers = await Promise.all(Array.from({ length: 10 }, () => key('POST', path, { email })));
  expect(outcomesOf(answers)).toEqual({ 201: 1, '409 identity_invite.already_pending': 9 });
  expect(await counts()).toEqual({ members: 0, pending: 1 });
  const other = (await key('POST', '/organizations', { name: 'Other' })).json().data;
  for (const at of ['/identity-invites', `/organizations/${other.id}/invitations`])
    expect(outcomeOf(await key('POST', at, { email }))).toBe('201');
});

test('the count follows each change: expired, resent, revoked', async () => {
  const made = await inviteTo(key, path);
  await rowsOf(api, 'update identity_invites set expires_at = $2 where id = $1', [made.id, api.clock.now]);
  expect(await itemsOf('?status=expired')).toMatchObject([{ id: made.id }]);
  const again = await key('POST', `${path}/${made.id}/resend`);
  expect(again.json().data).toMatchObject({ status: 'pending' });
  expect(await counts()).toEqual({ members: 0, pending: 1 });
  expect(outcomeOf(await accept(made.token))).toBe('400 invite.link_invalid');
  expect(outcomeOf(await key('DELETE', `${path}/${made.id}`))).toBe('204');
  expect(await counts()).toEqual({ members: 0, pending: 0 });
  // An invite that has ended stays as it is, and has no further event.
  expect(outcomeOf(await key('DELETE', `${path}/${made.id}`))).toBe('204');
  expect(outcomeOf(await key('POST', `${path}/${made.id}/resend`))).toBe('409 identity_invite.not_pending');
  expect(outcomeOf(await accept(linkTokenOf(made.id, 2)))).toBe('400 invite.link_invalid');
  const actions = await rowsOf<{ action: string }>(
    api,
    `select action from events where resource_id = $1 and metadata->>'invitation_id' = $2 order by created_at, id`,
    [organization.id, made.id],
  );
  expect(actions.map(({ action }) => action.replace('organization.invitation_', ''))).toEqual([
    'created',
    'expired',
    'resent',
    'revoked',
  ]);
});

test('an invitation that has expired is not counted as waiting, before any worker has noticed', async () => {
  await inviteTo(key, path);
  const made = await inviteTo(key, path);
  const elsewhere = (await key('POST', '/organizations', { name: 'Other' })).json().data;
  await inviteTo(key, `/organizations/${elsewhere.id}/invitations`);
  await rowsOf(api, 'update identity_invites set expires_at = $2 where id = $1', [made.id, api.clock.now]);
  expect(await rowsOf(api, 'select status from identity_invites where id = $1', [made.id])).toEqual([
    { status: 'pending' },
  ]);
  expect(await counts()).toEqual({ members: 0, pending: 1 });
  const listed = async (query: string) =>
    (await key('GET', `/organizations${query}`))
      .json()
      .items.map((one: { id: string; pending_invite_count: number }) => [one.id, one.pending_invite_count]);
  const both = [
    [organization.id, 1],
    [elsewhere.id, 1],
  ];
  expect(await listed('?sort_by=created_at&order=asc')).toEqual(both);
  expect(await listed('?q=acme')).toEqual(both.slice(0, 1));
  const changed = await key('PATCH', `/organizations/${organization.id}`, { name: 'Acme too' }, organization.version);
  expect(changed.json().data.pending_invite_count).toBe(1);
});

test('the deletion of an organization revokes its pending invitations', async () => {
  const made = await inviteTo(key, path);
  const { version } = (await key('GET', `/organizations/${organization.id}`)).json().data;
  expect(outcomeOf(await key('DELETE', `/organizations/${organization.id}`, undefined, version))).toBe('204');
  expect(
    await rowsOf(api, 'select status, ended_reason, organization_id from identity_invites where id = $1', [made.id]),
  ).toEqual([{ status: 'revoked', ended_reason: 'organization_deleted', organization_id: null }]);
  const news = await rowsOf(
    api,
    `select input->>'news' as news from outbox where input->>'inviteId' = $1 and input->>'news' is not null`,
    [made.id],
  );
  expect(news).toEqual([{ news: 'revoked' }]);
  expect(outcomeOf(await accept(made.token))).toBe('400 invite.link_invalid');
});

test('of an acceptance and the organization’s deletion at once, one comes first', async () => {
  for (let i = 0; i < 5; i++) {
    const { id, version } = (await key('POST', '/organizations', { name: `Acme ${i}` })).json().data;
    const made = await inviteTo(key, `/organizations/${id}/invitations`);
    const outcomes = await Promise.all([accept(made.token), key('DELETE', `/organizations/${id}`, undefined, version)]);
    expect(['200', '400 invite.link_invalid']).toContain(outcomeOf(outcomes[0]));
    expect(outcomeOf(outcomes[1])).toBe('204');
    expect(await membersOf(made.email)).toEqual([]);
  }
});

test('deleted roles are left out, and the audit log says so', async () => {
  const [stays, goes] = [await newRole(key), await newRole(key)];
  const made = await inviteTo(key, path, { role_ids: [stays, goes] });
  expect(outcomeOf(await key('DELETE', `/roles/${goes}`, undefined, 1))).toBe('204');
  expect(outcomeOf(await key('POST', `${path}/${made.id}/resend`))).toBe('409 identity_invite.role_deleted');
  expect(outcomeOf(await accept(made.token))).toBe('200');
  expect(await heldBy(api, account.scope, made.email)).toEqual([{ role_id: stays, node_id: organization.id }]);
  const told = await rowsOf<{ metadata: object }>(
    api,
    `select metadata from events where resource_id = $1 and action = 'organization.invitation_role_not_given'`,
    [organization.id],
  );
  expect(told).toMatchObject([{ metadata: { invitation_id: made.id, role_ids: [goes] } }]);
});

test.each(['somebody new', 'a member'])(
  'of the roles of %s, those in force from now on count as given',
  async (who) => {
    const [unheld, current, future, elsewhere] = [
      await newRole(key),
      await newRole(key),
      await newRole(key),
      await newRole(key),
    ];
    const role_ids = [unheld, current, future, elsewhere];
    const made = await inviteTo(key, path, { role_ids });
    const { id } = (await key('POST', '/identities', { email: made.email, email_verified: true })).json().data;
    if (who === 'a member') await key('POST', `/organizations/${organization.id}/members`, { identity_id: id });
    const soon = new Date(api.clock.now.getTime() + 60_000).toISOString();
    const give = async (role_id: string, more: object) =>
      expect(outcomeOf(await key('POST', `/identities/${id}/role-assignments`, { role_id, ...more }))).toBe('201');
    await give(current, { node_id: organization.id, effective_to: soon });
    await give(future, { node_id: organization.id, effective_from: soon });
    await give(elsewhere, { effective_from: soon });
    expect(outcomeOf(await accept(made.token))).toBe('200');
    const told = await rowsOf(
      api,
      `select action, metadata->'role_ids' as role_ids from events where resource_id = $1
         and action in ('organization.invitation_role_not_given', 'organization.invitation_accepted') order by created_at, id`,
      [organization.id],
    );
    expect(told).toEqual([
      { action: 'organization.invitation_role_not_given', role_ids: [future] },
      { action: 'organization.invitation_accepted', role_ids: [unheld, current, elsewhere] },
    ]);
  },
);

test('a person who is removed from the environment does not return by an older invitation', async () => {
  const made = await inviteTo(key, path);
  const { id } = (await key('POST', '/identities', { email: made.email })).json().data;
  expect(outcomeOf(await key('DELETE', `/identities/${id}`))).toBe('204');
  expect(outcomeOf(await accept(made.token))).toBe('400 invite.link_invalid');
  expect(await counts()).toEqual({ members: 0, pending: 0 });
});

test('nor does one who is removed from the organization; their other invitations stay pending', async () => {
  const role = await newRole(key);
  const made = await inviteTo(key, path, { role_ids: [role] });
  const { id: other } = (await key('POST', '/organizations', { name: 'Other' })).json().data;
  const elsewhere = await inviteTo(key, `/organizations/${other}/invitations`, { email: made.email });
  const { id } = (await key('POST', '/identities', { email: made.email })).json().data;
  const members = `/organizations/${organization.id}/members`;
  expect(outcomeOf(await key('POST', members, { identity_id: id, role_ids: [] }))).toBe('201');
  expect(outcomeOf(await key('DELETE', `${members}/${id}`))).toBe('204');
  expect(outcomeOf(await accept(made.token))).toBe('400 invite.link_invalid');
  expect(await counts()).toEqual({ members: 0, pending: 0 });
  const told = `select metadata->>'reason' as reason, is_domain_event as is_in_feed from events
    where action = 'organization.invitation_revoked' and resource_id = $1`;
  expect(await rowsOf(api, told, [organization.id])).toEqual([{ reason: 'member_removed', is_in_feed: true }]);
  expect(await heldBy(api, account.scope, made.email)).toEqual([]);
  expect(outcomeOf(await accept(elsewhere.token))).toBe('200');
  expect(await membersOf(made.email)).toEqual([{ organization_id: other }]);
});

test.each([
  ['whose person is removed from the environment', (id: string) => `/identities/${id}`],
  ['whose person is removed from the organization', (id: string) => `/organizations/${organization.id}/members/${id}`],
])('an invitation that has expired unnoticed stays expired, %s', async (_, removal) => {
  const made = await inviteTo(key, path);
  const { id } = (await key('POST', '/identities', { email: made.email })).json().data;
  await key('POST', `/organizations/${organization.id}/members`, { identity_id: id });
  const over = new Date(api.clock.now.getTime() - 1000);
  await rowsOf(api, 'update identity_invites set expires_at = $2 where id = $1', [made.id, over]);
  const ended = { status: 'expired', ended_reason: 'not_accepted_in_time', ended_at: over.toISOString() };
  expect(await itemsOf()).toMatchObject([ended]);
  expect(outcomeOf(await key('DELETE', removal(id)))).toBe('204');
  expect(await itemsOf()).toMatchObject([ended]);
  expect(await counts()).toEqual({ members: 0, pending: 0 });
  const told = `select action, actor_type from events where resource_id = $1 and metadata->>'invitation_id' = $2
    and action <> 'organization.invitation_created'`;
  expect(await rowsOf(api, told, [organization.id, made.id])).toEqual([
    { action: 'organization.invitation_expired', actor_type: 'system' },
  ]);
});

test('inviting requires permission at the organization, and the permissions to assign the roles', async () => {
  const other = (await key('POST', '/organizations', { name: 'Other' })).json().data;
  const managing = await newRole(key, ['svc:organization.manage', 'hierarchy.view']);
  const offered = await newRole(key, ['hierarchy.view']);
  const caller = await newIdentityCaller(api, account);
  const given = await key('POST', `/identities/${caller.id}/role-assignments`, {
    role_id: managing,
    node_id: organization.id,
  });
  expect(outcomeOf(given)).toBe('201');
  const call = callsWith(api, caller.headers);
  const invite = async (at: string, body: object = {}) =>
    outcomeOf(await call('POST', at, { email: newAddress(), ...body }));
  expect(await invite(path)).toBe('201');
  expect(await invite(`/organizations/${other.id}/invitations`)).toBe('403 permission.required');
  expect(await invite(path, { role_ids: [offered] })).toBe('403 permission.required');
  expect(outcomeOf(await call('GET', path))).toBe('200');
  const theirs = await inviteTo(key, path, { role_ids: [offered] });
  expect(outcomeOf(await call('POST', `${path}/${theirs.id}/resend`))).toBe('403 permission.required');
  expect(outcomeOf(await call('DELETE', `${path}/${theirs.id}`))).toBe('204');

  const viewer = callsWith(api, await account.as('viewer'), account.portalPath(''));
  expect(outcomeOf(await viewer('GET', path))).toBe('200');
  expect(outcomeOf(await viewer('POST', path, { email: newAddress() }))).toBe('403 account.capability_required');
  const owner = callsWith(api, await account.as('owner'), account.portalPath(''));
  expect(outcomeOf(await owner('POST', path, { email: newAddress(), role_ids: [offered] }))).toBe('201');
  expect(outcomeOf(await key('POST', path, { email: newAddress(), role_ids: [uuidv7()] }))).toBe('404 role.not_found');
  const mixed = { email: newAddress(), role_ids: [await newRole(key), uuidv7()] };
  expect(outcomeOf(await key('POST', path, mixed))).toBe('404 role.not_found');
});

test('an invitation is found in its own organization only', async () => {
  const made = await inviteTo(key, path);
  const other = (await key('POST', '/organizations', { name: 'Other' })).json().data;
  const elsewhere = `/organizations/${other.id}/invitations/${made.id}`;
  expect(outcomeOf(await key('GET', elsewhere))).toBe('404 identity_invite.not_found');
  expect(outcomeOf(await key('POST', `${elsewhere}/resend`))).toBe('404 identity_invite.not_found');
  expect(outcomeOf(await key('DELETE', elsewhere))).toBe('404 identity_invite.not_found');
  const production = callsWith(api, await account.as('owner'), account.portalPath('', 'production'));
  for (const [method, at] of [
    ['GET', path],
    ['POST', `${path}/${made.id}/resend`],
    ['DELETE', `${path}/${made.id}`],
  ] as const) {
    expect(outcomeOf(await production(method, at))).toBe('404 organization.not_found');
  }
  expect(outcomeOf(await key('GET', `/organizations/${uuidv7()}/invitations`))).toBe('404 organization.not_found');
});

test('removals of a person who is a member here and invited there, and the other way round, do not deadlock', async () => {
  const other = (await key('POST', '/organizations', { name: 'Other' })).json().data;
  const people: string[] = [];
  for (let i = 0; i < 12; i++) {
    const email = newAddress();
    const identity_id = (await key('POST', '/identities', { email })).json().data.id;
    const [member, invited] = i % 2 === 0 ? [organization, other] : [other, organization];
    const answers = [
      await key('POST', `/organizations/${member.id}/members`, { identity_id }),
      await key('POST', `/organizations/${invited.id}/invitations`, { email }),
    ];
    expect(outcomesOf(answers)).toEqual({ 201: 2 });
    people.push(identity_id);
  }
  const removed = await Promise.all(people.map((id) => key('DELETE', `/identities/${id}`)));
  expect(outcomesOf(removed)).toEqual({ 204: 12 });
  expect(await counts()).toEqual({ members: 0, pending: 0 });
});

test('the link of a person who is locked out of the environment since is void, and sets no password', async () => {
  const made = await inviteTo(key, path);
  const { id } = (await key('POST', '/identities', { email: made.email })).json().data;
  await key('POST', `/identities/${id}/deactivate`);
  expect(outcomeOf(await accept(made.token))).toBe('400 invite.link_invalid');
  const person = 'select password_hash, email_verified_at from identities where id = $1';
  expect(await rowsOf(api, person, [id])).toEqual([{ password_hash: null, email_verified_at: null }]);
  await key('POST', `/identities/${id}/activate`);
  expect(outcomeOf(await accept(made.token))).toBe('200');
});

test("support's cancel locks the organization before the invitation, as everything does", async () => {
  const made = await inviteTo(key, path);
  const owner = callsOf(api, account.accountSlug, await account.as('owner'));
  const { cancelling } = await api.database.db.transaction('system', async (tx) => {
    await tx.query('select from organizations where id = $1 for update', [organization.id]);
    const cancelling = Promise.resolve(owner('POST', `/processes/${made.id}/cancel`, { reason: 'not any more' }));
    await untilWaiting(api.database.ownerUrl, 1, '%from organizations%no key update%');
    // If it were locked already, these two would wait for each other, and PostgreSQL would abort one of them.
    await tx.query('select from identity_invites where id = $1 for update', [made.id]);
    return { cancelling };
  });
  expect((await cancelling).json().data.state).toBe('revoked');
  expect(await counts()).toEqual({ members: 0, pending: 0 });
});
