import { randomBytes, randomUUID } from 'node:crypto';
import { createHousekeeping, type SweepPlace, type SweptBatch } from '../../src/domain/housekeeping/housekeeping.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { asOwner, rowsAsOwner } from '../support/database.js';

let api: TestApi;
let account: TestAccount;
beforeAll(async () => {
  api = await startApi();
  account = await newAccount(api);
});
afterAll(() => api.stop());

const query = (text: string, values: unknown[] = []) => rowsAsOwner(api.database.ownerUrl, text, values);
const ago = (text: string) => `now() - interval '${text}'`;

/** Runs everything once, in batches of this size; returns the deleted rows by table. */
async function sweepAll(batchSize = 100) {
  const housekeeping = createHousekeeping({ db: api.database.db, now: () => new Date(), auditRetentionDays: 365 });
  const deleted: Record<string, number> = {};
  let place: SweepPlace | null = null;
  do {
    const swept: SweptBatch = await housekeeping.sweep(place, batchSize);
    if (swept.deleted) deleted[swept.table] = (deleted[swept.table] ?? 0) + swept.deleted;
    place = swept.next;
  } while (place);
  return deleted;
}

async function newIdentity() {
  const id = randomUUID();
  const { accountId } = account.scope;
  await query(
    `insert into identities (id, account_id, email, metadata, created_at, updated_at) values ($1, $2, $3, '{}', now(), now())`,
    [id, accountId, `${id}@example.com`],
  );
  return id;
}
async function newClient() {
  const id = randomUUID();
  const { accountId, applicationId, environmentId } = account.scope;
  await query(
    `insert into oauth_clients (id, account_id, application_id, environment_id, client_id, name, client_type, redirect_uris,
       post_logout_redirect_uris, token_endpoint_auth_method, require_pkce, rotate_refresh_tokens, created_at, updated_at)
     values ($1, $2, $3, $4, $5, 'c', 'public', '{}', '{}', 'none', true, true, now(), now())`,
    [id, accountId, applicationId, environmentId, id],
  );
  return id;
}
async function newSession(identityId: string, expiresAt: string) {
  const id = randomUUID();
  await query(
    `insert into sessions (id, account_id, environment_id, identity_id, browser_hash, authenticated_at, amr, acr, created_at, expires_at)
     values ($1, $2, $3, $4, $5, now(), '{pwd}', 'x', now(), ${expiresAt})`,
    [id, account.scope.accountId, account.scope.environmentId, identityId, randomBytes(32)],
  );
  return id;
}
async function newGrant({ identityId, clientId, sessionId, expiresAt }: Record<string, string>) {
  const [id, code] = [randomUUID(), randomBytes(32)];
  const { accountId, environmentId } = account.scope;
  await query(
    `insert into grants (id, account_id, environment_id, oauth_client_id, identity_id, session_id, scope, authenticated_at, amr, acr, created_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, '{}', now(), '{}', 'x', now(), ${expiresAt})`,
    [id, accountId, environmentId, clientId, identityId, sessionId],
  );
  await newCode({ clientId, sessionId, grantId: id, expiresAt: ago('100 days'), code });
  return { id, code };
}
async function newCode({
  clientId,
  sessionId,
  grantId = null,
  expiresAt,
  code = randomBytes(32),
}: {
  clientId?: string;
  sessionId?: string;
  grantId?: string | null;
  expiresAt: string;
  code?: Buffer;
}) {
  await query(
    `insert into authorization_codes (code_hash, account_id, environment_id, oauth_client_id, session_id, redirect_uri, scope,
       authenticated_at, amr, acr, created_at, expires_at, grant_id)
     values ($1, $2, $3, $4, $5, 'x', '{}', now(), '{}', 'x', now(), ${expiresAt}, $6)`,
    [code, account.scope.accountId, account.scope.environmentId, clientId, sessionId, grantId],
  );
  return code;
}
const left = async (table: string, column: string, values: unknown[]) =>
  (await query(`select ${column} as key from ${table} where ${column} = any($1)`, [values])).map(({ key }) => key);

test('an expired session stays as long as a grant of it lives, and its codes with the grant', async () => {
  const identityId = await newIdentity();
  const clientId = await newClient();
  const [alive, over, unused, fresh] = await Promise.all([
    newSession(identityId, ago('80 days')),
    newSession(identityId, ago('80 days')),
    newSession(identityId, ago('2 hours')),
    newSession(identityId, ago('1 minute')), // its code may be about to be redeemed
  ]);
  const living = await newGrant({ identityId, clientId, sessionId: alive, expiresAt: `now() + interval '1 day'` });
  const ended = await newGrant({ identityId, clientId, sessionId: over, expiresAt: ago('2 hours') });
  const endedToo = await newGrant({ identityId, clientId, sessionId: alive, expiresAt: ago('2 hours') });
  const unredeemed = await newCode({ clientId, sessionId: alive, expiresAt: ago('2 hours') });

  const deleted = await sweepAll();
  expect(deleted).toMatchObject({ grants: 2, sessions: 1, authorization_codes: 1 });
  expect((await left('sessions', 'id', [alive, over, unused, fresh])).sort()).toEqual([alive, fresh].sort());
  expect(await left('grants', 'id', [living.id, ended.id, endedToo.id])).toEqual([living.id]);
  expect(await left('authorization_codes', 'code_hash', [living.code, ended.code, endedToo.code, unredeemed])).toEqual([
    living.code,
  ]);
  expect(await sweepAll()).toEqual({});
});

test('the walk over sessions passes those that stay, however small its batches are', async () => {
  const identityId = await newIdentity();
  const clientId = await newClient();
  const sessions = await Promise.all([500, 3, 2, 1].map((days) => newSession(identityId, ago(`${days} days`))));
  for (const sessionId of sessions.slice(1, 3)) {
    await newGrant({ identityId, clientId, sessionId, expiresAt: `now() + interval '1 day'` });
  }
  expect(await sweepAll(1)).toEqual({ sessions: 2 });
  expect((await left('sessions', 'id', sessions)).sort()).toEqual(sessions.slice(1, 3).sort());
});

test('tokens, request keys and limits are deleted when they have expired, and not before', async () => {
  const [gone, kept] = [ago('5 minutes'), `now() + interval '5 minutes'`];
  const made = await query(`
with times (key, at) as (values ('gone', ${gone}), ('kept', ${kept})),
tokens as (insert into refresh_tokens (token_hash, kind, family_id, created_at, expires_at) select key::bytea, 'grant', gen_random_uuid(), now(), at from times),
revoked as (insert into revoked_access_tokens select gen_random_uuid(), at from times),
assertions as (insert into client_assertions select key, key::bytea, at from times),
requests as (insert into idempotent_requests (credential, key, request_hash, locked_until, expires_at) select 'c', key, '', at, at from times),
limits as (insert into rate_limits select key, 1, extract(epoch from at) * 1000 from times)
select 1`);
  expect(made).toHaveLength(1);
  expect(await sweepAll()).toEqual({
    refresh_tokens: 1,
    revoked_access_tokens: 1,
    client_assertions: 1,
    idempotent_requests: 1,
    rate_limits: 1,
  });
  for (const [table, column] of Object.entries({
    idempotent_requests: 'key',
    client_assertions: 'client_id',
    rate_limits: 'key',
  })) {
    expect(await left(table, column, ['gone', 'kept'])).toEqual(['kept']);
  }
});

test('ended rows are kept for support: registrations, intents, new addresses, invites and links 30 days, mails 90; waiting ones stay', async () => {
  await query(`
with times (key, ended_at) as (values (1, ${ago('91 days')}), (2, ${ago('29 days')}), (3, null::timestamptz), (4, ${ago('31 days')})),
registrations as (insert into pending_registrations (id, locale, token_hash, token_key_id, status, correlation_id, created_at, expires_at, ended_at)
  select gen_random_uuid(), 'en', ('registration ' || key)::bytea, 'k', case when ended_at is null then 'pending' else 'expired' end, gen_random_uuid(), ${ago('99 days')}, ${ago('98 days')}, ended_at from times),
intents as (insert into account_intents (id, user_id, account_name, application_name, locale, status, correlation_id, created_at, expires_at, ended_at)
  select gen_random_uuid(), '${account.userId}', 'a', 'b', 'en', case when ended_at is null then 'parked' else 'expired' end, gen_random_uuid(), ${ago('99 days')}, ${ago('98 days')}, ended_at from times),
changes as (insert into email_changes (id, user_id, session_id, locale, token_hash, token_key_id, browser_hash, status, created_at, expires_at, ended_at)
  select gen_random_uuid(), '${account.userId}', gen_random_uuid(), 'en', ('change ' || key)::bytea, 'k', '', case when ended_at is null then 'pending' else 'confirmed' end, ${ago('99 days')}, ${ago('98 days')}, ended_at from times),
invites as (insert into administrator_invites (id, account_id, email, first_name, last_name, locale, token_hash, token_key_id, link_number, status, created_at, expires_at, ended_at)
  select gen_random_uuid(), '${account.scope.accountId}', 'i' || key || '@example.com', 'a', 'b', 'en', ('invite ' || key)::bytea, 'k', 1, case when ended_at is null then 'pending' else 'accepted' end, ${ago('99 days')}, ${ago('98 days')}, ended_at from times),
identity_invites as (insert into identity_invites (id, account_id, environment_id, intent, email, role_ids, locale, token_hash, token_key_id, link_number, status, invited_by_type, invited_by, created_at, expires_at, ended_at)
  select gen_random_uuid(), '${account.scope.accountId}', '${account.scope.environmentId}', 'activate', 'e' || key || '@example.com', '{}', 'en', ('invite ' || key)::bytea, 'k', 1, case when ended_at is null then 'pending' else 'accepted' end, 'api_key', gen_random_uuid(), ${ago('99 days')}, ${ago('98 days')}, ended_at from times),
links as (insert into password_links (id, purpose, locale, token_hash, token_key_id, created_at, expires_at)
  select gen_random_uuid(), 'set', 'en', key::text::bytea, 'k', ${ago('99 days')}, coalesce(ended_at, now()) from times)
insert into emails (id, template, locale, subject_id, cause, status, created_at, ended_at)
select gen_random_uuid(), 'x', 'en', gen_random_uuid(), 'kept ' || key, case when ended_at is null then 'pending' else 'sent' end, ${ago('99 days')}, ended_at from times`);
  expect(await sweepAll()).toEqual({
    pending_registrations: 2,
    account_intents: 2,
    email_changes: 2,
    administrator_invites: 2,
    identity_invites: 1,
    password_links: 2,
    emails: 1,
  });
});

test('removed and ended roles stay as long as events do', async () => {
  const { accountId, environmentId } = account.scope;
  const identityId = await newIdentity();
  const past = [ago('366 days'), ago('364 days')];
  const held = [...past.map((at) => ['null', at]), ...past.map((at) => [at, 'null']), ['null', 'null']];
  const ids: string[] = [];
  for (const [removedAt, effectiveTo] of held) {
    const id = randomUUID();
    ids.push(id);
    await query(
      `insert into role_assignments (id, account_id, environment_id, identity_id, role_id, node_id, created_at, effective_from, effective_to, removed_at)
       select $1, $2, $3, $4, r.id, n.id, ${ago('400 days')}, (${effectiveTo})::timestamptz - interval '1 hour', (${effectiveTo})::timestamptz, (${removedAt})::timestamptz
       from (select id from roles where environment_id = $3 order by id offset $5 limit 1) r, nodes n
       where n.environment_id = $3 and n.parent_node_id is null`,
      [id, accountId, environmentId, identityId, Math.floor(ids.length / 2)],
    );
  }
  expect(await sweepAll()).toEqual({ role_assignments: 2 });
  expect((await left('role_assignments', 'id', ids)).sort()).toEqual([ids[1], ids[3], ids[4]].sort());
});

test('locked rows are left to the next run, which waits for nothing', async () => {
  await query(
    `insert into revoked_access_tokens select gen_random_uuid(), ${ago('1 hour')} from generate_series(1, 3)`,
  );
  await asOwner(async (client) => {
    await client.query('begin');
    await client.query('select from revoked_access_tokens where expires_at < now() limit 1 for update');
    expect(await sweepAll()).toEqual({ revoked_access_tokens: 2 });
    await client.query('rollback');
  }, api.database.ownerUrl);
  expect(await sweepAll()).toEqual({ revoked_access_tokens: 1 });
});

test('each batch of a run begins where the previous one ended, since the index may keep deleted rows for long', async () => {
  await query(
    `insert into revoked_access_tokens select gen_random_uuid(), ${ago('1 day')} + i * interval '1 second' from generate_series(1, 4) i`,
  );
  const { sweep } = createHousekeeping({ db: api.database.db, now: () => new Date(), auditRetentionDays: 365 });
  const first = await sweep({ rule: 'revoked_access_tokens', after: null, looked: 0 }, 2);
  expect(first).toMatchObject({
    deleted: 2,
    next: { rule: 'revoked_access_tokens', after: expect.stringMatching(/^2/) },
  });
  await query(`insert into revoked_access_tokens select gen_random_uuid(), ${ago('2 days')}`); // its time has passed
  const second = await sweep(first.next, 2);
  expect(second).toMatchObject({ deleted: 2 });
  expect(await sweep(second.next, 2)).toMatchObject({
    deleted: 0,
    next: { rule: expect.not.stringMatching(/revoked/) },
  });
  expect(await sweepAll()).toEqual({ revoked_access_tokens: 1 }); // the next run deletes it
});
