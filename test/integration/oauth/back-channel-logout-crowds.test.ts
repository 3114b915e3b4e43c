import { afterAll, expect, test } from '@jest/globals';
import { logoutsInsert } from '../../../src/domain/logout-tokens/queue.js';
import { newProvider } from '../../support/oauth/provider.js';
import { tokensFor } from '../../support/oauth/tokens.js';

const world = await newProvider();
afterAll(() => world.close());

// Without statistics PostgreSQL may take a second index for the Environment, and read all of its entries per session.
test('the clients of a session are found by its grants alone, also in a database that was just restored', async () => {
  const environment = await world.newEnvironment();
  const { email } = await environment.newIdentity();
  await tokensFor(world.browser(), await environment.newClient(), email);
  await world.query(
    `insert into sessions (id, account_id, environment_id, identity_id, browser_hash, authenticated_at, amr, acr, created_at, expires_at)
     select gen_random_uuid(), account_id, environment_id, identity_id, sha256(n::text::bytea), authenticated_at, amr, acr, created_at, expires_at
     from sessions, generate_series(1, 20000) n`,
  );
  await world.query(
    `insert into grants (id, account_id, environment_id, oauth_client_id, identity_id, session_id, scope, authenticated_at, amr, acr, created_at, expires_at)
     select gen_random_uuid(), g.account_id, g.environment_id, g.oauth_client_id, g.identity_id, s.id, g.scope, g.authenticated_at, g.amr, g.acr, g.created_at, g.expires_at
     from grants g, sessions s, generate_series(1, 5) where s.id <> g.session_id`,
  );
  const explain = `explain (analyze, buffers, timing off, format json)
    with ended as materialized (
      select account_id, environment_id, identity_id, id as session_id, gen_random_uuid() as event_id from sessions limit 100
    ) ${logoutsInsert('ended')}`;
  const [row] = await world.db.transaction('system', (tx) =>
    tx.query<{ 'QUERY PLAN': [{ Plan: { 'Shared Hit Blocks': number } }] }[]>(explain),
  );
  // Per session: the pages of an index down to its entries, its grants, and their client.
  expect(row!['QUERY PLAN'][0].Plan['Shared Hit Blocks']).toBeLessThan(100 * 25);
});
