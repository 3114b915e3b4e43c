import { randomUUID } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { Email } from '../../../entities/email.js';
import { MfaGrace } from '../../../entities/mfa-grace.js';
import { Webhook } from '../../../entities/webhook.js';
import { createErasures } from '../../../src/domain/erasures/erasures.js';
import { kindNames } from '../../../src/domain/processes/kind.js';
import { states } from '../../../src/domain/processes/kinds.js';
import { invite, newMember, rolesByKey, type TestMember } from '../../support/administrators.js';
import { outcomeOf, shape } from '../../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { startApiBesideTemporal } from '../../support/api-beside-temporal.js';
import { type Call, callsOf } from '../../support/calls.js';
import { graceChanges } from '../../support/graces.js';
import { callsWith } from '../../support/nodes.js';
import { nextOf, problemsOfWalks } from '../../support/operations/walks.js';
import { patience } from '../../support/patience.js';
import { rowsOf } from '../../support/rows.js';
import { comingUpon } from '../../support/uncommitted.js';
import { deliver, webhookRow } from '../../support/webhooks.js';

// No workflow runs: the rows answer.
let api: TestApi;
/** The same api without an answer of Temporal. */
let away: TestApi;
let account: TestAccount;
let owner: Call;
let ownerAway: Call;
let support: TestMember;
let roles: Record<string, string>;
const hour = 3_600_000;

beforeAll(async () => {
  api = await startApiBesideTemporal();
  away = await startApi({}, undefined, api.database);
});
afterAll(async () => {
  await away.stop();
  await api.stop();
});
beforeEach(async () => {
  account = await newAccount(api);
  const headers = await account.as('owner');
  owner = callsOf(api, account.accountSlug, headers);
  ownerAway = callsOf(away, account.accountSlug, headers);
  support = await newMember(api, account, 'support');
  roles = await rolesByKey(owner);
});

const anInvite = (body: object = {}) => invite(owner, { role_id: roles.viewer, ...body });
const itemsOf = async (query = '') =>
  (await owner('GET', `/processes${query}`)).json().items as Record<string, unknown>[];
const outbox = (id: string) =>
  rowsOf<{ process: string; input: Record<string, unknown> }>(
    api,
    `select process, input from outbox where input::text like '%' || $1 || '%' order by created_at, id`,
    [id],
  );
const audited = (id: string) =>
  rowsOf(
    api,
    'select action, account_id, application_id, environment_id, actor_id, metadata, is_domain_event from events where resource_id = $1 order by id',
    [id],
  );

async function anEmail(changes: Partial<Email> = {}): Promise<string> {
  const id = uuidv7();
  const email: Email = {
    id,
    accountId: account.scope.accountId,
    environmentId: null,
    template: 'administrator-invite',
    locale: 'en',
    subjectId: uuidv7(),
    recipientId: null,
    cause: `test/${id}`,
    status: 'pending',
    failure: null,
    createdAt: api.clock.now,
    attemptedAt: null,
    endedAt: null,
    ...changes,
  };
  await api.database.db.transaction('system', (tx) => tx.insert(Email, email));
  return id;
}

const anEmailThatIs = (status: string) =>
  anEmail({ status: status as Email['status'], endedAt: status === 'pending' ? null : api.clock.now });

async function aDeliveryThatIs(status: string): Promise<void> {
  const webhook = webhookRow(account.scope);
  await api.database.db.transaction('system', (tx) => tx.insert(Webhook, webhook));
  await deliver(api.database, webhook);
  const settledAt = status === 'pending' ? null : api.clock.now;
  await rowsOf(api, 'update webhook_deliveries set status = $2, settled_at = $3 where webhook_id = $1', [
    webhook.id,
    status,
    settledAt,
  ]);
}

async function aGrace(): Promise<{ id: string; identityId: string }> {
  const [id, identityId] = [uuidv7(), await anIdentity()];
  const { accountId, environmentId } = account.scope;
  await api.database.db.transaction('system', (tx) =>
    tx.insert(MfaGrace, {
      id,
      accountId,
      environmentId,
      identityId,
      status: 'running',
      endedReason: null,
      round: 1,
      startedAt: api.clock.now,
      createdAt: api.clock.now,
      expiresAt: new Date(api.clock.now.getTime() + 7 * 24 * hour),
      endedAt: null,
    }),
  );
  return { id, identityId };
}

async function anIdentity(): Promise<string> {
  const url = account.portalPath('/identities');
  const email = `eva.${randomUUID()}@example.com`;
  const made = await api.app.inject({ method: 'POST', url, headers: await account.as('owner'), payload: { email } });
  return made.json().data.id;
}

test('a grace that begins anew while the list is read by its links keeps its place', async () => {
  const { id, identityId } = await aGrace();
  api.clock.advance(1000);
  await aGrace();
  const page = await owner('GET', '/processes?kind=mfa_grace&take=1');
  api.clock.advance(1000);
  await graceChanges({ db: api.database.db, now: () => api.clock.now }).reset(account.scope, identityId, 7);
  const [next] = await itemsOf(`?${new URLSearchParams(nextOf(page) as Record<string, string>)}`);
  expect(next).toMatchObject({ id, since: api.clock.now.toISOString() });
  api.clock.advance(-2000); // PostgreSQL's clock, by which deliveries are stopped, has not moved
});

test('an invite and its mail are listed with what they wait for and what can be done', async () => {
  const { id, email, expires_at: expiresAt } = await anInvite();
  const answer = await support.call('GET', '/processes');
  expect(outcomeOf(answer)).toBe('200');
  const { items, pagination } = answer.json();
  expect(pagination).toMatchObject({ page: 1, take: 20, item_count: 2, page_count: 1, has_next_page: false });
  const byKind = Object.fromEntries(items.map((item: { kind: string }) => [item.kind, item]));
  expect(byKind.invite).toEqual({
    id,
    kind: 'invite',
    environment_id: null,
    subject_type: 'administrator_invite',
    subject_id: id,
    state: 'pending',
    waits_for: 'acceptance',
    since: shape.created_at,
    next_wake_up: new Date(Date.parse(String(expiresAt)) - 48 * hour).toISOString(), // the reminder
    deadline: expiresAt,
    created_at: shape.created_at,
    ended_at: null,
    ended_reason: null,
    workflow_id: `invite/${id}`,
    verbs: ['cancel', 'resend', 'extend'],
  });
  expect(byKind.email).toMatchObject({
    subject_type: 'administrator_invite',
    subject_id: id,
    state: 'pending',
    waits_for: 'mail_server',
    workflow_id: `email/${byKind.email.id}`,
    verbs: ['cancel'],
  });
  expect(answer.body).not.toContain(email);
});

test('an invite itself shows the same about its process', async () => {
  const { id } = await anInvite();
  const [listed] = await itemsOf('?kind=invite');
  const { state, next_wake_up, verbs } = listed as Record<string, unknown>;
  const same = { id, state, next_wake_up, verbs };
  expect((await owner('GET', `/administrator-invites/${id}`)).json().data.process).toEqual(same);
  expect((await owner('GET', '/administrator-invites')).json().items[0].process).toEqual(same);
  const revoked = await owner('POST', `/administrator-invites/${id}/revoke`);
  expect(revoked.json().data.process).toEqual({ id, state: 'revoked', next_wake_up: null, verbs: [] });
});

test('an end user’s invite, a domain claim and a webhook delivery do so too, and their remains', async () => {
  const environment = callsWith(api, await account.as('owner'), account.portalPath(''));
  const invite = (await environment('POST', '/identity-invites', { email: `${randomUUID()}@example.com` })).json().data;
  const claim = (await owner('POST', '/sso/domains', { domain: `${randomUUID()}.example` })).json().data;
  const hook = { url: 'https://receiver.example/hook', event_types: ['*'] };
  const { id: hookId } = (await environment('POST', '/webhooks', hook)).json().data;
  const delivery = (await environment('POST', `/webhooks/${hookId}/test`)).json().data;
  const reads = {
    identity_invite: async () => (await environment('GET', `/identity-invites/${invite.id}`)).json().data,
    sso_domain: async () => (await owner('GET', `/sso/domains/${claim.domain}`)).json().data,
    webhook_delivery: async () =>
      (await environment('GET', `/webhooks/${hookId}/deliveries/${delivery.id}`)).json().data,
  };
  for (const [kind, read] of Object.entries(reads)) {
    const shown = async () => {
      const [listed] = await itemsOf(`?kind=${kind}`);
      const { id, state, next_wake_up, verbs } = listed as Record<string, unknown>;
      const { process } = await read();
      expect({ kind, process }).toEqual({ kind, process: { id, state, next_wake_up, verbs } });
      return process;
    };
    const { id, state, next_wake_up, verbs } = await shown();
    expect({ kind, state, verbs }).toEqual({ kind, state: 'pending', verbs: ['cancel'] });
    expect(Date.parse(next_wake_up)).toBeGreaterThanOrEqual(api.clock.now.getTime());
    await owner('POST', `/processes/${id}/cancel`, { reason: 'A test' });
    const ended = {
      identity_invite: ['revoked', []],
      sso_domain: ['failed', ['retry']],
      webhook_delivery: ['cancelled', ['retry']],
    };
    const after = await shown();
    expect([after.state, after.verbs, after.next_wake_up]).toEqual([...ended[kind as keyof typeof ended], null]);
  }
});

test('a delivery is not sent again to a disabled subscription, nor to a deleted one', async () => {
  const environment = callsWith(api, await account.as('owner'), account.portalPath(''));
  const hook = { url: 'https://receiver.example/hook', event_types: ['*'] };
  const { id: hookId } = (await environment('POST', '/webhooks', hook)).json().data;
  const { id } = (await environment('POST', `/webhooks/${hookId}/test`)).json().data;
  await environment('PATCH', `/webhooks/${hookId}`, { is_active: false });
  const retry = async () => outcomeOf(await owner('POST', `/processes/${id}/retry`));
  expect(await retry()).toBe('409 webhook.inactive');
  expect((await owner('GET', `/processes/${id}`)).json().data).toMatchObject({ state: 'cancelled' });
  await environment('PATCH', `/webhooks/${hookId}`, { is_active: true });
  expect(await retry()).toBe('200');
  await environment('DELETE', `/webhooks/${hookId}`);
  expect(await retry()).toBe('404 webhook.not_found');
});

test('the list is filtered by kind, state, subject, age and whether it runs, and is paged', async () => {
  const { id } = await anInvite();
  const failed = await anEmail({
    status: 'failed',
    failure: 'the mail server refused it: 550',
    endedAt: api.clock.now,
  });
  const old = await anEmail({ createdAt: new Date(api.clock.now.getTime() - 25 * hour) });
  const ids = async (query: string) => (await itemsOf(query)).map((item) => item.id);
  expect(await ids('?kind=invite')).toEqual([id]);
  expect(await ids('?kind=email&state=failed')).toEqual([failed]);
  expect(await ids('?state=failed')).toEqual([failed]);
  expect(await ids('?older_than=24h')).toEqual([old]);
  expect(await ids('?open=false')).toEqual([failed]);
  expect((await ids(`?subject_id=${id}`)).length).toBe(2);
  expect(await ids(`?q=${id}&kind=invite`)).toEqual([id]);
  expect((await ids(`?q=${id.toUpperCase()}`)).sort()).toEqual((await ids(`?subject_id=${id}`)).sort());
  expect(await ids(`?q=${old.slice(2, 30)}`)).toEqual([old]);
  expect(await ids('?kind=mfa_grace')).toEqual([]);
  const all = await ids('');
  expect(all).toHaveLength(4);
  expect([...(await ids('?take=2')), ...(await ids('?take=2&page=2'))]).toEqual(all);
  expect(await ids('?order=asc')).toEqual([...all].reverse());
});

test('every filter gives the matching part of the whole list, and its total', async () => {
  await Promise.all(['sent', 'sent', 'failed', 'cancelled', 'pending'].map((status) => anEmailThatIs(status)));
  await Promise.all(
    ['succeeded', 'succeeded', 'failed', 'cancelled', 'pending'].map((status) => aDeliveryThatIs(status)),
  );
  await anInvite(); // will have expired unnoticed
  await aGrace(); // will have expired unnoticed too
  api.clock.advance(8 * 24 * hour);
  owner = callsOf(api, account.accountSlug, await account.as('owner')); // the earlier session has expired
  const [revoked, cancelled] = [await anInvite(), await aGrace()];
  await Promise.all([anInvite(), aGrace()]);
  for (const { id } of [revoked, cancelled]) {
    expect(outcomeOf(await owner('POST', `/processes/${id}/cancel`, { reason: 'stop' }))).toBe('200');
  }
  const all = await itemsOf('?take=100');
  expect(new Set(all.map(({ kind, state }) => `${kind} ${state}`))).toEqual(
    new Set([
      ...['sent', 'failed', 'cancelled', 'pending'].map((state) => `email ${state}`),
      ...['succeeded', 'failed', 'cancelled', 'pending'].map((state) => `webhook_delivery ${state}`),
      ...['expired', 'revoked', 'pending'].map((state) => `invite ${state}`),
      ...['expired', 'cancelled', 'running'].map((state) => `mfa_grace ${state}`),
    ]),
  );
  const ask = (query: Record<string, string>) => owner('GET', `/processes?${new URLSearchParams(query)}`);
  for (const kind of [undefined, ...kindNames]) {
    expect([kind, await problemsOfWalks(ask, { ...(kind && { kind }) }, ({ id }) => String(id))]).toEqual([kind, []]);
    for (const state of [undefined, ...states]) {
      for (const open of [undefined, true, false]) {
        const given = Object.entries({ kind, state, open, take: 100 }).filter(([, value]) => value !== undefined);
        const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
        const { items, pagination } = (await owner('GET', `/processes?${query}`)).json();
        const expected = all.filter(
          (one) =>
            (kind ?? one.kind) === one.kind &&
            (state ?? one.state) === one.state &&
            (open ?? one.ended_at === null) === (one.ended_at === null),
        );
        expect({ query: `${query}`, items, total: pagination.item_count }).toEqual({
          query: `${query}`,
          items: expected,
          total: expected.length,
        });
      }
    }
  }
});

test.each([
  'older_than=24',
  'older_than=soon',
  'older_than=9999999d',
  'older_than=999999999h',
  'kind=registration',
  'state=unknown',
  'subject_id=1',
  'take=0',
  'x=1',
])('a list with %s is refused', async (query) => {
  const refused = await owner('GET', `/processes?${query}`);
  expect(outcomeOf(refused)).toBe('400 validation.failed');
  expect(refused.json().error.details).toMatchObject([{ field: `query.${query.split('=')[0]}` }]);
});

test.each(['999999d', '9999999h', '999999999m'])('no process is older than %s', async (age) => {
  await anInvite();
  expect(await itemsOf(`?older_than=${age}`)).toEqual([]);
});

test('registrations, and mails about a person alone, belong to no account', async () => {
  await anEmail({ accountId: null, template: 'password-reset' });
  expect(await itemsOf()).toEqual([]);
});

test('a process is read while Temporal is away, within about two seconds', async () => {
  const { id } = await anInvite();
  const asked = Date.now();
  const answer = await ownerAway('GET', `/processes/${id}`);
  expect(Date.now() - asked).toBeLessThan(patience);
  expect(answer.json().data).toMatchObject({ id, state: 'pending', temporal: null, temporal_state: 'unavailable' });
});

test('a process is cancelled while Temporal is away, and the answer says so', async () => {
  const { id } = await anInvite();
  const answer = await ownerAway('POST', `/processes/${id}/cancel`, { reason: 'sent to the wrong person' });
  expect(answer.json().data).toMatchObject({ id, state: 'revoked', workflow_end: 'temporal_unavailable' });
});

test('a cancelled invite is revoked as by the Temporal UI, with the reason in the audit log', async () => {
  const { id } = await anInvite();
  const answer = await support.call('POST', `/processes/${id}/cancel`, { reason: ' sent to the wrong person ' });
  expect(outcomeOf(answer)).toBe('200');
  expect(answer.json().data).toMatchObject({
    id,
    state: 'revoked',
    waits_for: null,
    next_wake_up: null,
    ended_at: shape.created_at,
    ended_reason: 'cancelled_by_operator',
    verbs: [],
    workflow_end: 'not_running',
  });
  expect((await owner('GET', `/administrator-invites/${id}`)).json().data).toMatchObject({
    status: 'revoked',
    ended_reason: 'cancelled_by_operator',
  });
  expect(await audited(id)).toMatchObject([
    { action: 'administrator_invite.created' },
    { action: 'administrator_invite.revoked', metadata: { reason: 'cancelled_by_operator' } },
    {
      action: 'process.cancelled',
      account_id: account.scope.accountId,
      actor_id: support.userId,
      metadata: { kind: 'invite', subject_id: id, reason: 'sent to the wrong person' },
      is_domain_event: false,
    },
  ]);
  // Temporal receives it when it is back.
  expect((await outbox(id)).at(-1)).toMatchObject({
    process: 'inviteExpiry',
    input: { inviteId: id, news: 'revoked' },
  });
  expect(outcomeOf(await owner('POST', `/processes/${id}/cancel`, { reason: 'again' }))).toBe(
    '409 process.not_running',
  );
});

test('two simultaneous cancels cancel once', async () => {
  const { id } = await anInvite();
  const both = await Promise.all([1, 2].map(() => owner('POST', `/processes/${id}/cancel`, { reason: 'stop' })));
  expect(both.map(outcomeOf).sort()).toEqual(['200', '409 process.not_running']);
  expect((await audited(id)).filter(({ action }) => action === 'process.cancelled')).toHaveLength(1);
});

test('a cancel that is repeated with its Idempotency-Key gets the first answer', async () => {
  const { id } = await anInvite();
  const key = { 'idempotency-key': randomUUID() };
  const cancel = () => owner('POST', `/processes/${id}/cancel`, { reason: 'stop' }, key);
  const [first, second] = [await cancel(), await cancel()];
  expect(second.json()).toEqual(first.json());
});

test.each([
  [{}],
  [{ reason: '' }],
  [{ reason: '   ' }],
  [{ reason: 'x'.repeat(501) }],
  [{ reason: null }],
  [{ reason: 'a', x: 1 }],
])('a cancel with %j is refused, and nothing is cancelled', async (body) => {
  const { id } = await anInvite();
  expect(outcomeOf(await owner('POST', `/processes/${id}/cancel`, body))).toBe('400 validation.failed');
  expect((await itemsOf('?kind=invite'))[0]).toMatchObject({ state: 'pending' });
});

test('a mail is cancelled, and a failed one is sent again', async () => {
  const pending = await anEmail();
  const cancelled = await owner('POST', `/processes/${pending}/cancel`, { reason: 'outdated' });
  expect(cancelled.json().data).toMatchObject({
    state: 'cancelled',
    ended_reason: 'cancelled by an operator',
    verbs: [],
  });
  expect(outcomeOf(await owner('POST', `/processes/${pending}/retry`))).toBe('409 process.not_failed');

  const failure = { status: 'failed', failure: 'the mail server refused it: 550', endedAt: api.clock.now } as const;
  const failed = await anEmail(failure);
  expect((await itemsOf('?state=failed'))[0]).toMatchObject({ id: failed, verbs: ['retry'] });
  const retried = await support.call('POST', `/processes/${failed}/retry`);
  expect(retried.json().data).toMatchObject({
    state: 'pending',
    ended_reason: null,
    ended_at: null,
    verbs: ['cancel'],
  });
  const [asked] = await outbox(failed);
  expect(asked).toMatchObject({ process: 'emailDelivery', input: { emailId: failed, news: 'retried' } });
  expect(asked).not.toHaveProperty('input.isAwaited');
  const code = await anEmail({
    ...failure,
    template: 'sign-in-code',
  });
  await support.call('POST', `/processes/${code}/retry`);
  expect(await outbox(code)).toMatchObject([{ input: { emailId: code, isAwaited: true, news: 'retried' } }]); // a caller may still wait for it
  expect(await audited(failed)).toMatchObject([{ action: 'process.retried', metadata: { kind: 'email' } }]);
});

test('an invite is resent and extended by a caller who may assign what it offers', async () => {
  const { id, expires_at: before } = await anInvite();
  const until = new Date(api.clock.now.getTime() + 20 * 24 * hour).toISOString();
  const extended = await owner('POST', `/processes/${id}/extend`, { until });
  expect(extended.json().data).toMatchObject({ deadline: until, state: 'pending' });
  expect((await outbox(id)).at(-1)).toMatchObject({ input: { news: 'resent', expiresAt: until } });
  expect(await audited(id)).toMatchObject([{}, { action: 'process.extended', metadata: { deadline: until } }]);
  const longer = await owner('POST', `/processes/${id}/extend`, { expires_in: '25d' });
  expect(Date.parse(longer.json().data.deadline)).toBe(api.clock.now.getTime() + 25 * 24 * hour);

  const resent = await owner('POST', `/processes/${id}/resend`);
  expect(resent.json().data).toMatchObject({ state: 'pending', deadline: before });
  expect(outcomeOf(await support.call('POST', `/processes/${id}/resend`))).toBe('403 account.capability_required');
  expect(outcomeOf(await support.call('POST', `/processes/${id}/extend`, { expires_in: '9d' }))).toBe(
    '403 account.capability_required',
  );
  // A 403 is an audit row, wherever it is decided.
  const denied = await rowsOf(
    api,
    `select resource_id from events where action = 'auth.access_denied' and actor_id = $1 order by id`,
    [support.userId],
  );
  expect(denied).toEqual([{ resource_id: 'resendProcess' }, { resource_id: 'extendProcess' }]);
  const admin = await newMember(api, account, 'admin');
  const forAnOwner = await anInvite({ role_id: roles.owner });
  expect(outcomeOf(await admin.call('POST', `/processes/${forAnOwner.id}/extend`, { expires_in: '9d' }))).toBe(
    '403 member.owner_required',
  );
});

test.each([
  [{}],
  [{ expires_in: '9d', until: '2030-01-01T00:00:00.000Z' }],
  [{ expires_in: '1h' }],
  [{ expires_in: '31d' }],
  [{ until: '2001-01-01T00:00:00.000Z' }],
  [{ until: 'tomorrow' }],
  [{ until: '2026-12-31T23:59:60Z' }],
  [{ expires_in: '999999999d' }],
  [{ expires_in: '999999d' }],
])('an extension by %j is refused', async (body) => {
  const { id, expires_at: before } = await anInvite();
  expect(outcomeOf(await owner('POST', `/processes/${id}/extend`, body))).toBe('400 validation.failed');
  expect((await itemsOf('?kind=invite'))[0]).toMatchObject({ deadline: before });
});

test('an extension ends later than the deadline before it, and at most thirty days from now', async () => {
  const { id, expires_at: before } = await anInvite();
  const extend = async (body: object) => (await owner('POST', `/processes/${id}/extend`, body)).json();
  const detailsOf = async (body: object) => {
    const [{ field, code }] = (await extend(body)).error.details;
    return [field, code];
  };
  const at = (base: unknown, ms: number) => new Date(new Date(base as string | Date).getTime() + ms).toISOString();
  expect(await detailsOf({ until: before })).toEqual(['until', 'process.not_later']);
  expect(await detailsOf({ expires_in: '1h' })).toEqual(['expires_in', 'process.not_later']);
  expect(await detailsOf({ until: at(api.clock.now, 30 * 24 * hour + 1) })).toEqual(['until', 'process.too_late']);
  for (const until of [at(before, 1), at(api.clock.now, 30 * 24 * hour)])
    expect((await extend({ until })).data).toMatchObject({ deadline: until });
});

test('an expired invite can be resent, and nothing else', async () => {
  const { id } = await anInvite();
  await rowsOf(api, `update administrator_invites set expires_at = expires_at - interval '8 days' where id = $1`, [id]);
  expect((await itemsOf('?state=expired'))[0]).toMatchObject({
    id,
    state: 'expired',
    waits_for: null,
    ended_reason: 'not_accepted_in_time',
    verbs: ['resend'],
  });
  const outcome = async (verb: string, body?: object) =>
    outcomeOf(await owner('POST', `/processes/${id}/${verb}`, body));
  expect(await outcome('cancel', { reason: 'late' })).toBe('409 process.not_running');
  expect(await outcome('extend', { expires_in: '9d' })).toBe('409 process.not_running');
  expect(await outcome('resend')).toBe('200');
});

test('a kind refuses verbs that it does not have', async () => {
  const [{ id }, mail] = [await anInvite(), await anEmail()];
  const refused = '409 process.verb_not_supported';
  expect(outcomeOf(await owner('POST', `/processes/${id}/retry`))).toBe(refused);
  expect(outcomeOf(await owner('POST', `/processes/${mail}/resend`))).toBe(refused);
  expect(outcomeOf(await owner('POST', `/processes/${mail}/extend`, { expires_in: '1d' }))).toBe(refused);
});

test('the reminders of a grace are stopped and resumed; its deadline stays', async () => {
  const { id, identityId } = await aGrace();
  const [listed] = await itemsOf('?kind=mfa_grace');
  expect(listed).toMatchObject({
    id,
    environment_id: account.scope.environmentId,
    subject_type: 'identity',
    subject_id: identityId,
    state: 'running',
    waits_for: 'factor_enrollment',
    next_wake_up: new Date(Date.parse(String(listed?.deadline)) - 72 * hour).toISOString(),
    workflow_id: `mfa-grace/${account.scope.environmentId}/${identityId}`,
    verbs: ['cancel'],
  });
  const cancelled = await owner('POST', `/processes/${id}/cancel`, { reason: 'on holiday' });
  expect(cancelled.json().data).toMatchObject({ state: 'cancelled', deadline: listed?.deadline, verbs: ['retry'] });
  const retried = await owner('POST', `/processes/${id}/retry`);
  expect(retried.json().data).toMatchObject({ state: 'running', deadline: listed?.deadline });
  expect(await outbox(id)).toMatchObject([
    { process: 'mfaGrace', input: { news: 'policyChanged' } },
    { process: 'mfaGrace', input: { news: 'reset' } },
  ]);
});

test('the events of a role assignment are stopped and resumed; its window stays', async () => {
  const { items } = (
    await api.app.inject({ url: account.portalPath('/roles'), headers: await account.as('owner') })
  ).json();
  const identityId = await anIdentity();
  const inHours = (count: number) => new Date(api.clock.now.getTime() + count * hour).toISOString();
  const [beginning, deadline] = [inHours(2), inHours(95)];
  const made = await api.app.inject({
    method: 'POST',
    url: account.portalPath(`/identities/${identityId}/role-assignments`),
    headers: await account.as('owner'),
    payload: { role_id: items[0].id, effective_from: beginning, effective_to: deadline },
  });
  const id = made.json().data.assignment_id;
  const nextEvent = async () => (await itemsOf('?kind=role_assignment'))[0]?.next_wake_up;
  expect(await nextEvent()).toBe(beginning);
  const toldUntil = (at: string) =>
    rowsOf(api, 'update role_assignment_windows set told_until = $2 where id = $1', [id, at]);
  await toldUntil(beginning);
  expect(await nextEvent()).toBe(inHours(71)); // the notice a day before; for the one a week before there was no time
  await toldUntil(inHours(71));
  const [listed] = await itemsOf('?kind=role_assignment');
  expect(listed).toMatchObject({
    id,
    environment_id: account.scope.environmentId,
    subject_type: 'identity',
    subject_id: identityId,
    deadline,
    next_wake_up: deadline,
    state: 'running',
    waits_for: 'its_next_moment',
    workflow_id: `role-assignment/${id}`,
    verbs: ['cancel'],
  });
  const cancelled = await owner('POST', `/processes/${id}/cancel`, { reason: 'noise' });
  expect(cancelled.json().data).toMatchObject({ state: 'cancelled', deadline, verbs: ['retry'] });
  const retried = await owner('POST', `/processes/${id}/retry`);
  expect(retried.json().data).toMatchObject({ state: 'running', deadline });
  await api.app.inject({
    method: 'DELETE',
    url: account.portalPath(`/identities/${identityId}/role-assignments/${id}`),
    headers: await account.as('owner'),
  });
  expect(await itemsOf('?kind=role_assignment')).toMatchObject([{ state: 'removed', verbs: [] }]);
  expect((await outbox(id)).map(({ process, input: { news } }) => [process, news])).toEqual([
    ['roleAssignmentWindow', undefined],
    ['roleAssignmentWindow', 'changed'],
    ['roleAssignmentWindow', 'resumed'],
    ['roleAssignmentWindow', 'changed'],
  ]);
  const told = await audited(id);
  // A person who may read the log of that environment, or of its application, finds what support did there.
  const { applicationId: application_id, environmentId: environment_id } = account.scope;
  expect(told.find(({ action }) => action === 'process.cancelled')).toMatchObject({ application_id, environment_id });
  expect(told.map(({ action }) => action)).toEqual([
    'role_assignment.created',
    'role_assignment.window_cancelled',
    'process.cancelled',
    'process.retried',
    'role_assignment.deleted',
  ]);
});

describe('an erasure', () => {
  /** Starts an erasure of a person of the Environment, which support has halted. */
  async function halted() {
    const identityId = await anIdentity();
    const erasures = createErasures({ db: api.database.db, now: () => api.clock.now });
    const { id } = await erasures.request(account.scope, identityId);
    const cancelled = await owner('POST', `/processes/${id}/cancel`, { reason: 'asked to keep it' });
    expect(cancelled.json().data).toMatchObject({ state: 'cancelled', subject_id: identityId, verbs: ['retry'] });
    return { id, identityId };
  }
  const retry = (id: string) => owner('POST', `/processes/${id}/retry`);
  const stands = async (identityId: string) =>
    (
      await rowsOf(
        api,
        `select e.status, m.is_active from erasures e left join environment_memberships m on m.identity_id = e.identity_id
         where e.identity_id = $1`,
        [identityId],
      )
    )[0];

  test('is cancelled with what is left, and continues after a retry', async () => {
    const { id } = await halted();
    expect(await rowsOf(api, 'select rest from erasures where id = $1', [id])).toMatchObject([
      { rest: { identity: true } },
    ]);
    expect((await retry(id)).json().data).toMatchObject({ state: 'running', waits_for: 'its_next_step' });
    expect((await outbox(id)).at(-1)).toMatchObject({ process: 'identityErasure', input: { erasureId: id } });
  });

  test('that was cancelled, perhaps without Temporal’s knowledge, is not resumed while Temporal does not answer', async () => {
    const { id, identityId } = await halted();
    const removed = () => ownerAway('DELETE', `/identities/${identityId}`);
    for (const ask of [removed, () => ownerAway('POST', `/processes/${id}/retry`)]) {
      const answer = await ask();
      expect([outcomeOf(answer), Number(answer.headers['retry-after']) > 0]).toEqual(['503 service.unavailable', true]);
      expect(await stands(identityId)).toMatchObject({ status: 'cancelled' });
    }
    expect(outcomeOf(await owner('DELETE', `/identities/${identityId}`))).toBe('204');
    expect(await stands(identityId)).toMatchObject({ status: 'running' });
  });

  test('that was cancelled cannot continue for a person who was let in again', async () => {
    const { id, identityId } = await halted();
    const activated = await api.app.inject({
      method: 'POST',
      url: account.portalPath(`/identities/${identityId}/activate`),
      headers: await account.as('owner'),
    });
    expect(outcomeOf(activated)).toBe('200');
    expect(outcomeOf(await retry(id))).toBe('409 process.not_failed');
    expect(await stands(identityId)).toEqual({ status: 'cancelled', is_active: true });
  });

  test('nor for a person who is added again, whatever happened then, or at this moment', async () => {
    const joined = `insert into environment_memberships (id, account_id, environment_id, identity_id, is_active, created_at)
      values (gen_random_uuid(), $1, $2, $3, $4, $5)`;
    for (const isActive of [true, false]) {
      const { id, identityId } = await halted();
      await rowsOf(api, 'delete from environment_memberships where identity_id = $1', [identityId]);
      api.clock.advance(1000);
      const { accountId, environmentId } = account.scope;
      const answer = await comingUpon(
        api.database,
        (tx) => tx.query(joined, [accountId, environmentId, identityId, isActive, api.clock.now]),
        () => retry(id),
      );
      expect(outcomeOf(answer)).toBe('409 process.not_failed');
      expect(await stands(identityId)).toEqual({ status: 'cancelled', is_active: isActive });
    }
  });
});

test('processes are hidden from strangers, callers without the capability, and other accounts', async () => {
  const [{ id }, mail] = [await anInvite(), await anEmail()];
  const stranger = callsOf(api, account.accountSlug, {});
  const viewer = await newMember(api, account, 'viewer');
  const other = await newAccount(api);
  const neighbour = callsOf(api, other.accountSlug, await other.as('owner'));
  const verbs = [
    ['GET', '/processes'],
    ...[id, mail].flatMap((one) => [
      ['GET', `/processes/${one}`],
      ['POST', `/processes/${one}/cancel`, { reason: 'stop' }],
      ['POST', `/processes/${one}/retry`],
      ['POST', `/processes/${one}/resend`],
      ['POST', `/processes/${one}/extend`, { expires_in: '9d' }],
    ]),
  ] as Parameters<Call>[];
  for (const call of verbs) {
    expect(outcomeOf(await stranger(...call))).toBe('401');
    if (call[0] === 'POST') expect(outcomeOf(await viewer.call(...call))).toBe('403 account.capability_required');
    if (call[1] !== '/processes') expect(outcomeOf(await neighbour(...call))).toBe('404 process.not_found');
  }
  expect((await neighbour('GET', '/processes')).json().items).toEqual([]);
  const withoutAny = await owner('POST', '/administrator-roles', { name: 'Reader', capabilities: ['members.view'] });
  const reader = await newMember(api, account, { roleId: withoutAny.json().data.id });
  expect(outcomeOf(await reader.call('GET', '/processes'))).toBe('403 account.capability_required');
  expect((await itemsOf('?open=true')).length).toBe(3);
  expect(outcomeOf(await owner('GET', `/processes/${randomUUID()}`))).toBe('404 process.not_found');
  expect(outcomeOf(await owner('GET', '/processes/none'))).toBe('404 process.not_found');
});
