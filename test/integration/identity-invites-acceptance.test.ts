import { v7 as uuidv7 } from 'uuid';
import { settleNewPassword } from '../../src/domain/passwords/new-password.js';
import { outcomeOf, outcomesOf } from '../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { credentialsOf, noCredentials, plantFactors } from '../support/credentials.js';
import { expectDeadLinks, foreignTokens } from '../support/dead-links.js';
import { newIdentityCaller } from '../support/identity-caller.js';
import { heldBy, inviteTo, linkTokenOf, newAddress, newRole, signInTo } from '../support/identity-invites.js';
import { type Calls, callsWith, newNode, rootOf } from '../support/nodes.js';
import { newPublicClient } from '../support/public-client.js';
import { databaseTime, eventsSince, rowsOf } from '../support/rows.js';
import { comingUpon } from '../support/uncommitted.js';

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
const query = <Row extends object>(text: string, values: unknown[]) => rowsOf<Row>(api, text, values);
const password = 'violet tractor 19';
const post = (at: string, payload: object, headers: Record<string, string> = {}) =>
  api.app.inject({ method: 'POST', url: `/v1/identity/auth${at}`, payload, headers });
const accept = (token: string, body: object = {}) => post('/accept-invite', { token, password, ...body });
const info = async (token: string) => (await post('/invite-info', { token })).json().data;
const newClient = async ({ scope }: Pick<TestAccount, 'scope'> = account): Promise<string> =>
  (await newPublicClient(api, scope)).clientId;
const personWith = async (email: string) =>
  (
    await rowsOf<{ id: string; first_name: string; last_name: string; password_hash: string; verified: boolean }>(
      api,
      `select id, first_name, last_name, password_hash, email_verified_at is not null as verified from identities
       where account_id = $1 and email = $2`,
      [account.scope.accountId, email],
    )
  )[0];
const membershipsOf = (email: string) =>
  rowsOf<{ environment_id: string; is_active: boolean }>(
    api,
    `select m.environment_id, m.is_active from environment_memberships m join identities i on i.id = m.identity_id
     where i.account_id = $1 and i.email = $2`,
    [account.scope.accountId, email],
  );
/** Returns the event's list of an invite's roles after its acceptance. */
const rolesToldOf = (inviteId: string) =>
  rowsOf(
    api,
    `select action, metadata->'role_ids' as role_ids from events where resource_id = $1
       and action in ('identity_invite.role_not_given', 'identity_invite.accepted') order by created_at, id`,
    [inviteId],
  );
const identityCount = async () => (await key('GET', '/identities/summary')).json().data.total;

test('a new person becomes a verified identity with the role, and can sign in', async () => {
  const node = await newNode(key, 'Hall', null);
  const role_id = await newRole(key);
  const made = await inviteTo(key, path, { role_id, node_id: node.id });
  expect(await info(made.token)).toEqual({
    email: made.email,
    first_name: 'Ivo',
    last_name: 'Kern',
    intent: 'activate',
    application_name: 'Portal',
    environment_name: 'Development',
    organization_name: null,
    invited_by_name: expect.stringContaining('acme-'),
    asks_names: true,
    asks_password: true,
    password_min_length: 8,
  });
  const since = await databaseTime(api);
  const accepted = await accept(made.token, { first_name: ' Ivan ' });
  expect([accepted.statusCode, accepted.json()]).toEqual([200, { data: { message: expect.any(String) } }]);
  expect(accepted.cookies).toEqual([]);
  const person = await personWith(made.email);
  expect(person).toMatchObject({ first_name: 'Ivan', last_name: 'Kern', verified: true });
  expect(await heldBy(api, account.scope, made.email)).toEqual([{ role_id, node_id: node.id }]);
  const events = await eventsSince(api, account.scope.accountId, since);
  expect(await signInTo(api, await newClient(), made.email.toUpperCase(), password)).toBe('200');
  expect((await key('GET', `${path}/${made.id}`)).json().data).toMatchObject({
    status: 'accepted',
    identity_id: person?.id,
    ended_reason: null,
  });
  expect(await identityCount()).toBe(1);
  expect(events).toMatchObject([
    { action: 'identity.created', actor_id: person?.id, metadata: { joined: false, invited: true } },
    { action: 'role_assignment.created', actor_id: person?.id },
    { action: 'identity_invite.accepted', actor_id: person?.id, metadata: { identity_id: person?.id } },
  ]);
  const news = await rowsOf<{ input: object }>(api, `select input from outbox where input->>'news' = 'accepted'`);
  expect(news.at(-1)?.input).toMatchObject({ kind: 'identity', inviteId: made.id });
  expect((await key('GET', `${path}/summary`)).json().data).toMatchObject({ total_invites: 1, accepted_count: 1 });
});

test('twenty acceptances at once accept once', async () => {
  const made = await inviteTo(key, path, { role_id: await newRole(key) });
  const answers = await Promise.all(Array.from({ length: 20 }, () => accept(made.token)));
  expect(outcomesOf(answers)).toEqual({ 200: 1, '400 invite.link_invalid': 19 });
  expect(await membershipsOf(made.email)).toHaveLength(1);
  expect(await heldBy(api, account.scope, made.email)).toHaveLength(1);
  expect(await identityCount()).toBe(1);
});

test('every unusable token is refused alike, whatever is wrong with it', async () => {
  const [accepted, revoked, resent, expired, removed] = [
    await inviteTo(key, path),
    await inviteTo(key, path),
    await inviteTo(key, path),
    await inviteTo(key, path),
    await inviteTo(key, path),
  ];
  expect(outcomeOf(await accept(accepted.token))).toBe('200');
  await key('POST', `${path}/${revoked.id}/revoke`);
  await key('POST', `${path}/${resent.id}/resend`);
  await rowsOf(api, 'update identity_invites set expires_at = $2 where id = $1', [expired.id, api.clock.now]);
  // A person who joined otherwise and was removed does not return by an older link.
  const { id } = (await key('POST', '/identities', { email: removed.email })).json().data;
  await key('DELETE', `/identities/${id}`);
  const tokens = {
    accepted: accepted.token,
    revoked: revoked.token,
    resent: resent.token,
    expired: expired.token,
    removed: removed.token,
    'of nobody': linkTokenOf(account.userId),
    ...foreignTokens(linkTokenOf(resent.id, 2)),
  };
  await expectDeadLinks(tokens, [
    (token) => post('/invite-info', { token }),
    (token) => accept(token),
    (token) => accept(token, { password: 'x' }),
  ]);
  expect((await key('GET', `${path}/${removed.id}`)).json().data).toMatchObject({
    status: 'revoked',
    ended_reason: 'identity_deleted',
  });
  expect(outcomeOf(await accept(linkTokenOf(resent.id, 2)))).toBe('200');
  for (const body of [{}, { token: 7 }, { token: null }, []])
    expect(outcomeOf(await post('/invite-info', body))).toBe('400 validation.failed');
});

test('a person with a verified sign-in joins with it unchanged', async () => {
  const production = callsWith(api, await account.as('owner'), account.portalPath('', 'production'));
  const caller = await newIdentityCaller(api, account);
  await query('update identities set verified_by_word = false where id = $1', [caller.id]); // they have proved it
  const before = await personWith(caller.email);
  const made = await inviteTo(production, path, { email: caller.email.toUpperCase() });
  expect(await info(made.token)).toMatchObject({ asks_names: false, asks_password: false });
  expect(outcomeOf(await accept(made.token, { first_name: 'Eve', password: 'another secret phrase' }))).toBe('200');
  expect(await personWith(caller.email)).toEqual(before);
  expect(await membershipsOf(caller.email)).toHaveLength(2);
  const clientId = await newClient({ scope: account.productionScope });
  expect(await signInTo(api, clientId, caller.email, caller.password)).toBe('200');
  expect(await signInTo(api, clientId, caller.email, 'another secret phrase')).toBe('401');
});

test('a person who has not proved the address does so by accepting; a password and factors set by others end', async () => {
  const other = callsWith(api, await account.as('owner'), account.portalPath('', 'production'));
  const [withPassword, without] = [newAddress(), newAddress()];
  await other('POST', '/identities', { email: withPassword, password: 'an imported phrase', first_name: 'Guess' });
  await other('POST', '/identities', { email: without });
  for (const email of [withPassword, without]) {
    const { id } = (await personWith(email)) as { id: string };
    await plantFactors(query, id);
    const made = await inviteTo(key, path, { email });
    expect(await info(made.token)).toMatchObject({ asks_names: true, asks_password: true });
    expect(outcomeOf(await accept(made.token, { password: undefined }))).toBe('400 validation.failed');
    expect(outcomeOf(await accept(made.token, { first_name: 'Ivan' }))).toBe('200');
    expect(await personWith(email)).toMatchObject({ first_name: 'Ivan', verified: true });
    expect(await credentialsOf(query, id)).toEqual(noCredentials);
    expect(await signInTo(api, await newClient(), email, password)).toBe('200');
  }
  // Otherwise its creator could sign in as a person with more permissions.
  expect(await signInTo(api, await newClient(), withPassword, 'an imported phrase')).toBe('401');
});

describe('accepting proves the address of a person who is only claimed to have it', () => {
  const said = { email_verified: true, password: 'an imported phrase', first_name: 'Guess' };
  const inProduction = async () => callsWith(api, await account.as('owner'), account.portalPath('', 'production'));

  test('also of one created for tests, who enters production for the first time', async () => {
    const production = await inProduction();
    const email = newAddress();
    expect(outcomeOf(await key('POST', '/identities', { email, ...said }))).toBe('201');
    const { id } = (await personWith(email)) as { id: string };
    await plantFactors(query, id);
    const made = await inviteTo(production, path, { email });
    expect(await info(made.token)).toMatchObject({ asks_names: true, asks_password: true });
    expect(outcomeOf(await accept(made.token, { first_name: 'Ivan' }))).toBe('200');
    expect(await personWith(email)).toMatchObject({ id, first_name: 'Ivan', verified: true });
    expect(await credentialsOf(query, id)).toEqual(noCredentials);
    const clientId = await newClient({ scope: account.productionScope });
    expect(await signInTo(api, clientId, email, said.password)).toBe('401');
    expect(await signInTo(api, clientId, email, password)).toBe('200');
    // They have proved it by now: the next invite removes nothing.
    const { data } = (await production('POST', '/organizations', { name: 'Next' })).json();
    const next = await inviteTo(production, `/organizations/${data.id}/invitations`, { email });
    expect(await info(next.token)).toMatchObject({ asks_names: false, asks_password: false });
  });

  test('also of one who has replaced the password by a mailed link: a foreign passkey is still enrolled', async () => {
    const production = await inProduction();
    const email = newAddress();
    await key('POST', '/identities', { email, ...said });
    const { id } = (await personWith(email)) as { id: string };
    await plantFactors(query, id);
    const owner = { ...account.scope, identityId: id, membershipId: null };
    const reset = { passwordHash: 'of their own', method: 'reset', provesEmail: true, now: api.clock.now };
    await api.database.db.transaction('system', (tx) => settleNewPassword(tx, owner, reset));
    const made = await inviteTo(production, path, { email });
    expect(await info(made.token)).toMatchObject({ asks_names: true, asks_password: true });
    expect(outcomeOf(await accept(made.token, { first_name: 'Ivan' }))).toBe('200');
    expect(await credentialsOf(query, id)).toEqual(noCredentials);
  });

  test('also of one about whom the claim was made after the invite', async () => {
    const [made, changed] = [newAddress(), newAddress()];
    const there = await inProduction();
    await there('POST', '/identities', { email: changed, password: said.password });
    const invites = [await inviteTo(key, path, { email: made }), await inviteTo(key, path, { email: changed })];
    api.clock.advance(1000);
    expect(outcomeOf(await key('POST', '/identities', { email: made, ...said }))).toBe('201');
    const { id } = (await personWith(changed)) as { id: string };
    const verify = await there('PATCH', `/identities/${id}`, { email_verified: true });
    expect(outcomeOf(verify)).toBe('200');
    for (const [i, email] of [made, changed].entries()) {
      expect(outcomeOf(await accept(invites[i]?.token as string, { first_name: 'Ivan' }))).toBe('200');
      expect(await signInTo(api, await newClient(), email, said.password)).toBe('401');
      expect(await signInTo(api, await newClient(), email, password)).toBe('200');
    }
  });

  test('also of one whose password another caller has set for tests since the proof', async () => {
    const production = await inProduction();
    const [theirs, own] = [await newIdentityCaller(api, account), await newIdentityCaller(api, account)];
    await query('update identities set verified_by_word = false where id = any($1)', [[theirs.id, own.id]]);
    const set = { password: said.password };
    expect(outcomeOf(await key('PUT', `/identities/${theirs.id}/password`, set))).toBe('200');
    await plantFactors(query, theirs.id); // anyone who knows the password can enroll one
    const made = await inviteTo(production, path, { email: theirs.email });
    expect(await info(made.token)).toMatchObject({ asks_names: true, asks_password: true });
    expect(outcomeOf(await accept(made.token))).toBe('200');
    expect(await credentialsOf(query, theirs.id)).toEqual(noCredentials);
    const clientId = await newClient({ scope: account.productionScope });
    expect(await signInTo(api, clientId, theirs.email, said.password)).toBe('401');
    expect(await signInTo(api, clientId, theirs.email, password)).toBe('200');
    // Nobody else knows a password that the person, who manages people, has set.
    await key('POST', '/roles', { name: 'People', permission_keys: ['identity.manage'] });
    const [role] = (await key('GET', '/roles?q=People')).json().items;
    await key('POST', `/identities/${own.id}/role-assignments`, { role_id: role.id });
    const byThemselves = callsWith(api, own.headers);
    expect(outcomeOf(await byThemselves('PUT', `/identities/${own.id}/password`, set))).toBe('200');
    const next = await inviteTo(production, path, { email: own.email });
    expect(await info(next.token)).toMatchObject({ asks_names: false, asks_password: false });
  });

  test('also of one whose password another caller has set after the invite', async () => {
    const caller = await newIdentityCaller(api, account);
    await query('update identities set verified_by_word = false where id = $1', [caller.id]); // they have proved it
    const { data } = (await key('POST', '/organizations', { name: 'Board' })).json();
    const made = await inviteTo(key, `/organizations/${data.id}/invitations`, { email: caller.email });
    expect(await info(made.token)).toMatchObject({ asks_password: false });
    api.clock.advance(1000);
    const set = { password: said.password };
    expect(outcomeOf(await key('PUT', `/identities/${caller.id}/password`, set))).toBe('200');
    expect(await info(made.token)).toMatchObject({ asks_names: true, asks_password: true });
    expect(outcomeOf(await accept(made.token))).toBe('200');
    expect(await signInTo(api, await newClient(), caller.email, said.password)).toBe('401');
    expect(await signInTo(api, await newClient(), caller.email, password)).toBe('200');
  });

  test('but not of one who is in production already', async () => {
    const email = newAddress();
    const there = await inProduction();
    expect(outcomeOf(await there('POST', '/identities', { email, ...said }))).toBe('201');
    api.clock.advance(1000);
    const invite = await inviteTo(key, path, { email });
    expect(await info(invite.token)).toMatchObject({ asks_names: false, asks_password: false });
  });
});

test('names that the acceptance does not change stay as they were', async () => {
  const other = callsWith(api, await account.as('owner'), account.portalPath('', 'production'));
  const email = newAddress();
  await other('POST', '/identities', { email, first_name: 'Ivo', last_name: 'Kern' });
  const made = await inviteTo(key, path, { email, first_name: null, last_name: null });
  expect(outcomeOf(await accept(made.token, { last_name: 'Kerner' }))).toBe('200');
  expect(await personWith(email)).toMatchObject({ first_name: 'Ivo', last_name: 'Kerner', verified: true });
});

test('a new person needs a password, long enough and not known from a breach', async () => {
  const made = await inviteTo(key, path);
  const detailOf = async (body: object) => {
    const answer = await accept(made.token, body);
    expect(answer.statusCode).toBe(400);
    const { code, details } = answer.json().error;
    return details ? [code, details[0].field, details[0].code] : [code];
  };
  expect(await detailOf({ password: undefined })).toEqual(['validation.failed', 'password', 'password.required']);
  expect(await detailOf({ password: null })).toEqual(['validation.failed', 'password', 'password.required']);
  expect(await detailOf({ password: 'short' })).toEqual(['validation.failed', 'password', 'password.too_short']);
  expect(await detailOf({ password: 'x'.repeat(129) })).toEqual(['validation.failed', 'password', 'password.too_long']);
  expect(await detailOf({ password: 'password123' })).toEqual(['password.breached']);
  expect(await detailOf({ password: 'Portal-2026' })).toEqual(['password.context_specific']);
  for (const body of [{ first_name: '' }, { last_name: 'a\nb' }, { role_id: uuidv7() }])
    expect((await detailOf(body))[0]).toBe('validation.failed');
  expect(await personWith(made.email)).toBeUndefined();
  expect(outcomeOf(await accept(made.token))).toBe('200');
});

test('an Environment without passwords asks for none', async () => {
  await rowsOf(api, 'update environment_settings set password_login_enabled = false where environment_id = $1', [
    account.scope.environmentId,
  ]);
  const made = await inviteTo(key, path);
  expect(await info(made.token)).toMatchObject({ asks_names: true, asks_password: false });
  expect(outcomeOf(await accept(made.token))).toBe('200');
  expect(await personWith(made.email)).toMatchObject({ password_hash: null, verified: true });
});

test('an invite to the directory adds the person to no environment', async () => {
  const made = await inviteTo(key, path, { intent: 'directory' });
  expect(await info(made.token)).toMatchObject({ intent: 'directory', environment_name: null });
  const since = await databaseTime(api);
  expect(outcomeOf(await accept(made.token))).toBe('200');
  expect(await personWith(made.email)).toMatchObject({ verified: true });
  expect(await membershipsOf(made.email)).toEqual([]);
  expect(await identityCount()).toBe(0);
  const events = await eventsSince(api, account.scope.accountId, since);
  expect(events.map(({ action, environment_id }) => [action, environment_id])).toEqual([
    ['identity.created', null],
    ['identity_invite.accepted', account.scope.environmentId],
  ]);
  // A person in the directory can be invited to an Environment, and joins with their password.
  const second = await inviteTo(key, path, { email: made.email });
  expect(await info(second.token)).toMatchObject({ asks_names: false, asks_password: false });
  expect(outcomeOf(await accept(second.token, { password: undefined }))).toBe('200');
  expect(await membershipsOf(made.email)).toHaveLength(1);
});

test('a role or node that was deleted is left out, and the audit log says so', async () => {
  const node = await newNode(key, 'Hall', null);
  const [first, second] = [await newRole(key), await newRole(key)];
  const withoutRole = await inviteTo(key, path, { role_id: first });
  const withoutNode = await inviteTo(key, path, { role_id: second, node_id: node.id });
  expect(outcomeOf(await key('DELETE', `/roles/${first}`, undefined, 1))).toBe('204');
  expect(outcomeOf(await key('DELETE', `/nodes/${node.id}`, undefined, 1))).toBe('204');
  for (const made of [withoutRole, withoutNode]) {
    expect(outcomeOf(await accept(made.token))).toBe('200');
    expect(await membershipsOf(made.email)).toHaveLength(1);
    expect(await heldBy(api, account.scope, made.email)).toEqual([]);
    const told = await rowsOf(
      api,
      `select metadata, is_domain_event from events where resource_id = $1 and action = 'identity_invite.role_not_given'`,
      [made.id],
    );
    expect(told).toEqual([
      {
        metadata: { intent: 'activate', role_ids: [made.role_id], node_id: made.node_id },
        is_domain_event: false,
      },
    ]);
  }
});

test('a role whose node is deleted at this moment is left out, and the person is let in', async () => {
  const node = await newNode(key, 'Hall', null);
  const made = await inviteTo(key, path, { role_id: await newRole(key), node_id: node.id });
  const accepted = await comingUpon(
    api.database,
    (tx) => tx.query('delete from nodes where id = $1', [node.id]),
    () => accept(made.token),
  );
  expect(outcomeOf(accepted)).toBe('200');
  expect(await membershipsOf(made.email)).toHaveLength(1);
  expect(await heldBy(api, account.scope, made.email)).toEqual([]);
});

test('a person who was locked out meanwhile is not let in, and one who joined meanwhile gets what was offered', async () => {
  const role_id = await newRole(key);
  const [kept, joined] = [await inviteTo(key, path), await inviteTo(key, path, { role_id })];
  const { id } = (await key('POST', '/identities', { email: kept.email })).json().data;
  await key('POST', `/identities/${id}/deactivate`);
  expect(outcomeOf(await accept(kept.token))).toBe('400 invite.link_invalid');
  expect(await membershipsOf(kept.email)).toMatchObject([{ is_active: false }]);
  await key('POST', '/identities', { email: joined.email, email_verified: true });
  expect(outcomeOf(await accept(joined.token))).toBe('200');
  expect(await membershipsOf(joined.email)).toHaveLength(1);
  expect(await heldBy(api, account.scope, joined.email)).toEqual([{ role_id, node_id: (await rootOf(key)).id }]);
});

test('a person who held the role meanwhile, until it ended, gets it again', async () => {
  const role_id = await newRole(key);
  const made = await inviteTo(key, path, { role_id });
  const { id } = (await key('POST', '/identities', { email: made.email, email_verified: true })).json().data;
  const effective_to = new Date(api.clock.now.getTime() + 1_000).toISOString();
  await key('POST', `/identities/${id}/role-assignments`, { role_id, effective_to });
  api.clock.advance(2_000);
  expect(outcomeOf(await accept(made.token))).toBe('200');
  expect(
    await rowsOf(api, 'select effective_from, effective_to from role_assignments where identity_id = $1 order by id', [
      id,
    ]),
  ).toEqual([
    { effective_from: null, effective_to: new Date(effective_to) },
    { effective_from: api.clock.now, effective_to: null },
  ]);
});

test('a role that a person holds from a later time is unchanged, and reported as not given', async () => {
  const role_id = await newRole(key);
  const made = await inviteTo(key, path, { role_id });
  const { id } = (await key('POST', '/identities', { email: made.email, email_verified: true })).json().data;
  const effective_from = new Date(api.clock.now.getTime() + 1_000).toISOString();
  await key('POST', `/identities/${id}/role-assignments`, { role_id, effective_from });
  expect(outcomeOf(await accept(made.token))).toBe('200');
  expect(
    await rowsOf(api, 'select effective_from, effective_to from role_assignments where identity_id = $1', [id]),
  ).toEqual([{ effective_from: new Date(effective_from), effective_to: null }]);
  expect(await rolesToldOf(made.id)).toEqual([
    { action: 'identity_invite.role_not_given', role_ids: [role_id] },
    { action: 'identity_invite.accepted', role_ids: [] },
  ]);
});

test('a role that a person holds at this moment counts as given, also if it ends', async () => {
  const role_id = await newRole(key);
  const made = await inviteTo(key, path, { role_id });
  const { id } = (await key('POST', '/identities', { email: made.email, email_verified: true })).json().data;
  const effective_to = new Date(api.clock.now.getTime() + 1_000).toISOString();
  await key('POST', `/identities/${id}/role-assignments`, { role_id, effective_to });
  expect(outcomeOf(await accept(made.token))).toBe('200');
  expect(await rolesToldOf(made.id)).toEqual([{ action: 'identity_invite.accepted', role_ids: [role_id] }]);
});

test('of a revocation or a resend and an acceptance at once, one comes first', async () => {
  for (const verb of ['revoke', 'resend']) {
    for (let i = 0; i < 5; i++) {
      const made = await inviteTo(key, path);
      const outcomes = (await Promise.all([accept(made.token), key('POST', `${path}/${made.id}/${verb}`)])).map(
        outcomeOf,
      );
      expect(['200,409 identity_invite.not_pending', '400 invite.link_invalid,200']).toContain(outcomes.join());
      expect(await membershipsOf(made.email)).toHaveLength(outcomes[0] === '200' ? 1 : 0);
    }
  }
});

test('the erasure of a person deletes the invites that they accepted', async () => {
  const made = await inviteTo(key, path);
  expect(outcomeOf(await accept(made.token))).toBe('200');
  const person = await personWith(made.email);
  await rowsOf(api, 'delete from identities where id = $1', [person?.id]);
  expect(await rowsOf(api, 'select from identity_invites where id = $1', [made.id])).toEqual([]);
});

test('only scripts on the environment’s pages may use the link', async () => {
  await newClient();
  const made = await inviteTo(key, path);
  const originOf = async (token: string, origin: string) =>
    (await post('/invite-info', { token }, { origin })).headers['access-control-allow-origin'];
  expect(await originOf(made.token, 'https://app.example.com')).toBe('https://app.example.com');
  expect(await originOf(made.token, 'https://evil.example')).toBeUndefined();
  expect(await originOf(linkTokenOf(uuidv7()), 'https://app.example.com')).toBeUndefined();
});

test('attempts are counted by network address, which the pages’ scripts are told', async () => {
  const limited = await startApi({ RATE_LIMITS: 'on' });
  const origin = 'https://app.example.com';
  try {
    const place = await newAccount(limited);
    await newPublicClient(limited, place.scope);
    const known = await inviteTo(callsWith(limited, await place.apiKey()), path);
    const tries = async (at: string, count: number) => {
      const ask = (token: string, headers = {}) =>
        limited.app.inject({ method: 'POST', url: `/v1/identity/auth${at}`, headers, payload: { token } });
      const answers = [];
      for (let i = 0; i < count; i++) answers.push(await ask(linkTokenOf(uuidv7())));
      const readable = (await ask(known.token, { origin })).headers['access-control-allow-origin'] === origin;
      return { ...outcomesOf(answers), readable };
    };
    const refused = { '429 rate_limit.exceeded': 1, readable: true };
    expect(await tries('/invite-info', 11)).toEqual({ '400 invite.link_invalid': 10, ...refused });
    expect(await tries('/accept-invite', 6)).toEqual({ '400 invite.link_invalid': 5, ...refused });
  } finally {
    await limited.stop();
  }
});
