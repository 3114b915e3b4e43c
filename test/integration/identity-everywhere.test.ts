import { v7 as uuidv7 } from 'uuid';
import { identityLinkToken } from '../../src/domain/one-time/identity-links.js';
import type { EnvironmentScope } from '../../src/platform/scope.js';
import { sealing } from '../support/administrators.js';
import { newAccount, send, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { subscribe } from '../support/api-webhooks.js';
import { inviteTo } from '../support/identity-invites.js';
import { totpCode } from '../support/mfa.js';
import { callsWith } from '../support/nodes.js';
import { authorizeUrl } from '../support/oauth/sign-in.js';
import { newPublicClient, signedInAt } from '../support/public-client.js';
import { rowsOf } from '../support/rows.js';
import { newDirectory, newUser, operations } from '../support/scim.js';
import { until } from '../support/until.js';

// A person has one profile, password and set of factors in an Account: each Environment receives events of changes.
let api: TestApi;
let account: TestAccount;
let scopeOfB: EnvironmentScope;
let [keyOfA, keyOfB]: Record<string, string>[] = [];
beforeAll(async () => {
  api = await startApi();
  account = await newAccount(api);
  const environments = `/portal/v1/accounts/${account.accountSlug}/applications/${account.applicationSlug}/environments`;
  const headers = await account.as('owner');
  const wanted = { name: 'Development two', type: 'development' };
  const made = await send(api.app, 201, { method: 'POST', url: environments, headers, payload: wanted });
  const { id, slug } = made.json().data;
  scopeOfB = { ...account.scope, environmentId: id };
  const key = { name: 'B', access_mode: 'full' };
  const url = `${environments}/${slug}/api-keys`;
  const { secret } = (await send(api.app, 201, { method: 'POST', url, headers, payload: key })).json().data;
  [keyOfA, keyOfB] = [await account.apiKey(), { 'x-api-key': secret }];
  await subscribe(api, { scope: scopeOfB }, ['*']);
});
afterAll(() => api.stop());

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
const call = async (method: Method, path: string, payload?: object, headers = keyOfA) => {
  const request = { method, url: `/api/v1${path}`, headers, ...(payload && { payload }) };
  const answer = await api.app.inject(request as never);
  if (answer.statusCode >= 300) throw new Error(`${path}: ${answer.body}`);
  return answer.json();
};
const password = 'a passphrase of somebody';

async function inBoth(body: object = {}) {
  const email = `${uuidv7()}@example.com`;
  const { id } = (await call('POST', '/identities', { email, password, email_verified: true, ...body })).data;
  await call('POST', '/identities', { email }, keyOfB);
  return { id: id as string, email };
}
const signedIn = async (scope: EnvironmentScope, email: string) =>
  signedInAt(api, await newPublicClient(api, scope), { email, password });

interface Told {
  type: string;
  resource_id: string;
  data: Record<string, unknown>;
}
/** Returns what B's feed reports of a person; expects the audit log and the webhooks to report the same. */
async function toldOfB(id: string, work: () => Promise<unknown>): Promise<Told[]> {
  const written = () =>
    rowsOf(api, 'select from events where environment_id = $1 and resource_id = $2 and is_domain_event', [
      scopeOfB.environmentId,
      id,
    ]);
  const before = (await written()).length;
  // The feed waits for older transactions of the server, and other tests run some.
  const since = await until('the feed has what was before', async () => {
    const { items, next_cursor } = await call('GET', '/changes?limit=1000', undefined, keyOfB);
    return (items as Told[]).filter((each) => each.resource_id === id).length >= before && next_cursor;
  });
  await work();
  const expected = (await written()).length - before;
  const told = await until('the feed has all of it', async () => {
    const { items } = await call('GET', `/changes?limit=1000&cursor=${since}`, undefined, keyOfB);
    const theirs = (items as Told[]).filter((each) => each.resource_id === id);
    return theirs.length >= expected && theirs;
  });
  const audited = await call('GET', `/audit-logs?resource_id=${id}&take=100`, undefined, keyOfB);
  const actions = (audited.items as { action: string; metadata: object }[]).filter(({ action }) =>
    action.startsWith('identity.'),
  );
  for (const each of told)
    expect(actions).toContainEqual(expect.objectContaining({ action: each.type, metadata: each.data }));
  const queued = await rowsOf<{ action: string }>(
    api,
    `select e.action from webhook_queue q join events e on e.id = q.event_id
     where e.environment_id = $1 and e.resource_id = $2 order by e.created_at, e.id`,
    [scopeOfB.environmentId, id],
  );
  const last = told.length > 0 ? queued.slice(-told.length) : [];
  expect(last.map(({ action }) => action)).toEqual(typesOf(told));
  return told;
}
const typesOf = (told: Told[]) => told.map(({ type }) => type);
const here = async (id: string, action: string) =>
  rowsOf<{ metadata: Record<string, unknown>; application_id: string }>(
    api,
    'select metadata, application_id from events where resource_id = $1 and action = $2 and environment_id = $3',
    [id, action, account.scope.environmentId],
  );

test('a changed profile and address are events in each Environment of the person', async () => {
  const { id, email } = await inBoth();
  const told = await toldOfB(id, () =>
    call('PATCH', `/identities/${id}`, { email: `new-${email}`, first_name: 'Ana', email_verified: true }),
  );
  expect(typesOf(told)).toEqual(['identity.updated', 'identity.email_verified']);
  expect(told[0]?.data.changed).toEqual(expect.arrayContaining(['email', 'first_name']));
  expect(await here(id, 'identity.updated')).toHaveLength(1);
  expect(await toldOfB(id, () => call('PATCH', `/identities/${id}`, { first_name: 'Ana' }))).toEqual([]);
  const moved = { email: `newer-${email}`, email_verified: true };
  const again = await toldOfB(id, () => call('PATCH', `/identities/${id}`, moved));
  expect(again.map(({ type, data }) => [type, data.changed])).toEqual([
    ['identity.updated', ['email']], // it was verified before, and is again
    ['identity.email_verified', undefined],
  ]);
});

test('a new password is an event in each Environment, with the sessions of that Environment only', async () => {
  const { id, email } = await inBoth();
  await signedIn(account.scope, email);
  await signedIn(scopeOfB, email);
  const sessionsAt = async (scope: EnvironmentScope) =>
    (
      await rowsOf<{ id: string }>(api, 'select id from sessions where identity_id = $1 and environment_id = $2', [
        id,
        scope.environmentId,
      ])
    ).map((row) => row.id);
  const told = await toldOfB(id, () =>
    call('PUT', `/identities/${id}/password`, { password: 'another one of theirs' }),
  );
  expect(typesOf(told)).toEqual(['identity.password_changed', 'identity.sessions_revoked']);
  expect(told.map(({ data }) => data)).toEqual([
    { method: 'administrator', revoked_session_ids: await sessionsAt(scopeOfB) },
    { reason: 'password_changed', session_ids: await sessionsAt(scopeOfB) },
  ]);
  const [event, ...more] = await here(id, 'identity.password_changed');
  expect(event?.metadata.revoked_session_ids).toEqual(await sessionsAt(account.scope));
  expect(more).toEqual([]);
  const mails =
    'select from emails where template = $1 and subject_id in (select id from environment_memberships where identity_id = $2)';
  expect(await rowsOf(api, mails, ['identity-password-changed', id])).toHaveLength(1); // it is one person
});

test('a removed password, a confirmed address and reset factors are events in each Environment', async () => {
  const { id } = await inBoth({ email_verified: false });
  await newPublicClient(api, account.scope);
  const work = async () => {
    await call('POST', `/identities/${id}/email/verify`);
    await call('POST', `/identities/${id}/password/reset`, {});
    await call('POST', `/identities/${id}/mfa/reset`);
  };
  expect(typesOf(await toldOfB(id, work))).toEqual([
    'identity.email_verified',
    'identity.password_changed',
    'identity.mfa_reset',
  ]);
});

test("a person's own change in one Environment is an event in the others", async () => {
  const { id, email } = await inBoth();
  const headers = await signedIn(account.scope, email);
  const own = async (method: Method, path: string, payload?: object) => {
    const request = { method, url: `/v1/identity/auth${path}`, headers, ...(payload && { payload }) };
    const answer = await api.app.inject(request as never);
    if (answer.statusCode >= 300) throw new Error(`${path}: ${answer.body}`);
    return answer.body === '' ? null : answer.json();
  };
  const work = async () => {
    await own('PUT', '/password', { current_password: password, new_password: 'another one of mine' });
    const begun = (await own('POST', '/mfa/totp/enroll')).data;
    const code = totpCode(begun.secret, api.clock.now);
    const { factor } = (await own('POST', '/mfa/totp/confirm', { enrollment_token: begun.enrollment_token, code }))
      .data;
    await own('DELETE', `/mfa/factors/${factor.id}`);
  };
  const told = await toldOfB(id, work);
  expect(typesOf(told)).toEqual(['identity.password_changed', 'identity.mfa_enrolled', 'identity.mfa_removed']);
  expect(told[0]?.data).toEqual({ method: 'own', revoked_session_ids: [] });
});

test("a directory's change in one Environment is an event in the others", async () => {
  const scim = await newDirectory(api, account);
  const { id, userName } = await newUser(scim);
  await call('POST', '/identities', { email: userName }, keyOfB);
  const change = operations({ op: 'replace', path: 'name.givenName', value: 'Beatrice' });
  const work = async () => expect((await scim('PATCH', `/Users/${id}`, change)).statusCode).toBe(200);
  expect(typesOf(await toldOfB(id, work))).toEqual(['identity.updated']);
});

describe('names that replace those of an unverified address are events in each Environment', () => {
  /** Creates a person in B by a caller who did not know the whole name. */
  async function newStranger() {
    const email = `${uuidv7()}@example.com`;
    const body = { email, first_name: 'Ivo', email_verified: false };
    const { id } = (await call('POST', '/identities', body, keyOfB)).data;
    return { id: id as string, email };
  }
  const updated = (changed: string[]) => ({ type: 'identity.updated', data: { changed } });
  const verified = { type: 'identity.email_verified' };

  test('by an invite', async () => {
    const { id, email } = await newStranger();
    const posts = callsWith(api, keyOfA as Record<string, string>);
    const { token } = await inviteTo(posts, '/identity-invites', { email, first_name: null, last_name: null });
    const payload = { token, password, last_name: 'Kern' };
    const work = () => send(api.app, 200, { method: 'POST', url: '/v1/identity/auth/accept-invite', payload });
    const told = await toldOfB(id, work);
    expect(told).toMatchObject([updated(['last_name']), { type: 'identity.password_changed' }, verified]);
    expect(await here(id, 'identity.updated')).toMatchObject([{ metadata: { changed: ['last_name'] } }]);
  });

  test('by a sign-up, if they are different', async () => {
    const client = await newPublicClient(api, account.scope);
    const [redirect_uri] = client.redirectUris;
    const { environmentId } = account.scope;
    await rowsOf(api, 'update environment_settings set allow_self_signup = true where environment_id = $1', [
      environmentId,
    ]);
    /** @returns a function that confirms the sign-up */
    async function signUp(email: string, names: object) {
      const query = Object.fromEntries(new URL(`http://x${authorizeUrl(client, { redirect_uri })}`).searchParams);
      const form = new URLSearchParams({ ...query, email, password, ...names });
      const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' };
      await send(api.app, 200, { method: 'POST', url: '/oauth/register', headers, payload: form.toString() });
      const [link] = await rowsOf<{ id: string }>(
        api,
        'select l.id from identity_links l join identities i on i.id = l.identity_id where i.email = $1',
        [email],
      );
      const { token } = identityLinkToken(sealing, link as { id: string });
      const payload = { client_id: client.clientId, token, password };
      return () => send(api.app, 200, { method: 'POST', url: '/v1/identity/auth/verify-email', payload });
    }
    const other = await newStranger();
    const byOtherName = await signUp(other.email, { first_name: 'Ida', last_name: 'Ilves' });
    expect(await toldOfB(other.id, byOtherName)).toMatchObject([updated(['first_name', 'last_name']), verified]);
    const same = await newStranger();
    const bySameName = await signUp(same.email, { first_name: 'Ivo' });
    expect(await toldOfB(same.id, bySameName)).toMatchObject([verified]);
  });
});

test('an Environment that the person has left has no further events', async () => {
  const { id } = await inBoth();
  await call('DELETE', `/identities/${id}`, undefined, keyOfB).catch(() => {}); // a 204 has no body
  expect(await toldOfB(id, () => call('PATCH', `/identities/${id}`, { first_name: 'Ana' }))).toEqual([]);
});
