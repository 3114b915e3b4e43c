import { outcomeOf, outcomesOf } from '../../support/answers.js';
import { newAccount, send, startApi, type TestAccount, type TestApi, untilRefused } from '../../support/api.js';
import { type Call, callsOf } from '../../support/calls.js';
import { endedByDeadlock } from '../../support/deadlock.js';
import { finishRemovals } from '../../support/finish-removals.js';
import { Browser } from '../../support/oauth/browser.js';
import { password, redirectUri, type TestClient } from '../../support/oauth/environment.js';
import { postToken, tokensFor, userinfo } from '../../support/oauth/tokens.js';
import { databaseTime, eventsSince, rowsOf } from '../../support/rows.js';

let api: TestApi;
let account: TestAccount;
let call: Call;
let application: string;
let environment: string;
beforeAll(async () => {
  api = await startApi();
});
async function begin(): Promise<void> {
  account = await newAccount(api);
  call = callsOf(api, account.accountSlug, await account.as('owner'));
  application = `/applications/${account.applicationSlug}`;
  environment = `${application}/environments/development`;
}
beforeEach(begin);
afterAll(() => api.stop());

const addIdentity = (headers: Record<string, string>, email: string) =>
  api.app.inject({
    method: 'POST',
    url: '/api/v1/identities',
    headers,
    payload: { email, password, email_verified: true },
  });

/** Creates a person who is signed in to a client of the Development Environment, and a key of it. */
async function inhabited() {
  const key = await account.apiKey();
  const email = `ana@${account.accountSlug}.example`;
  expect((await addIdentity(key, email)).statusCode).toBe(201);
  const { id, client_id } = (
    await call('POST', `${environment}/oauth-clients`, {
      name: 'Web',
      client_type: 'public',
      redirect_uris: [redirectUri],
    })
  ).json().data;
  const client = { id, clientId: client_id, tokenEndpointAuthMethod: 'none' } as TestClient;
  const tokens = await tokensFor(new Browser(api.app), client, email);
  return { key, email, client, tokens };
}

/** Returns what is left of Environments once the processes have finished. */
async function left(...environmentIds: string[]): Promise<Record<string, number>> {
  await finishRemovals(api, account.scope.accountId);
  return Object.assign({}, ...(await Promise.all(environmentIds.map(rowsIn))));
}

/** Counts rows of every table that names the Environment, except the audit log, mails and the tombstone, which stay. */
async function rowsIn(environmentId: string): Promise<Record<string, number>> {
  const tables = await rowsOf<{ name: string }>(
    api,
    `select table_name as name from information_schema.columns where table_schema = 'public'
       and column_name = 'environment_id' and table_name not like 'event%' and table_name not in ('emails', 'environment_removals', 'row_counts')`,
  );
  const counts: Record<string, number> = {};
  for (const { name } of tables) {
    const [row] = await rowsOf<{ n: number }>(api, `select count(*)::int as n from ${name} where environment_id = $1`, [
      environmentId,
    ]);
    if (row?.n) counts[name] = row.n;
  }
  return counts;
}

test('everything in a deleted environment stops at once', async () => {
  const { key, client, tokens } = await inhabited();
  const { environmentId, accountId } = account.scope;
  const [before] = await rowsOf<{ id: string }>(api, 'select id from identities where account_id = $1', [accountId]);
  expect(before).toBeDefined();
  expect(Object.keys(await rowsIn(environmentId))).toEqual(
    expect.arrayContaining(['api_keys', 'environment_settings', 'grants', 'oauth_clients', 'sessions']),
  );
  await send(api.app, 200, { url: '/api/v1/identities', headers: key });
  expect((await userinfo(api.app, tokens.access_token)).statusCode).toBe(200);
  const since = await databaseTime(api);

  expect(outcomeOf(await call('DELETE', `${environment}?confirm=development`))).toBe('204');

  await untilRefused(api.app, { url: '/api/v1/identities', headers: key });
  expect((await userinfo(api.app, tokens.access_token)).statusCode).toBe(401);
  await send(api.app, 401, {
    url: '/api/v1/identities',
    headers: { authorization: `Bearer ${tokens.access_token}` },
  });
  const refresh = async () => {
    const fields = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token };
    const { statusCode, body } = await postToken(api.app, client, fields);
    return `${statusCode} ${JSON.parse(body).error}`;
  };
  // A process forgets the client as soon as it is told, and after a second at the latest.
  expect(await refresh()).toMatch(/^(400 invalid_grant|401 invalid_client)$/);
  api.clock.advance(2000);
  expect(await refresh()).toBe('401 invalid_client');
  expect(outcomeOf(await call('GET', environment))).toBe('404 environment.not_found');
  expect(await left(environmentId)).toEqual({});
  // Its person was in no other Environment, so nothing of them is kept.
  expect(await rowsOf(api, 'select from identities where account_id = $1', [accountId])).toEqual([]);
  expect(await eventsSince(api, accountId, since)).toMatchObject([
    {
      action: 'environment.deleted',
      environment_id: environmentId,
      application_id: account.scope.applicationId,
      actor_id: account.userId,
      metadata: { slug: 'development', type: 'development' },
    },
  ]);
  // The rest of the application is unchanged, and the name is free again.
  expect(outcomeOf(await call('GET', `${application}/environments/production/settings`))).toBe('200');
  const again = await call('POST', `${application}/environments`, { name: 'Development', type: 'development' });
  expect(again.json().data.slug).toBe('development');
});

test('a person who is in another environment too stays there', async () => {
  const { email, key } = await inhabited();
  const production = `${application}/environments/production`;
  const made = await call('POST', `${production}/api-keys`, { name: 'k', access_mode: 'full' });
  const there = { 'x-api-key': made.json().data.secret };
  expect((await addIdentity(there, email)).statusCode).toBe(201);
  await addIdentity(key, `ben@${account.accountSlug}.example`); // only in the one that is deleted
  const neighbour = await newAccount(api);
  const theirKey = await neighbour.apiKey();
  await addIdentity(theirKey, email);

  expect(outcomeOf(await call('DELETE', `${environment}?confirm=development`))).toBe('204');
  expect(await left(account.scope.environmentId)).toEqual({});
  for (const headers of [there, theirKey]) {
    const { items } = (await send(api.app, 200, { url: '/api/v1/identities', headers })).json();
    expect(items.map((identity: { email: string }) => identity.email)).toEqual([email]);
  }
  const people = await rowsOf(api, 'select email from identities where account_id = $1', [account.scope.accountId]);
  expect(people).toEqual([{ email }]);
});

test.each(['', '?confirm=', '?confirm=Development', '?confirm=production', '?confirm=development%20'])(
  'an environment is not deleted with "%s"',
  async (query) => {
    expect(outcomeOf(await call('DELETE', `${environment}${query}`))).toBe('400 environment.confirmation_required');
    expect(outcomeOf(await call('GET', environment))).toBe('200');
  },
);

test('a deletion is repeated with its key, and one of twenty at once takes effect', async () => {
  const key = { 'idempotency-key': 'gone' };
  const url = `${application}/environments/production?confirm=production`;
  expect(outcomeOf(await call('DELETE', url, undefined, key))).toBe('204');
  const again = await call('DELETE', url, undefined, key);
  expect([again.statusCode, again.headers['idempotency-replayed']]).toEqual([204, 'true']);
  expect(outcomeOf(await call('DELETE', url))).toBe('404 environment.not_found');

  const since = await databaseTime(api);
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => call('DELETE', `${environment}?confirm=development`)),
  );
  expect(outcomesOf(answers)).toEqual({ 204: 1, '404 environment.not_found': 19 });
  expect(await eventsSince(api, account.scope.accountId, since)).toHaveLength(1);
  // The last Environment can be deleted too; the application is empty and intact.
  expect((await call('GET', `${application}/environments`)).json().pagination.item_count).toBe(0);
  expect(outcomeOf(await call('GET', `${application}/me/state`))).toBe('200');
});

test('a deleted application’s environments are deleted with it, and nothing else', async () => {
  const { key, tokens } = await inhabited();
  const { applicationId, accountId, environmentId } = account.scope;
  const other = (await call('POST', '/applications', { name: 'Other' })).json().data;
  const since = await databaseTime(api);
  for (const query of ['', '?confirm=', '?confirm=other']) {
    expect(outcomeOf(await call('DELETE', `${application}${query}`))).toBe('400 application.confirmation_required');
  }
  const idempotent = { 'idempotency-key': 'all' };
  const url = `${application}?confirm=${account.applicationSlug}`;
  expect(outcomeOf(await call('DELETE', url, undefined, idempotent))).toBe('204');
  expect(outcomeOf(await call('DELETE', url, undefined, idempotent))).toBe('204');

  await untilRefused(api.app, { url: '/api/v1/identities', headers: key });
  expect((await userinfo(api.app, tokens.access_token)).statusCode).toBe(401);
  expect(outcomeOf(await call('GET', environment))).toBe('404 application.not_found');
  expect(await left(environmentId, account.productionScope.environmentId)).toEqual({});
  expect(await rowsOf(api, 'select from applications where id = $1', [applicationId])).toEqual([]);
  const events = await eventsSince(api, accountId, since);
  expect(events.map(({ action, metadata }) => [action, (metadata as { slug: string }).slug])).toEqual([
    ['environment.deleted', 'development'],
    ['environment.deleted', 'production'],
    ['application.deleted', account.applicationSlug],
  ]);
  expect(events.every(({ application_id }) => application_id === applicationId)).toBe(true);

  const { items } = (await call('GET', '/applications')).json();
  expect(items.map(({ id }: { id: string }) => id)).toEqual([other.id]);
  expect(outcomeOf(await call('GET', '/applications/other/environments/development/settings'))).toBe('200');
});

test('the last application can be deleted: signed-in administrators stay so, and create the next one', async () => {
  expect(outcomeOf(await call('DELETE', `${application}?confirm=${account.applicationSlug}`))).toBe('204');
  expect((await call('GET', '/applications')).json().pagination.item_count).toBe(0);
  expect(outcomeOf(await call('GET', '/me'))).toBe('200');
  expect(outcomeOf(await call('POST', '/applications', { name: 'Portal' }))).toBe('201');
  expect(outcomeOf(await call('GET', environment))).toBe('200');
});

test('creating in a place that is being deleted succeeds before it or fails', async () => {
  for (let round = 0; round < 5; round++) {
    await call('POST', '/applications', { name: 'Short', slug: 'short' });
    const environments = '/applications/short/environments';
    const [deleted, ...created] = await Promise.all([
      call('DELETE', '/applications/short?confirm=short'),
      ...Array.from({ length: 10 }, (_, i) => call('POST', environments, { name: `E${i}`, type: 'development' })),
    ]);
    expect(outcomeOf(deleted)).toBe('204');
    for (const answer of created) expect(['201', '404 application.not_found']).toContain(outcomeOf(answer));
  }
  await finishRemovals(api, account.scope.accountId);
  expect(
    await rowsOf(api, 'select from environments e where account_id = $1 and application_id <> $2', [
      account.scope.accountId,
      account.scope.applicationId,
    ]),
  ).toEqual([]);
});

test('under traffic the deletion succeeds, and nobody gets a server error', async () => {
  const { client, email } = await inhabited();
  const keys = [await account.apiKey(), await account.apiKey()];
  const seen: string[] = [];
  let stopped = false;
  const traffic = Array.from({ length: 8 }, async (_, worker) => {
    for (let i = 0; !stopped || i < 3; i++) {
      const payload = { email: `p${worker}-${i}@${account.accountSlug}.example` };
      const headers = keys[worker % 2] as Record<string, string>;
      const answer =
        worker < 6
          ? await api.app.inject({ method: 'POST', url: '/api/v1/identities', headers, payload })
          : await call('POST', `${environment}/oauth-clients`, {
              name: 'Web',
              client_type: 'public',
              redirect_uris: [redirectUri],
            });
      seen.push(outcomeOf(answer));
    }
  });
  const signIns = Promise.allSettled(Array.from({ length: 4 }, () => tokensFor(new Browser(api.app), client, email)));
  while (!seen.includes('201')) await new Promise((resolve) => setTimeout(resolve, 20)); // all are at work
  const deleted = await call('DELETE', `${environment}?confirm=development`);
  stopped = true;
  await Promise.all([...traffic, signIns]);
  expect(outcomeOf(deleted)).toBe('204');
  expect(new Set(seen)).toContain('201');
  expect(
    seen.filter((outcome) => !/^(201|401|404 environment\.not_found|503 service\.unavailable)$/.test(outcome)),
  ).toEqual([]);
  expect(await left(account.scope.environmentId)).toEqual({});
});

test('a deletion that PostgreSQL aborted for a deadlock is repeated', async () => {
  const deleted = await endedByDeadlock(api.database, async () => {
    await begin();
    await inhabited();
    const { accountId, environmentId } = account.scope;
    const hook = { url: 'https://receiver.example/hook', event_types: ['*'] };
    expect(outcomeOf(await call('POST', `${environment}/webhooks`, hook))).toBe('201');
    return {
      // As a running change does: it has locked the subscription, then writes rows of the Environment.
      first: (tx) => tx.query('update webhooks set is_active = is_active where environment_id = $1', [environmentId]),
      other: () => call('DELETE', `${environment}?confirm=development`),
      second: (tx) =>
        tx.query(`insert into counters (environment_id, name, account_id, value) values ($1, 'tried', $2, 0)`, [
          environmentId,
          accountId,
        ]),
    };
  });
  expect(outcomeOf(deleted)).toBe('204');
  expect(await left(account.scope.environmentId)).toEqual({});
});
