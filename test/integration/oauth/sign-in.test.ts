import { afterAll, expect, test } from '@jest/globals';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { rowsAsOwner } from '../../support/database.js';
import { newProvider } from '../../support/oauth/provider.js';
import { codeFor } from '../../support/oauth/sign-in.js';
import { redeem, refresh, userinfo } from '../../support/oauth/tokens.js';

const world = await newProvider();
const environment = await world.newEnvironment();
const client = await environment.newClient();
afterAll(() => world.close());

test('a person signs in on the page and the client gets verifiable tokens, userinfo and new tokens', async () => {
  const ana = await environment.newIdentity();
  const flow = await codeFor(world.browser(), client, ana.email);
  const answer = await redeem(world.app, client, flow);
  expect(answer.statusCode).toBe(200);
  expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', pragma: 'no-cache' });
  const tokens = answer.json();
  expect(tokens).toMatchObject({ token_type: 'Bearer', expires_in: 900, scope: 'openid profile email' });

  const published = createLocalJWKSet((await world.app.inject('/.well-known/jwks.json')).json());
  const at = Date.parse('2026-03-01T12:00:00Z') / 1000;
  const access = await jwtVerify(tokens.access_token, published, { typ: 'at+jwt', currentDate: world.now() });
  const { accountId: account_id, applicationId: application_id, environmentId: environment_id } = environment;
  expect(access.payload).toEqual({
    iss: world.baseUrl,
    aud: world.baseUrl,
    sub: ana.id,
    client_id: client.clientId,
    iat: at,
    exp: at + 900,
    auth_time: at,
    acr: 'urn:gatehouse:aal1',
    amr: ['pwd'],
    scope: 'openid profile email',
    principal_type: 'identity',
    account_id,
    application_id,
    environment_id,
    jti: expect.any(String),
    sid: expect.any(String),
    grant_id: expect.any(String),
  });
  const id = await jwtVerify(tokens.id_token, published, { typ: 'JWT', currentDate: world.now() });
  expect(id.payload).toEqual({
    iss: world.baseUrl,
    aud: client.clientId,
    sub: ana.id,
    iat: at,
    exp: at + 900,
    auth_time: at,
    nonce: 'the nonce',
    acr: 'urn:gatehouse:aal1',
    amr: ['pwd'],
    sid: access.payload.sid,
    at_hash: expect.stringMatching(/^[\w-]{22}$/),
    name: 'Ana Arendt',
    given_name: 'Ana',
    family_name: 'Arendt',
    updated_at: at,
    email: ana.email,
    email_verified: true,
  });

  expect((await userinfo(world.app, tokens.access_token)).json()).toMatchObject({ sub: ana.id, email: ana.email });
  const refreshed = (await refresh(world.app, client, tokens.refresh_token)).json();
  expect(refreshed.id_token).toBeDefined();
  expect(refreshed.refresh_token).not.toBe(tokens.refresh_token);
  expect((await userinfo(world.app, refreshed.access_token)).statusCode).toBe(200);
});

test('people who sign in at once do not lock the same rows, those of their environment and account', async () => {
  const lockers = () =>
    rowsAsOwner(
      world.database.ownerUrl,
      'select xmax::text from environments where id = $1 union all select xmax::text from accounts where id = $2',
      [environment.environmentId, environment.accountId],
    );
  const ana = await environment.newIdentity();
  const before = await lockers();
  const answer = await redeem(world.app, client, await codeFor(world.browser(), client, ana.email));
  expect(answer.statusCode).toBe(200);
  expect(await lockers()).toEqual(before);
});
