import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from '@jest/globals';
import { createHousekeeping, type SweepPlace } from '../../src/domain/housekeeping/housekeeping.js';
import { createClientManagement } from '../../src/domain/oidc/clients/management.js';
import { createOwnApplications } from '../../src/domain/sessions/own-applications.js';
import { createOwnSessions } from '../../src/domain/sessions/own-sessions.js';
import { after, hours } from '../../src/platform/clock.js';
import { asOwner } from '../support/database.js';
import { newProvider } from '../support/oauth/provider.js';
import { basicOf, refresh, tokensFor, userinfo } from '../support/oauth/tokens.js';

const world = await newProvider();
const environment = await world.newEnvironment();
afterAll(() => world.close());

const scope = () => {
  const { accountId, applicationId, environmentId } = environment;
  return { accountId, applicationId, environmentId };
};
const query = <Row>(text: string, values: unknown[] = []) => world.query<Row>(text, values);
const children = ['grants', 'authorization_codes', 'consents', 'pending_sign_ins', 'identity_links'];
const countsOf = async (clientId: string) =>
  Promise.all(
    children.map(async (table) => {
      const text = `select count(*)::int as count from ${table} where oauth_client_id = $1`;
      return (await query<{ count: number }>(text, [clientId]))[0]!.count;
    }),
  );
const remove = (id: string) => createClientManagement({ db: world.database.db, now: world.now }).remove(scope(), id);

/** Inserts `count` more rows of each kind that a person's tokens bring, which no token opens. */
async function much(client: { id: string }, identityId: string, count: number): Promise<void> {
  const { accountId, environmentId } = scope();
  const values = [accountId, environmentId, client.id, identityId, count];
  const [{ id: sessionId }] = (await query<{ id: string }>('select id from sessions where identity_id = $1 limit 1', [
    identityId,
  ])) as [{ id: string }];
  await query(
    `insert into grants (id, account_id, environment_id, oauth_client_id, identity_id, session_id, scope, authenticated_at, amr, acr, created_at, expires_at)
     select gen_random_uuid(), $1, $2, $3, $4, $6, '{}', now(), '{}', 'x', now(), now() + interval '1 day' from generate_series(1, $5::int)`,
    [...values, sessionId],
  );
  await query(
    `insert into authorization_codes (code_hash, account_id, environment_id, oauth_client_id, session_id, redirect_uri, scope, authenticated_at, amr, acr, created_at, expires_at)
     select sha256(($7::text || n)::bytea), $1, $2, $3, $6, 'x', '{}', now(), '{}', 'x', now(), now() from generate_series(1, $5::int) n where $4::uuid is not null`,
    [...values, sessionId, randomBytes(8).toString('hex')],
  );
  await query(
    `insert into consents (identity_id, oauth_client_id, account_id, environment_id, scope, created_at, updated_at)
     select $4, $3, $1, $2, '{openid}', now(), now() where $5 > 0 on conflict do nothing`,
    values,
  );
}

async function sweep(batchSize: number, at = world.now()): Promise<number> {
  const housekeeping = createHousekeeping({ db: world.database.db, now: () => at, auditRetentionDays: 365 });
  let deleted = 0;
  for (let place: SweepPlace | null = null; ; ) {
    const swept = await housekeeping.sweep(place, batchSize);
    if (swept.table === 'removed_clients') deleted += swept.deleted;
    else if (swept.table !== 'webhook_stops') return deleted;
    place = swept.next;
  }
}

const later = () => after(world.now(), hours(2));

/** Locks what the client has issued while the work runs. */
const whileHeld = (work: () => Promise<unknown>) =>
  asOwner(async (client) => {
    await client.query('begin');
    for (const table of children) await client.query(`select from ${table} for update`);
    try {
      const tooLong = sleep(5000, undefined, { ref: false }).then(() => {
        throw new Error('it waited for what the client has given out');
      });
      await Promise.race([work(), tooLong]);
    } finally {
      await client.query('rollback');
    }
  }, world.database.ownerUrl);

test('a deleted client stops working at once with all it has issued, which is deleted in batches', async () => {
  const [web, server] = [
    await environment.newClient(),
    await environment.newClient({ tokenEndpointAuthMethod: 'client_secret_basic' }),
  ];
  const ana = await environment.newIdentity();
  const tokens = await tokensFor(world.browser('198.51.100.171'), web, ana.email);
  await much(web, ana.id, 5);
  await tokensFor(world.browser('198.51.100.171'), server, ana.email);
  await whileHeld(() => remove(web.id));

  const before = await countsOf(web.id);
  expect(before.slice(0, 3)).toEqual([6, 6, 1]);
  expect((await userinfo(world.app, tokens.access_token)).statusCode).toBe(401);
  for (const token of [tokens.access_token, tokens.refresh_token as string]) {
    const introspected = await world.app.inject({
      method: 'POST',
      url: '/oauth/introspect',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        authorization: basicOf(server.clientId, server.secret as string),
      },
      payload: new URLSearchParams({ token }).toString(),
    });
    expect(introspected.json()).toEqual({ active: false });
  }
  world.wait(2000); // a process caches a client for a second
  expect((await refresh(world.app, web, tokens.refresh_token as string)).statusCode).toBe(401);
  const deps = { db: world.database.db, now: world.now };
  const applications = createOwnApplications(deps);
  expect((await applications.list(scope(), ana.id)).map(({ id }) => id)).toEqual([server.id]);
  await expect(applications.revoke(scope(), ana.id, web.id)).rejects.toThrow();
  // An expired session lives on by tokens of applications; this one's count for none.
  await query('update sessions set expires_at = $2 where identity_id = $1', [ana.id, world.now()]);
  await query('update grants set expires_at = $2 where oauth_client_id = $1', [server.id, world.now()]);
  expect(await createOwnSessions(deps).list(scope(), ana.id)).toEqual([]);

  expect(await sweep(2)).toBe(before.reduce((all, one) => all + one, 0));
  expect(await countsOf(web.id)).toEqual([0, 0, 0, 0, 0]);
  expect(await query('select from removed_clients where id = $1', [web.id])).toHaveLength(1); // a late transaction may still need it
  expect((await countsOf(server.id))[0]).toBe(1);
  await sweep(2, later());
  expect(await query('select from removed_clients where id = $1', [web.id])).toEqual([]);
});

test('locked rows are left to the next run', async () => {
  const web = await environment.newClient();
  const ben = await environment.newIdentity();
  await tokensFor(world.browser('198.51.100.172'), web, ben.email);
  await remove(web.id);
  const late = later();
  await whileHeld(() => sweep(10, late));
  expect(await query('select from removed_clients where id = $1', [web.id])).toHaveLength(1);
  await sweep(10, late);
  expect(await countsOf(web.id)).toEqual([0, 0, 0, 0, 0]);
  expect(await query('select from removed_clients where id = $1', [web.id])).toEqual([]);
});
