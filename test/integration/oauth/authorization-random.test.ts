import { hours, minutes, seconds } from '../../../src/platform/clock.js';
import { outcomeOf } from '../../support/answers.js';
import { startApi, type TestApi } from '../../support/api.js';
import type { Person } from '../../support/oauth/authorization-states.js';
import { signInElsewhere, visit } from '../../support/oauth/authorization-visits.js';
import { changeSettings, newWorld, type Tell, type World } from '../../support/oauth/authorization-world.js';
import { compareTokens, redeem, refresh, revoke, sessions } from '../../support/oauth/token-visits.js';
import { setPolicy } from '../../support/organizations.js';
import { byWeight, live, seedsOf } from '../../support/random-histories.js';

/**
 * Random authorization requests of four clients, by people who sign in, go on, choose, allow, put off and deny, while
 * time passes and policies, consents and sessions change; and what becomes of the codes. Compared with what OAuth,
 * OpenID Connect and the contract say, in its plainest form.
 */

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

const someone = ({ random, model }: World) => random.of(model.people);

async function setEnvironment(it: World): Promise<void> {
  const { settings } = it.model;
  const { random } = it;
  settings.mfaPolicy = random.of(['off', 'optional', 'optional', 'required'] as const);
  settings.confirms = random.below(5) === 0;
  settings.sessionLife = random.of([hours(12), hours(12), hours(1)]);
  settings.idleLife = random.of([null, null, minutes(30)]);
  settings.tokenLife = random.of([minutes(15), minutes(15), minutes(1), hours(2)]);
  settings.grantLife = random.of([hours(90 * 24), hours(1), hours(3)]);
  await changeSettings(it, {
    ...{ mfaPolicy: settings.mfaPolicy, ssoRequireConfirmation: settings.confirms },
    ...{ sessionTtlSeconds: settings.sessionLife / 1000, accessTokenTtlSeconds: settings.tokenLife / 1000 },
    ...{
      sessionIdleTtlSeconds: settings.idleLife && settings.idleLife / 1000,
      refreshTokenMaxTtlSeconds: settings.grantLife / 1000,
    },
  });
}

async function setOrganization({ random, model, key }: World): Promise<void> {
  const { organization, policy } = model;
  const person = random.of(model.people);
  const what = random.below(5);
  if (what < 2) {
    person.isMember = !person.isMember;
    const path = `/organizations/${organization.id}/members`;
    await (person.isMember ? key('POST', path, { identity_id: person.id }) : key('DELETE', `${path}/${person.id}`));
  } else if (what === 2) {
    organization.isOpen = !organization.isOpen;
    const { version } = (await key('GET', `/nodes/${organization.id}`)).json().data;
    const status = organization.isOpen ? 'active' : 'inactive';
    expect(outcomeOf(await key('PATCH', `/nodes/${organization.id}`, { status }, version))).toBe('200');
  } else {
    Object.assign(policy, {
      requiresMfa: random.below(3) === 0,
      requiresSso: random.below(6) === 0,
      allowsPassword: random.below(6) > 0,
    });
    policy.sessionLife = random.of([null, null, minutes(30), hours(2)]);
    const allowed_methods = policy.allowsPassword ? null : ['passkey'];
    const session_ttl_seconds = policy.sessionLife && policy.sessionLife / 1000;
    await setPolicy(api.database, organization, {
      require_mfa: policy.requiresMfa,
      require_sso: policy.requiresSso,
      allowed_methods,
      session_ttl_seconds,
    });
  }
}

async function setScopes({ random, clients, scope }: World): Promise<void> {
  const client = random.of(clients);
  client.model.scopes = random.of([
    ['openid', 'profile', 'email', 'org', 'permissions'],
    ['openid', 'email'],
    ['openid', 'profile', 'email', 'org'],
  ]);
  await api.services.clientManagement.update(scope, client.id, { scopes: client.model.scopes as never });
  api.clock.advance(1000);
}

const grants = ({ tokens }: World) => tokens.codes.flatMap(({ code }) => code.grant ?? []);
async function withdraw(it: World): Promise<void> {
  const { model, key } = it;
  const [person, client] = [someone(it), it.random.of(it.clients)];
  const ended = grants(it).filter((one) => one.person === person && one.asked.client === client.model);
  const isSome = ended.some((one) => !one.isRevoked && it.now() < one.endsAt);
  const had = model.consents.delete(model.consentKey(person, client.model));
  const answer = await key('DELETE', `/identities/${person.id}/applications/${client.id}`);
  expect(outcomeOf(answer)).toBe(isSome || had ? '204' : '404 application.not_found');
  for (const one of ended) one.isRevoked = true;
}

/** Ends the sessions of a person that have not ended, with what was granted in them. */
const endSessions = (it: World, { id }: Person) => {
  const inBrowsers = it.browsers.flatMap(({ model }) => model.session ?? []);
  const ended = [...inBrowsers, ...sessions(it)].filter((one) => one.person.id === id && !one.isRevoked);
  for (const one of grants(it)) if (ended.includes(one.session)) one.isRevoked = true;
  for (const one of ended) one.isRevoked = true;
};
async function signOut(it: World): Promise<void> {
  const person = someone(it);
  await it.key('DELETE', `/identities/${person.id}/sessions`);
  endSessions(it, person);
}
async function setActive(it: World): Promise<void> {
  const person = it.model.people.find(({ isActive }) => !isActive) ?? someone(it);
  person.isActive = !person.isActive;
  const answer = await it.key('POST', `/identities/${person.id}/${person.isActive ? 'activate' : 'deactivate'}`);
  expect(answer.json().data.is_active).toBe(person.isActive);
  if (!person.isActive) endSessions(it, person);
}

type Step = (it: World, tell: Tell) => Promise<unknown>;
const visits: Step = (it, tell) => visit(it, tell, meanwhile);
const moments = [1, seconds(1), seconds(29), seconds(59), minutes(1), minutes(5)];
const steps: [number, Step][] = [
  [24, visits],
  [2, signInElsewhere],
  [12, redeem],
  [6, refresh],
  [2, revoke],
  [2, setEnvironment],
  [3, setOrganization],
  [1, setScopes],
  [1, withdraw],
  [1, signOut],
  [2, setActive],
  [4, async ({ random }) => api.clock.advance(random.of(moments))],
  [2, async ({ random }) => api.clock.advance(random.of([minutes(16), minutes(29), hours(1), hours(3), hours(13)]))],
];
const weighted = byWeight(steps);
const between: Step[] = [
  setEnvironment,
  setOrganization,
  setScopes,
  withdraw,
  async ({ random }) => api.clock.advance(random.of(moments)),
];

/** What happens while somebody looks at a page. */
async function meanwhile(it: World, tell: Tell): Promise<void> {
  const step = it.random.of(between);
  tell(`  meanwhile ${step.name || 'time'}`);
  await step(it, tell);
}

test.each(seedsOf(1, 2))(
  'in every history, people and clients get from the authorization and token endpoints what the standards and the contract say: %i',
  async (seed) => {
    const it = await newWorld(api, seed);
    await live(seed, 50, async (tell) => {
      const step = it.random.of(weighted);
      tell(`${step.name || 'time'} ${api.clock.now.toISOString()}`);
      await step(it, tell);
      await compareTokens(it);
    });
  },
  600_000,
);
