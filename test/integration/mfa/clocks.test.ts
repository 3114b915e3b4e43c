import { type OpenSignIn, provedIn } from '../../../src/domain/logins/pending-sign-ins.js';
import { firstFactor } from '../../../src/domain/sessions/first-factor.js';
import { minutes } from '../../../src/platform/clock.js';
import { apiOf } from '../../support/identity-auth.js';
import { newProvider } from '../../support/oauth/provider.js';

/** A new password is set by an api whose clock is off: a sign-in with it, or with the former one, is what it is. */

const world = await newProvider();
afterAll(() => world.close());

async function someone() {
  const environment = await world.newEnvironment();
  const client = await environment.newClient();
  const ana = await environment.newIdentity();
  const { passwordChangedAt, email } = ana;
  const first = firstFactor(ana.id, 'password', ['pwd'], { now: world.now(), passwordChangedAt, email });
  return {
    begin: () =>
      world.logins.pendingSignIns.begin({
        client: { ...environment, id: client.id },
        channel: 'hosted',
        purpose: 'challenge',
        first,
        requiresAal2: false,
        parameters: { client_id: client.clientId },
      }),
    signIn: (pending: OpenSignIn) =>
      world.provider.sessions.signIn({
        scope: environment,
        ...provedIn(pending),
        lifeSeconds: 60,
        browser: null,
        ipAddress: '192.0.2.1',
        userAgent: null,
      }),
    change: () =>
      world.query('update identities set password_changed_at = $2 where id = $1', [
        ana.id,
        new Date(world.now().getTime() - minutes(1)),
      ]),
  };
}

test('a sign-in by the API with a password that was set by an api whose clock is ahead', async () => {
  const environment = await world.newEnvironment();
  const client = await environment.newClient();
  const passwordChangedAt = new Date(world.now().getTime() + minutes(1));
  const ana = await environment.newIdentity({ passwordChangedAt });
  expect((await apiOf(world).login(client, ana)).statusCode).toBe(200);
});

test('a sign-in with the former password is found when it goes on to a second factor', async () => {
  const { begin, change } = await someone();
  expect((await begin()).email).not.toBeNull();
  await change();
  expect((await begin()).email).toBeNull();
});

test('and when the second factor was right', async () => {
  const { begin, change, signIn } = await someone();
  const { token } = await begin();
  const pending = (await world.logins.pendingSignIns.find(token, 'hosted')) as OpenSignIn;
  await change();
  await expect(signIn(pending)).rejects.toMatchObject({ code: 'auth.invalid_credentials' });
});
