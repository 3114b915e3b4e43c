import { jest } from '@jest/globals';
import { EntityManager } from 'typeorm';
import { createAdministratorInviteExpiry } from '../../../src/domain/administrator-invites/expiry.js';
import { dbWithin } from '../../../src/platform/database/db-within.js';
import { invite, newMember, newPerson, rolesByKey, tokenOf } from '../../support/administrators.js';
import { outcomeOf, outcomesOf, shape } from '../../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { type Call, callsOf } from '../../support/calls.js';
import { databaseTime, eventsSince, rowsOf } from '../../support/rows.js';
import { comingUpon } from '../../support/uncommitted.js';

let api: TestApi;
let account: TestAccount;
let owner: Call;
let roles: Record<string, string>;
const day = 86_400_000;
beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  account = await newAccount(api);
  owner = callsOf(api, account.accountSlug, await account.as('owner'));
  roles = await rolesByKey(owner);
});
afterAll(() => api.stop());

const path = '/administrator-invites';
const person = { email: 'Ivo@Example.com', first_name: 'Ivo', last_name: 'Kern' };
const info = async (token: string) =>
  outcomeOf(await api.app.inject({ method: 'POST', url: '/v1/auth/invite-info', payload: { token } }));
const accept = async (token: string) => {
  const payload = { token, first_name: 'Ivo', last_name: 'Kern', password: 'violet tractor 19' };
  return outcomeOf(await api.app.inject({ method: 'POST', url: '/v1/auth/accept-invite', payload }));
};
const queued = (id: string) =>
  rowsOf<{ process: string; input: Record<string, unknown> }>(
    api,
    `select process, input from outbox where input->>'inviteId' = $1 or input->>'subjectId' = $1 order by created_at, id`,
    [id],
  );

test('an invite is pending for seven days, mailed, and has its process', async () => {
  const since = await databaseTime(api);
  const limits = { environment_ids: [account.scope.environmentId] };
  const made = await owner('POST', path, { ...person, role_id: roles.developer, limits, locale: 'de' });
  expect(outcomeOf(made)).toBe('201');
  const { data } = made.json();
  const stored = { application_ids: [], environment_ids: [account.scope.environmentId], node_ids: [] };
  expect(data).toEqual({
    id: shape.id,
    ...person,
    role_id: roles.developer,
    role_name: 'Developer',
    limits: stored,
    locale: 'de',
    status: 'pending',
    ended_reason: null,
    expires_at: new Date(api.clock.now.getTime() + 7 * day).toISOString(),
    ended_at: null,
    invited_by: account.userId,
    member_id: null,
    created_at: api.clock.now.toISOString(),
    process: expect.objectContaining({ id: data.id, state: 'pending' }),
  });
  expect((await owner('GET', `${path}/${data.id}`)).json()).toEqual({ data });
  expect(await queued(data.id)).toMatchObject([
    { process: 'emailDelivery', input: { subjectId: data.id, accountId: account.scope.accountId } },
    {
      process: 'inviteExpiry',
      input: {
        kind: 'administrator',
        inviteId: data.id,
        accountId: account.scope.accountId,
        expiresAt: data.expires_at,
        reminderAt: new Date(api.clock.now.getTime() + 5 * day).toISOString(),
      },
    },
  ]);
  const mails = await rowsOf(api, 'select template, locale, cause from emails where subject_id = $1', [data.id]);
  expect(mails).toEqual([
    { template: 'administrator-invite', locale: 'de', cause: `administrator-invite/${data.id}/link/1` },
  ]);
  const events = await eventsSince(api, account.scope.accountId, since);
  expect(events.map(({ action, metadata }) => [action, metadata])).toEqual([
    ['administrator_invite.created', { role_id: roles.developer, limits: stored }],
  ]);
});

test('the status is computed, and can be filtered and searched', async () => {
  const made: Record<string, { id: string; token: string }> = {};
  for (const status of ['expired', 'accepted', 'revoked'])
    made[status] = await invite(owner, { role_id: roles.viewer });
  await accept(made.accepted?.token as string);
  await owner('POST', `${path}/${made.revoked?.id}/revoke`);
  api.clock.advance(7 * day);
  owner = callsOf(api, account.accountSlug, await account.as('owner'));
  made.pending = await invite(owner, { first_name: 'Zoë', role_id: roles.viewer });
  const list = async (query: string) => (await owner('GET', `${path}?${query}`)).json();
  for (const [status, { id }] of Object.entries(made)) {
    const { items, pagination } = await list(`status=${status}`);
    expect(items.map((item: { id: string; status: string }) => [item.id, item.status])).toEqual([[id, status]]);
    expect(pagination.item_count).toBe(1);
  }
  expect((await list('q=zo%C3%AB%20ke')).items).toHaveLength(1);
  expect((await list('q=IVO.')).items).toHaveLength(4);
  expect((await list('sort_by=expires_at&order=desc')).items[0].id).toBe(made.pending.id);
});

test('one address has one pending invite, also when twenty are created at once; an expired one prevents no other', async () => {
  const ask = (email: string) => owner('POST', path, { ...person, email, role_id: roles.viewer });
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) => ask(i % 2 ? 'ivo@example.com' : person.email)),
  );
  expect(outcomesOf(answers)).toEqual({ 201: 1, '409 administrator_invite.already_pending': 19 });
  const neighbour = await newAccount(api);
  const foreign = callsOf(api, neighbour.accountSlug, await neighbour.as('owner'));
  await invite(foreign, { ...person, role_id: (await rolesByKey(foreign)).viewer });
  api.clock.advance(7 * day);
  owner = callsOf(api, account.accountSlug, await account.as('owner'));
  const since = await databaseTime(api);
  expect(outcomeOf(await ask(person.email))).toBe('201');
  const events = await eventsSince(api, account.scope.accountId, since);
  expect(events.map(({ action }) => action)).toEqual(['administrator_invite.expired', 'administrator_invite.created']);
  const { items } = (await owner('GET', path)).json();
  expect(items.map(({ status }: { status: string }) => status)).toEqual(['pending', 'expired']);
});

test('a member cannot be invited again', async () => {
  const member = await newMember(api, account, 'viewer');
  const again = await owner('POST', path, { ...person, email: member.email.toUpperCase(), role_id: roles.admin });
  expect(outcomeOf(again)).toBe('409 member.already_member');
});

test('after a resend the old link is void, the new one has a full lifetime, and its process is told', async () => {
  const made = await invite(owner, { role_id: roles.viewer });
  api.clock.advance(3 * day);
  owner = callsOf(api, account.accountSlug, await account.as('owner'));
  const since = await databaseTime(api);
  const resent = await owner('POST', `${path}/${made.id}/resend`);
  expect(outcomeOf(resent)).toBe('200');
  const expiresAt = new Date(api.clock.now.getTime() + 7 * day).toISOString();
  expect(resent.json().data).toMatchObject({ status: 'pending', expires_at: expiresAt });
  expect(await info(made.token)).toBe('400 invite.link_invalid');
  expect(await accept(made.token)).toBe('400 invite.link_invalid');
  expect(await info(tokenOf(made.id, 2))).toBe('200');
  const [, , mail, news] = await queued(made.id);
  expect(mail?.process).toBe('emailDelivery');
  expect(news).toMatchObject({ process: 'inviteExpiry', input: { news: 'resent', expiresAt } });
  const events = await eventsSince(api, account.scope.accountId, since);
  expect(events.map(({ action }) => action)).toEqual(['administrator_invite.resent']);
  expect(await accept(tokenOf(made.id, 2))).toBe('200');
});

test('an expired invite is pending again when it is resent, unless another one replaced it', async () => {
  const made = await invite(owner, { role_id: roles.viewer });
  api.clock.advance(7 * day);
  owner = callsOf(api, account.accountSlug, await account.as('owner'));
  expect((await owner('GET', `${path}/${made.id}`)).json().data).toMatchObject({
    status: 'expired',
    ended_reason: 'not_accepted_in_time',
    ended_at: made.expires_at,
  });
  expect(await accept(made.token)).toBe('400 invite.link_invalid');
  expect(outcomeOf(await owner('POST', `${path}/${made.id}/revoke`))).toBe('409 administrator_invite.not_pending');
  // Changed by an operator, whose now() is finer than ours.
  const finer = `update administrator_invites set expires_at = expires_at - interval '7 microseconds' where id = $1`;
  await rowsOf(api, finer, [made.id]);
  const second = await invite(owner, { email: made.email, role_id: roles.viewer });
  expect(outcomeOf(await owner('POST', `${path}/${made.id}/resend`))).toBe('409 administrator_invite.already_pending');
  await owner('POST', `${path}/${second.id}/revoke`);
  expect((await owner('POST', `${path}/${made.id}/resend`)).json().data).toMatchObject({
    status: 'pending',
    ended_at: null,
  });
  expect(await accept(tokenOf(made.id, 2))).toBe('200');
  expect(outcomeOf(await owner('POST', `${path}/${second.id}/resend`))).toBe('409 administrator_invite.not_pending');
});

test('a revoked invite lets nobody in and stays revoked', async () => {
  const made = await invite(owner, { role_id: roles.viewer });
  const since = await databaseTime(api);
  const revoked = await owner('POST', `${path}/${made.id}/revoke`);
  expect(revoked.json().data).toMatchObject({ status: 'revoked', ended_reason: 'revoked_by_administrator' });
  for (const verb of ['revoke', 'resend']) {
    expect(outcomeOf(await owner('POST', `${path}/${made.id}/${verb}`))).toBe('409 administrator_invite.not_pending');
  }
  expect(await accept(made.token)).toBe('400 invite.link_invalid');
  expect((await queued(made.id)).at(-1)).toMatchObject({ input: { news: 'revoked' } });
  const events = await eventsSince(api, account.scope.accountId, since);
  expect(events.map(({ action }) => action)).toEqual(['administrator_invite.revoked']);
});

test('whoever is removed does not return by an earlier invite to their address; a later one lets them in', async () => {
  const made = await invite(owner, { role_id: roles.viewer });
  const elsewhere = await newAccount(api);
  const there = callsOf(api, elsewhere.accountSlug, await elsewhere.as('owner'));
  const other = await invite(there, { role_id: (await rolesByKey(there)).viewer, email: made.email });
  const person = await newPerson(api, { email: made.email.toUpperCase(), passwordHash: 'none' });
  const member = await newMember(api, account, 'support', person); // as an operator makes an Owner
  const since = await databaseTime(api);
  expect(outcomeOf(await owner('DELETE', `/members/${member.membershipId}`))).toBe('204');
  expect(await accept(made.token)).toBe('400 invite.link_invalid');
  const { data } = (await owner('GET', `${path}/${made.id}`)).json();
  expect(data).toMatchObject({ status: 'revoked', ended_reason: 'member_removed' });
  expect((await queued(made.id)).at(-1)).toMatchObject({ input: { news: 'revoked' } });
  const events = await eventsSince(api, account.scope.accountId, since);
  expect(events.map(({ action }) => action)).toEqual(['administrator_invite.revoked', 'member.removed']);

  const again = await invite(owner, { role_id: roles.viewer, email: made.email });
  expect(await accept(again.token)).toBe('200');
  expect(await accept(other.token)).toBe('200');
});

test('of an acceptance and a revocation at once, one takes effect', async () => {
  for (let round = 0; round < 5; round++) {
    const made = await invite(owner, { role_id: roles.viewer });
    const outcomes = await Promise.all([
      accept(made.token),
      owner('POST', `${path}/${made.id}/revoke`).then(outcomeOf),
    ]);
    expect(['200,409 administrator_invite.not_pending', '400 invite.link_invalid,200']).toContain(outcomes.join());
    const members = await rowsOf(
      api,
      `select from events where action = 'member.added' and metadata->>'invite_id' = $1`,
      [made.id],
    );
    expect(members).toHaveLength(outcomes[0] === '200' ? 1 : 0);
  }
});

test('an invite that its process or support ends at this moment is neither accepted nor resent', async () => {
  const now = () => api.clock.now;
  for (const other of ['accept', 'resend'] as const) {
    const made = await invite(owner, { role_id: roles.viewer });
    const since = await databaseTime(api);
    const outcome = await comingUpon(
      api.database,
      (tx) => createAdministratorInviteExpiry({ db: dbWithin(tx), now }).cancel(made.id, 'cancelled_by_operator'),
      async () =>
        other === 'accept' ? accept(made.token) : outcomeOf(await owner('POST', `${path}/${made.id}/resend`)),
    );
    const refusals = { accept: '400 invite.link_invalid', resend: '409 administrator_invite.not_pending' };
    expect(outcome).toBe(refusals[other]);
    expect((await owner('GET', `${path}/${made.id}`)).json().data.status).toBe('revoked');
    const events = await eventsSince(api, account.scope.accountId, since);
    expect(events.map(({ action }) => action)).toEqual(['administrator_invite.revoked']);
  }
});

test('an expired invite stays expired if support ends its process', async () => {
  const made = await invite(owner, { role_id: roles.viewer });
  const over = new Date(api.clock.now.getTime() - 1000);
  await rowsOf(api, 'update administrator_invites set expires_at = $2 where id = $1', [made.id, over]);
  const expiry = createAdministratorInviteExpiry({ db: api.database.db, now: () => api.clock.now });
  expect(await expiry.cancel(made.id, 'cancelled_by_operator')).toMatchObject({ status: 'expired' });
  const ended = { status: 'expired', ended_reason: 'not_accepted_in_time', ended_at: over.toISOString() };
  expect((await owner('GET', `${path}/${made.id}`)).json().data).toMatchObject(ended);
});

test('a role that an invite offers cannot be deleted until the invite has ended', async () => {
  const role = (await owner('POST', '/administrator-roles', { name: 'Temp', capabilities: [] })).json().data;
  const made = await invite(owner, { role_id: role.id });
  const remove = () => owner('DELETE', `/administrator-roles/${role.id}`).then(outcomeOf);
  expect(await remove()).toBe('409 administrator_role.in_use');
  api.clock.advance(7 * day);
  owner = callsOf(api, account.accountSlug, await account.as('owner'));
  expect(await remove()).toBe('204');
  expect(outcomeOf(await owner('POST', `${path}/${made.id}/resend`))).toBe('409 administrator_invite.role_deleted');
  expect((await owner('GET', `${path}/${made.id}`)).json().data).toMatchObject({ role_id: null, role_name: null });
});

test('nobody can invite to more than they hold, nor resend what they could not assign', async () => {
  const admin = await newMember(api, account, 'admin');
  const made = await invite(owner, { role_id: roles.owner });
  expect(outcomeOf(await admin.call('POST', path, { ...person, role_id: roles.owner }))).toBe(
    '403 member.owner_required',
  );
  expect(outcomeOf(await admin.call('POST', `${path}/${made.id}/resend`))).toBe('403 member.owner_required');
  const small = await owner('POST', '/administrator-roles', { name: 'Head', capabilities: ['members.manage'] });
  const head = await newMember(api, account, { roleId: small.json().data.id });
  expect(outcomeOf(await head.call('POST', path, { ...person, role_id: roles.viewer }))).toBe(
    '403 administrator_role.cannot_grant',
  );
  expect(await info(made.token)).toBe('200'); // not used up
});

test('a call without the capability, for another account’s invite, or with invalid input is refused', async () => {
  const made = await invite(owner, { role_id: roles.viewer });
  const neighbour = await newAccount(api);
  const viewer = await newMember(api, account, 'viewer');
  const support = await newMember(api, account, 'support');
  const ask = (call: Call) =>
    Promise.all([
      call('GET', path),
      call('GET', `${path}/${made.id}`),
      call('POST', path, { ...person, role_id: roles.viewer }),
      call('POST', `${path}/${made.id}/resend`),
      call('POST', `${path}/${made.id}/revoke`),
    ]).then((answers) => answers.map(outcomeOf));
  const refused = '403 account.capability_required';
  expect(await ask(callsOf(api, account.accountSlug, {}))).toEqual(Array(5).fill('401'));
  expect(await ask(support.call)).toEqual(Array(5).fill(refused));
  expect(await ask(viewer.call)).toEqual(['200', '200', refused, refused, refused]);
  const missing = '404 administrator_invite.not_found';
  // Our role does not exist for them.
  const foreign = await ask(callsOf(api, neighbour.accountSlug, await neighbour.as('owner')));
  expect(foreign).toEqual(['200', missing, '400 validation.failed', missing, missing]);
  const good = { ...person, role_id: roles.viewer };
  for (const [field, body] of [
    ['email', { ...good, email: 'nobody' }],
    ['first_name', { ...good, first_name: ' ' }],
    ['last_name', { ...good, last_name: undefined }],
    ['role_id', { ...good, role_id: '0192f0c1-1111-7abc-8def-1234567890ab' }],
    ['limits', { ...good, limits: { node_ids: [] } }],
    ['limits.node_ids[0]', { ...good, limits: { node_ids: [roles.viewer] } }],
    ['locale', { ...good, locale: 'fr' }],
    ['status', { ...good, status: 'accepted' }],
  ] as const) {
    const answer = await owner('POST', path, body);
    expect(answer.json().error.details[0].field).toBe(field);
  }
  expect(outcomeOf(await owner('GET', `${path}?status=lost`))).toBe('400 validation.failed');
});

test('a list reads the roles of its invites, and no others of the Account', async () => {
  await invite(owner, { email: 'ivo@example.com', role_id: roles.viewer });
  const find = jest.spyOn(EntityManager.prototype, 'findBy');
  const { items } = (await owner('GET', path)).json();
  const read = await Promise.all(find.mock.results.map(({ value }) => value as Promise<{ id: string }[]>));
  find.mockRestore();
  expect(items).toMatchObject([{ role_name: 'Viewer' }]);
  expect(read.flat().map(({ id }) => id)).toEqual([roles.viewer]);
});
