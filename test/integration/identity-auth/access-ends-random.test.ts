import { decodeJwt } from 'jose';
import { setActive } from '../../../src/domain/identities/activation.js';
import { changeIdentity } from '../../../src/domain/identities/change.js';
import { forceReset, setPassword } from '../../../src/domain/identities/credentials.js';
import { identityLinkToken } from '../../../src/domain/one-time/identity-links.js';
import { endSessions } from '../../../src/domain/sessions/end-sessions.js';
import { hours, minutes, seconds } from '../../../src/platform/clock.js';
import { environmentScopeOf } from '../../../src/platform/scope.js';
import { AccessModel, type Person, type Place, type Session } from '../../support/access-ends.js';
import { outcomeOf } from '../../support/answers.js';
import { apiOf, bearer } from '../../support/identity-auth.js';
import { enrollTotp } from '../../support/mfa.js';
import { password as firstPassword } from '../../support/oauth/environment.js';
import { newProvider, type TestProvider } from '../../support/oauth/provider.js';
import { newOther } from '../../support/other-environment.js';
import { hashPassword } from '../../support/password-hashing.js';
import { aLateOne, createRandom, type Random } from '../../support/random.js';
import { byWeight, live, seedsOf } from '../../support/random-histories.js';

/**
 * Random histories of two people in two Environments of an Account: they sign in, with or without an app, ask for links
 * and codes, and change their password and address, while administrators do the same, end their sessions and keep them
 * out. After each step exactly those sessions are alive that should be; and whatever was begun before works or does
 * not, as the contract (§3, §4) and docs/decisions/0111 say.
 */

let provider: TestProvider;
let api: ReturnType<typeof apiOf>;
beforeAll(async () => {
  provider = await newProvider();
  api = apiOf(provider);
});
afterAll(() => provider.close());

const tokenLife = minutes(15);
const challengeLife = minutes(10);
const codeLife = minutes(10);
const proofLife = minutes(10);
const linkLife = hours(1);
const maxTries = 5;

interface World {
  model: AccessModel;
  random: Random;
  places: Place[];
  people: Person[];
  /** Makes passwords and addresses differ. */
  count: number;
}

async function newWorld(seed: number): Promise<World> {
  const settings = { allowEmailChange: true, mfaPolicy: 'optional' as const };
  const here = await provider.newEnvironment(settings);
  const there = await newOther(provider, here, { settings });
  const { accountId } = here;
  const places = [
    { scope: environmentScopeOf(here), client: await here.newClient() },
    { scope: environmentScopeOf({ ...there, accountId }), client: there.client },
  ];
  const people: Person[] = [];
  for (const hasApp of [false, true]) {
    const { id, email } = await here.newIdentity();
    await there.join(id);
    const app = hasApp ? await enrollTotp(provider, here, { id, email }) : null;
    people.push({ id, email, password: firstPassword, app, keptOutOf: new Set() });
  }
  return { model: new AccessModel(), random: createRandom(seed), places, people, count: 0 };
}

const now = () => provider.now().getTime();
const isValid = ({ isAlive, issuedAt }: Session) => isAlive && now() < issuedAt + tokenLife;
const newPassword = (it: World) => `quiet harbour window ${++it.count}`;
const newEmail = (it: World, { id }: Person) => `${++it.count}.${id}@example.com`;

function keep({ model }: World, session: Pick<Session, 'of' | 'at' | 'access' | 'provedAt'>): void {
  const id = decodeJwt(session.access).sid as string;
  model.sessions.push({ ...session, id, issuedAt: now(), isAlive: true });
}

async function signIn(it: World, of: Person, at: Place): Promise<void> {
  const { model, places } = it;
  const answer = await api.login(at.client, of, { password: of.password ?? firstPassword });
  const isIn = (place: Place) => of.password !== null && !of.keptOutOf.has(place);
  // Somebody who is kept out here may choose the other Application.
  expect(outcomeOf(answer)).toBe(places.some(isIn) ? '200' : '401');
  if (answer.statusCode !== 200) return;
  const { data } = answer.json();
  expect(data.requires_application_selection).toBe(!isIn(at));
  if (!isIn(at)) return;
  expect(data.requires_mfa_challenge).toBe(of.app !== null);
  if (of.app === null) return keep(it, { of, at, access: data.access_token, provedAt: now() });
  model.challenges.push({ token: data.mfa_challenge.challenge_token, of, at, begunAt: now(), isAlive: true });
}

async function answerChallenge(it: World, challenge = aLateOne(it.random, it.model.challenges)): Promise<void> {
  if (!challenge) return;
  const { of, at, token, begunAt, isAlive } = challenge;
  provider.wait(seconds(30)); // the app shows another code than the last time
  const answer = await api.post('/mfa/challenge/totp', { challenge_token: token, code: of.app?.code() });
  const isGood = isAlive && now() < begunAt + challengeLife;
  expect(outcomeOf(answer)).toBe(isGood ? '200' : '400 mfa.challenge_invalid');
  challenge.isAlive = false;
  if (isGood) keep(it, { of, at, access: answer.json().data.access_token, provedAt: begunAt });
}

/** Keeps the newest link that was mailed to a person, which replaces older ones. */
async function linkMailed({ model }: World, of: Person, at: Place): Promise<void> {
  for (const link of model.links) if (link.of === of) link.isAlive = false;
  const [row] = await provider.query<{ id: string; tokenKeyId: string }>(
    `select id, token_key_id as "tokenKeyId" from identity_links where identity_id = $1 order by id desc limit 1`,
    [of.id],
  );
  model.links.push({ token: identityLinkToken(provider.sealing, row!).token, of, at, madeAt: now(), isAlive: true });
}

async function forgetPassword(it: World, of: Person, at: Place): Promise<void> {
  const asked = { client_id: at.client.clientId, email: of.email };
  expect(outcomeOf(await api.post('/password/forgot', asked))).toBe('200');
  if (!of.keptOutOf.has(at)) await linkMailed(it, of, at);
}

async function useLink(it: World, link = aLateOne(it.random, it.model.links)): Promise<void> {
  if (!link) return;
  const { of, at, token, madeAt, isAlive } = link;
  const password = newPassword(it);
  const answer = await api.post('/password/reset', { client_id: at.client.clientId, token, password });
  const isGood = isAlive && now() < madeAt + linkLife && !of.keptOutOf.has(at);
  expect(outcomeOf(answer)).toBe(isGood ? '200' : '400 password.link_invalid');
  if (isGood) it.model.newPassword(of, password);
}

async function requestEmail(it: World): Promise<void> {
  const { model, random } = it;
  const session = aLateOne(random, model.sessions);
  if (!session) return;
  const email = newEmail(it, session.of);
  const answer = await api.post('/email', { email }, bearer(session.access));
  const isRecent = now() < session.provedAt + proofLife;
  const expected = isRecent ? '200' : '403 auth.reauthentication_required';
  expect(outcomeOf(answer)).toBe(isValid(session) ? expected : '401');
  if (answer.statusCode !== 200) return;
  for (const code of model.codes) if (code.in === session) code.isAlive = false;
  const digits = await provider.mailedCode('email_change');
  model.codes.push({ digits, in: session, email, madeAt: now(), tries: 0, usedAt: null, isAlive: true });
}

async function confirmEmail({ model, random }: World, code = aLateOne(random, model.codes)): Promise<void> {
  if (!code) return;
  const { in: session, digits, email, madeAt } = code;
  const newest = model.codes.findLast((one) => one.in === session);
  const isGood = code.isAlive && now() < madeAt + codeLife && code.tries < maxTries;
  // Whoever sends it once more within a minute is answered like the first time.
  const isRepeated = code === newest && code.usedAt !== null && now() - code.usedAt < minutes(1);
  const answer = await api.post('/email/confirm', { code: digits }, bearer(session.access));
  expect(outcomeOf(answer)).toBe(
    !isValid(session) ? '401' : isGood || isRepeated ? '200' : '400 email_change.code_invalid',
  );
  if (answer.statusCode === 400 && newest) newest.tries++;
  if (answer.statusCode !== 200 || !isGood) return;
  model.endAccess(session.of, null, session);
  model.newAddress(session.of, email);
  code.usedAt = now();
}

async function changePassword(it: World): Promise<void> {
  const session = aLateOne(it.random, it.model.sessions);
  if (!session || session.of.password === null) return;
  const { of, access } = session;
  const password = newPassword(it);
  const answer = await api.put('/password', { current_password: of.password, new_password: password }, bearer(access));
  expect(outcomeOf(answer)).toBe(isValid(session) ? '200' : '401');
  if (answer.statusCode === 200) it.model.newPassword(of, password, session);
}

async function signOut({ model, random }: World): Promise<void> {
  const session = aLateOne(random, model.sessions);
  if (!session) return;
  expect(outcomeOf(await api.post('/logout', undefined, bearer(session.access)))).toBe('204');
  if (isValid(session)) session.isAlive = false;
}

async function endAnother({ model, random }: World): Promise<void> {
  const [session, other] = [aLateOne(random, model.sessions), aLateOne(random, model.sessions)];
  if (!session || !other) return;
  const answer = await api.delete(`/sessions/${other.id}`, bearer(session.access));
  const isTheirs = other.isAlive && other.of === session.of && other.at === session.at;
  expect(outcomeOf(answer)).toBe(!isValid(session) ? '401' : isTheirs ? '204' : '404 session.not_found');
  if (answer.statusCode === 204) other.isAlive = false;
}

const inAccount = ({ scope: { accountId } }: Place, work: Parameters<TestProvider['db']['transaction']>[1]) =>
  provider.db.transaction({ accountId }, work);

/** What administrators do to a person of one Environment. */
async function setsPassword(it: World, of: Person, at: Place): Promise<void> {
  const password = newPassword(it);
  const passwordHash = await hashPassword(password);
  await inAccount(at, (tx) => setPassword(tx, at.scope, of.id, { passwordHash, at: provider.now() }));
  it.model.newPassword(of, password);
}
async function forcesReset(it: World, of: Person, at: Place): Promise<void> {
  const asked = { clientId: at.client.clientId, at: provider.now() };
  await inAccount(at, (tx) => forceReset(tx, provider.sealing, at.scope, of.id, asked));
  it.model.newPassword(of, null);
  if (!of.keptOutOf.has(at)) await linkMailed(it, of, at);
}
async function changesAddress(it: World, of: Person, at: Place): Promise<void> {
  const email = newEmail(it, of);
  const wanted = { email, emailVerified: true };
  await inAccount(at, (tx) => changeIdentity(tx, at.scope, of.id, wanted, provider.now()));
  it.model.newAddress(of, email);
}
async function keepsOut({ model }: World, of: Person, at: Place): Promise<void> {
  await inAccount(at, (tx) => setActive(tx, at.scope, of.id, { isActive: false, at: provider.now() }));
  of.keptOutOf.add(at);
  model.endAccess(of, at);
}
async function letsIn(_: World, of: Person, at: Place): Promise<void> {
  await inAccount(at, (tx) => setActive(tx, at.scope, of.id, { isActive: true, at: provider.now() }));
  of.keptOutOf.delete(at);
}
async function endsSessions({ model }: World, of: Person, at: Place): Promise<void> {
  const ending = { reason: 'ended_by_administrator', at: provider.now() };
  await inAccount(at, (tx) => endSessions(tx, at.scope, of.id, ending));
  model.endAccess(of, at);
}

type Step = (it: World, of: Person, at: Place) => Promise<unknown>;
const steps: Record<string, [weight: number, Step]> = {
  signIn: [10, signIn],
  answerChallenge: [6, (it) => answerChallenge(it)],
  forgetPassword: [4, forgetPassword],
  useLink: [4, (it) => useLink(it)],
  requestEmail: [4, requestEmail],
  confirmEmail: [5, (it) => confirmEmail(it)],
  changePassword: [3, changePassword],
  signOut: [1, signOut],
  endAnother: [2, endAnother],
  setsPassword: [1, setsPassword],
  forcesReset: [1, forcesReset],
  changesAddress: [2, changesAddress],
  keepsOut: [2, keepsOut],
  letsIn: [4, letsIn],
  endsSessions: [1, endsSessions],
  wait: [1, async ({ random }) => provider.wait(random.of([minutes(4), minutes(9), minutes(16), hours(1)]))],
};
const weighted = byWeight(Object.entries(steps).map(([name, [weight, step]]) => [weight, { name, step }]));

/** Expects exactly the model's sessions to be alive, and the latest tokens to work or not. */
async function compare({ model, people }: World): Promise<void> {
  const alive = await provider.query<{ id: string }>(
    'select id from sessions where identity_id = any($1) and revoked_at is null order by id',
    [people.map(({ id }) => id)],
  );
  const expected = model.sessions.filter(({ isAlive }) => isAlive).map(({ id }) => id);
  expect(alive.map(({ id }) => id)).toEqual(expected.sort());
  for (const session of model.sessions.slice(-3))
    expect(outcomeOf(await api.get('/me', bearer(session.access)))).toBe(isValid(session) ? '200' : '401');
}

/** Expects applications to have been told once of each end, in the session's Environment. */
async function expectTold({ model, people }: World): Promise<void> {
  const told = await provider.query<{ end: string }>(
    `select environment_id || ' ' || ended.id as end from events e cross join lateral (
       select metadata->>'session_id' as id where action = 'identity.signed_out'
       union all select jsonb_array_elements_text(metadata->'session_ids') where action = 'identity.sessions_revoked') ended
     where e.resource_id = any($1) order by 1`,
    [people.map(({ id }) => id)],
  );
  const ended = model.sessions.filter(({ isAlive }) => !isAlive);
  expect(told.map(({ end }) => end)).toEqual(ended.map(({ id, at }) => `${at.scope.environmentId} ${id}`).sort());
}

/** Returns what waits to be used, and how. */
function underWay(it: World) {
  const { model } = it;
  const all = [
    ...model.challenges.map((one) => ({ one, use: () => answerChallenge(it, one) })),
    ...model.links.map((one) => ({ one, use: () => useLink(it, one) })),
    ...model.codes.map((one) => ({ one, use: () => confirmEmail(it, one) })),
  ];
  return all.filter(({ one }) => one.isAlive);
}

test.each(seedsOf(1, 2))(
  'in every history, exactly what should has ended, and what was begun before works or not: %i',
  async (seed) => {
    const it = await newWorld(seed);
    await live(seed, 80, async (tell, isLast) => {
      const { name, step } = it.random.of(weighted);
      const [of, at] = [it.random.of(it.people), it.random.of(it.places)];
      tell(`${name} ${it.people.indexOf(of)} ${it.places.indexOf(at)} ${provider.now().toISOString()}`);
      provider.wait(seconds(1));
      const begun = underWay(it);
      await step(it, of, at);
      await compare(it);
      // What the step has used up or ended does nothing any more.
      await it.random.of(begun.filter(({ one }) => !one.isAlive))?.use();
      if (isLast) await expectTold(it);
    });
  },
);
