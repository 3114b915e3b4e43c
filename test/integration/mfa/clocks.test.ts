import { type OpenSignIn, provedIn } from '../../../src/domain/logins/pending-sign-ins.js';
import { firstFactor } from '../../../src/domain/sessions/first-factor.js';
import { minutes } from '../../../src/platform/clock.js';
import { newProvider, type TestProvider } from '../../support/oauth.js';

/** A new password is set by an api whose clock is behind: a sign-in with the former one is found all the same. */

let world: TestProvider;
beforeAll(async () => {
  world = await newProvider();
});
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

test('when it goes on to a second factor', async () => {
  const { begin, change } = await someone();
  expect((await begin()).email).not.toBeNull();
  await change();
  expect((await begin()).email).toBeNull();
});

test('when the second factor was right', async () => {
  const { begin, change, signIn } = await someone();
  const { token } = await begin();
  const pending = (await world.logins.pendingSignIns.find(token, 'hosted')) as OpenSignIn;
  await change();
  await expect(signIn(pending)).rejects.toMatchObject({ code: 'auth.invalid_credentials' });
});
