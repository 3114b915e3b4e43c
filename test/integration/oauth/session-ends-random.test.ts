import { decodeJwt } from 'jose';
import { seconds } from '../../../src/platform/clock.js';
import { loopback } from '../../../src/platform/outbound/addresses.js';
import { type BentProvider, startBentProvider } from '../../support/bent-provider.js';
import { newProvider } from '../../support/oauth/provider.js';
import { postToken } from '../../support/oauth/tokens.js';
import { createRandom } from '../../support/random.js';
import { byWeight, live, seedsOf } from '../../support/random-histories.js';
import { newProviderKey } from '../../support/saml/provider.js';
import { newSamlProvider } from '../../support/saml/sign-in.js';
import type { Grant, Told } from '../../support/session-ends/model.js';
import * as others from '../../support/session-ends/others.js';
import { openIdLogout, openIdLogoutAgain, samlLogout } from '../../support/session-ends/provider-messages.js';
import { open } from '../../support/session-ends/sign-ins.js';
import { signOut, signOutByToken } from '../../support/session-ends/sign-outs.js';
import { comesForIt, isAnswered } from '../../support/session-ends/waiting-answers.js';
import { type LivePlace, newWorld, type Parts, type World } from '../../support/session-ends/world.js';
import { startReceiver } from '../../support/webhooks.js';

/**
 * Random histories of people who are signed in at several applications in several browsers, by passwords and by the
 * SAML and OpenID providers of two organizations: applications sign them out, providers report sign-outs, people and
 * administrators end sessions, and time passes. Compared with the rules (docs/sso.md, docs/sso-saml.md, docs/clients.md,
 * decisions 0006, 0046 and 0110) in their plainest form: which sessions and tokens are alive, who gets which logout
 * token, where the browser is sent, and that nobody else's session ends.
 */

let parts: Parts;
beforeAll(async () => {
  const oidc: BentProvider = await startBentProvider();
  oidc.discovery.end_session_endpoint = `${oidc.issuer}/end`;
  const [service, saml, strangersKey, receiver] = await Promise.all([
    newProvider({ allowedNetworks: loopback, startsAt: new Date() }),
    newSamlProvider(),
    newProviderKey(),
    startReceiver((_message, _before, response) => response.writeHead(200).end()),
  ]);
  parts = { service, saml, oidc, strangersKey, receiver };
});
afterAll(() => Promise.all([parts.service.close(), parts.oidc.stop(), parts.receiver.stop()]));

const steps = byWeight<(it: World) => Promise<string>>([
  [16, open],
  [8, signOut],
  [2, signOutByToken],
  [5, isAnswered],
  [2, comesForIt],
  [4, samlLogout],
  [4, openIdLogout],
  [1, openIdLogoutAgain],
  [1, others.changesOwnPassword],
  [1, others.endsAnother],
  [1, others.setsPassword],
  [1, others.endsSessions],
  [2, others.activates],
  [1, others.takesBack],
  [1, others.replaces],
  [2, others.refreshes],
  [1, others.switchesLogout],
  [1, others.changesLives],
  [3, others.waits],
]);

const lineOf = ({ to, sid, sub = 'no sub' }: Told) => `${to} ${sid} ${sub}`;

/** Expects the applications to get exactly the logout tokens that are due. */
async function expectTold(it: World, before: Map<string, number>): Promise<void> {
  const { model, receiver, delivery, environment, service } = it;
  const rows = await delivery.deliver(environment.accountId);
  expect(rows.filter(({ status }) => status !== 'succeeded')).toEqual([]);
  const told: Told[] = [];
  for (const to of new Set([...it.applications, ...it.removed].map(({ receivesAt }) => receivesAt))) {
    if (to === null) continue;
    const all = receiver.at(to);
    for (const { body } of all.slice(before.get(to) ?? 0)) {
      const { sid, sub, aud, iss } = decodeJwt(new URLSearchParams(body).get('logout_token') ?? '');
      const { client } = [...it.applications, ...it.removed].find(({ receivesAt }) => receivesAt === to)!;
      expect([aud, iss]).toEqual([client.clientId, service.baseUrl]);
      told.push({ to, sid: sid as string, sub });
    }
    before.set(to, all.length);
  }
  const due = model.due.splice(0);
  expect(told.map(lineOf).sort()).toEqual(due.map(lineOf).sort());
}

/** Expects exactly the model's sessions to be alive, and the latest tokens to work or not. */
async function expectTheModel(it: World): Promise<void> {
  const { model, environment, service, now } = it;
  const alive = await service.query<{ id: string }>(
    'select id from sessions where account_id = $1 and revoked_at is null order by id',
    [environment.accountId],
  );
  const expected = model.sessions.filter(({ isAlive }) => isAlive).map(({ id }) => id);
  expect(alive.map(({ id }) => id)).toEqual(expected.sort());
  const shown = [...model.sessions.filter(({ isAlive }) => isAlive).slice(-4), ...model.sessions.slice(-2)];
  for (const { at, grants } of new Set(shown))
    for (const grant of grants.slice(-3)) {
      const { refresh, access } = model.isGood(grant, now());
      const isActive = (which: 'refresh' | 'access') => introspected(it, at as LivePlace, grant[which]);
      expect([await isActive('refresh'), await isActive('access')]).toEqual([refresh, access]);
    }
}

async function introspected({ service }: World, { server }: LivePlace, token: Grant['access']): Promise<boolean> {
  return (await postToken(service.app, server, { token }, '/oauth/introspect')).json().active;
}

test.each(seedsOf(1, 2, 6))(
  'in every history, exactly what should has ended, and everybody is told: %i',
  async (seed) => {
    const it = await newWorld(parts, createRandom(seed));
    const seen = new Map<string, number>();
    await live(seed, 90, async (tell) => {
      it.service.wait(seconds(1));
      const step = it.random.of(steps);
      tell(step.name);
      tell(`  ${await step(it)}`);
      await expectTold(it, seen);
      await expectTheModel(it);
    });
  },
);
