import { afterAll, beforeEach, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { createApiGrants } from '../../../src/domain/logins/api-grants.js';
import { createClientManagement } from '../../../src/domain/oidc/clients/management.js';
import { endSessions } from '../../../src/domain/sessions/end-sessions.js';
import { fanOutWebhooks } from '../../../src/domain/webhooks/fan-out.js';
import { apiOf } from '../../support/identity-auth.js';
import { untilWaiting } from '../../support/lock-waits.js';
import type { TestClient, TestEnvironment, TestIdentity } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';
import { codeFor } from '../../support/oauth/sign-in.js';
import { redeem } from '../../support/oauth/tokens.js';
import { comingUpon } from '../../support/uncommitted.js';

/** A client that is given something while the session ends: it gets nothing, or is told of the end. */

let environment: TestEnvironment;
let client: TestClient;
let ana: TestIdentity;

const world = await newProvider();
afterAll(() => world.close());
beforeEach(async () => {
  environment = await world.newEnvironment();
  client = await environment.newClient();
  ana = await environment.newIdentity();
});

type Transaction = Parameters<typeof endSessions>[0];
const end = (tx: Transaction) => endSessions(tx, environment, ana.id, { reason: 'ended_by_person', at: world.now() });
const code = (email = ana.email) => codeFor(world.browser(), client, email);
const outcomeOf = (answer: Awaited<ReturnType<typeof redeem>>) => answer.json().error ?? 'tokens';

test('a code whose redemption has begun when the session ends gets nothing, as its client is told of no end', async () => {
  await createClientManagement({ db: world.db, now: world.now }).update(environment, client.id, {
    backchannelLogoutUri: 'https://shop.example.com/logout',
  });
  const shown = await code();
  const { answer } = await world.db.transaction('system', async (tx) => {
    await tx.query('select from authorization_codes where oauth_client_id = $1 for update', [client.id]);
    const answer = Promise.resolve(redeem(world.app, client, shown)); // it has read what was so before it waits
    answer.catch(() => undefined);
    await untilWaiting(world.database.ownerUrl, 1);
    await world.db.transaction(environment, end);
    expect(await fanOutWebhooks(world.db, 100)).toMatchObject({ events: 1, deliveries: 0 });
    return { answer };
  });
  expect(outcomeOf(await answer)).toBe('invalid_grant');
});

/** Locks Ana as a new password, another address and a deactivation do, before they end the sessions. */
const holdAna = (tx: Transaction) => tx.query('select from identities where id = $1 for update', [ana.id]);

test('a code whose person is locked before the session ends waits, and keeps the end from nothing', async () => {
  const shown = await code();
  const { answer } = await world.db.transaction('system', async (tx) => {
    await holdAna(tx);
    const answer = Promise.resolve(redeem(world.app, client, shown));
    answer.catch(() => undefined);
    await untilWaiting(world.database.ownerUrl, 1);
    await end(tx);
    return { answer };
  });
  expect(outcomeOf(await answer)).toBe('invalid_grant');
});

test('of two codes that are redeemed at once, the one whose session is ending waits, and gets nothing', async () => {
  const both = [await code(), await code((await environment.newIdentity()).email)];
  const answers = await comingUpon(world.database, end, () =>
    Promise.all(both.map((one) => redeem(world.app, client, one))),
  );
  expect(answers.map(outcomeOf)).toEqual(['invalid_grant', 'tokens']);
});

test('of two codes that are redeemed at once, the one whose session only changes waits, and gets its tokens', async () => {
  const both = [await code(), await code((await environment.newIdentity()).email)];
  const use = 'update sessions set used_at = used_at where identity_id = $1';
  const answers = await comingUpon(
    world.database,
    (tx) => tx.query(use, [ana.id]),
    () => Promise.all(both.map((one) => redeem(world.app, client, one))),
  );
  expect(answers.map(outcomeOf)).toEqual(['tokens', 'tokens']);
});

test('a sign-in by the API gets nothing if its session ends before its tokens are made', async () => {
  const { access_token } = await apiOf(world).signedIn(client, ana);
  const grants = createApiGrants({ db: world.db, now: world.now });
  const cached = await world.provider.clients.find(client.clientId);
  const { issued } = await world.db.transaction('system', async (tx) => {
    await holdAna(tx);
    const issued = grants.issue(cached!, decodeJwt(access_token).sid as string, ['openid']);
    issued.catch(() => undefined);
    await untilWaiting(world.database.ownerUrl, 1);
    await end(tx);
    return { issued };
  });
  expect(await issued).toBeNull();
});
