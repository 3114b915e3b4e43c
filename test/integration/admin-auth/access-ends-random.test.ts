import { decodeJwt } from 'jose';
import { EmailChange } from '../../../entities/email-change.js';
import { createMfaResetByOperator } from '../../../src/domain/admin-mfa/reset.js';
import { emailChangeToken } from '../../../src/domain/email-changes/link.js';
import { days, hours, minutes, seconds } from '../../../src/platform/clock.js';
import { type AdminAuth, bearer, cookieOf, newAdminAuth } from '../../support/admin-auth.js';
import { withFactors } from '../../support/admin-mfa.js';
import { outcomeOf } from '../../support/answers.js';
import { aLateOne, createRandom, type Random } from '../../support/random.js';
import { byWeight, live, seedsOf } from '../../support/random-histories.js';

/**
 * Random histories of two administrators, one with an app and two Applications to choose from: they sign in, ask for
 * links, change their password and their address, sign out here and there, and an operator resets their factors. After
 * each step exactly those sessions are alive that should be; and whatever was begun before works or does not, as the
 * contract (§4) and docs/decisions/0107 say.
 */

let auth: AdminAuth;
beforeAll(async () => {
  auth = await newAdminAuth();
});
afterAll(() => auth.close());

const tokenLife = minutes(15);
const challengeLife = minutes(10);
const selectionLife = minutes(5);
const proofLife = minutes(10);
const linkLife = hours(1);
const changeLife = hours(24);

interface Person {
  id: string;
  email: string;
  password: string;
  applications: string[];
  app: { code(): string } | null;
}
interface Begun {
  of: Person;
  token: string;
  at: number;
  isAlive: boolean;
}
/** What a session and the choice of an Application have proved, and since when. */
interface Proved {
  provedAt: number;
  isStrong: boolean;
}
type Session = Begun & Proved & { id: string };
type Selection = Begun & Proved;
/** A new address that waits for its link. */
type Change = Begun & { in: Session; email: string; cookie: string };

class Model {
  sessions: Session[] = [];
  challenges: Begun[] = [];
  selections: Selection[] = [];
  links: Begun[] = [];
  changes: Change[] = [];

  private end = (which: readonly Begun[], of: Person) => {
    for (const one of which) if (one.of === of) one.isAlive = false;
  };
  endSession(session: Session): void {
    session.isAlive = false;
    for (const change of this.changes) if (change.in === session) change.isAlive = false;
  }
  /** Ends all sessions but one, and the sign-ins that are under way. */
  endAccess(of: Person, keep: Session | null = null): void {
    for (const one of this.sessions) if (one.of === of && one !== keep) this.endSession(one);
    this.end([...this.challenges, ...this.selections], of);
  }
  endLinks = (of: Person) => this.end(this.links, of);
  endChanges = (of: Person) => this.end(this.changes, of);
  newPassword(of: Person, password: string, keep: Session | null = null): void {
    of.password = password;
    this.endAccess(of, keep);
    this.endLinks(of);
    this.endChanges(of);
  }
}

interface World {
  model: Model;
  random: Random;
  people: Person[];
  /** Makes passwords and addresses differ. */
  count: number;
}

async function newWorld(seed: number): Promise<World> {
  const factors = withFactors(auth);
  const people: Person[] = [];
  for (const hasApp of [false, true]) {
    const user = await auth.addUser({ accounts: [hasApp ? 2 : 1] });
    const { accessToken } = await auth.sessionOf(user.id);
    const app = hasApp ? await factors.enrollTotp(accessToken) : null;
    await auth.db.transaction('system', (tx) => tx.query('delete from user_sessions where user_id = $1', [user.id]));
    const applications = user.accounts.flatMap((one) => one.applications.map(({ id }) => id));
    people.push({ id: user.id, email: user.email, password: user.password, applications, app });
  }
  return { model: new Model(), random: createRandom(seed), people, count: 0 };
}

const now = () => auth.now().getTime();
const isValid = ({ isAlive, at }: Session) => isAlive && now() < at + tokenLife;
const begun = (of: Person, token: string): Begun => ({ of, token, at: now(), isAlive: true });
const newPassword = (it: World) => `quiet harbour window ${++it.count}`;

/** Keeps what a proof has led to: a session, or the choice of an Application. */
function keep({ model }: World, of: Person, answer: Awaited<ReturnType<AdminAuth['post']>>, proved: Proved): void {
  const { data } = answer.json();
  const hasChoice = of.applications.length > 1;
  expect(data.outcome).toBe(hasChoice ? 'application_selection_required' : 'authenticated');
  if (hasChoice) model.selections.push({ ...begun(of, data.selection_token), ...proved });
  else keepSession(model, of, data.access_token, proved);
}
const keepSession = (model: Model, of: Person, token: string, proved: Proved) =>
  model.sessions.push({ ...begun(of, token), ...proved, id: decodeJwt(token).sid as string });

async function signIn(it: World, of: Person): Promise<void> {
  const answer = await auth.post('/login', { email: of.email, password: of.password });
  expect(outcomeOf(answer)).toBe('200');
  if (of.app === null) return keep(it, of, answer, { provedAt: now(), isStrong: false });
  const { outcome, challenge_token } = answer.json().data;
  expect(outcome).toBe('mfa_required');
  it.model.challenges.push(begun(of, challenge_token));
}

async function answerChallenge(it: World, challenge = aLateOne(it.random, it.model.challenges)): Promise<void> {
  if (!challenge) return;
  const { of, token, at, isAlive } = challenge;
  auth.pass(seconds(30)); // the app shows another code than the last time
  const answer = await auth.post('/mfa/challenge/totp', { challenge_token: token, code: of.app?.code() ?? '000000' });
  const isGood = isAlive && now() < at + challengeLife;
  expect(outcomeOf(answer)).toBe(isGood ? '200' : '400 mfa.challenge_invalid');
  challenge.isAlive = false;
  if (isGood) keep(it, of, answer, { provedAt: at, isStrong: true });
}

async function select({ model, random }: World, selection = aLateOne(random, model.selections)): Promise<void> {
  if (!selection) return;
  const { of, token, at, isAlive, provedAt, isStrong } = selection;
  const chosen = { selection_token: token, application_id: random.of(of.applications) };
  const answer = await auth.post('/select-application', chosen);
  const isGood = isAlive && now() < at + selectionLife;
  expect(outcomeOf(answer)).toBe(isGood ? '200' : '401');
  selection.isAlive = false;
  if (isGood) keepSession(model, of, answer.json().data.access_token, { provedAt, isStrong });
}

async function forgetPassword({ model }: World, of: Person): Promise<void> {
  expect(outcomeOf(await auth.post('/password/forgot', { email: of.email }))).toBe('200');
  model.endLinks(of); // a newer one replaces them
  model.links.push(begun(of, await auth.passwordTokenFor(of.id)));
}

async function useLink(it: World, link = aLateOne(it.random, it.model.links)): Promise<void> {
  if (!link) return;
  const { of, token, at, isAlive } = link;
  const password = newPassword(it);
  const isGood = isAlive && now() < at + linkLife;
  const answer = await auth.post('/password/reset', { token, password });
  expect(outcomeOf(answer)).toBe(isGood ? '200' : '400 password.link_invalid');
  if (isGood) it.model.newPassword(of, password);
}

async function changePassword(it: World): Promise<void> {
  const session = aLateOne(it.random, it.model.sessions);
  if (!session) return;
  const { of, token } = session;
  const password = newPassword(it);
  const wanted = { current_password: of.password, new_password: password };
  const answer = await auth.put('/password', wanted, bearer(token));
  expect(outcomeOf(answer)).toBe(isValid(session) ? '200' : '401');
  if (answer.statusCode === 200) it.model.newPassword(of, password, session);
}

async function requestEmail(it: World): Promise<void> {
  const { model, random } = it;
  const session = aLateOne(random, model.sessions);
  if (!session) return;
  const { of, token, provedAt, isStrong } = session;
  const email = `${++it.count}.${of.id}@new.example.com`;
  const answer = await auth.post('/email', { email }, bearer(token));
  const isEnough = now() < provedAt + proofLife && (of.app === null || isStrong);
  const expected = isEnough ? '200' : '403 auth.reauthentication_required';
  expect(outcomeOf(answer)).toBe(isValid(session) ? expected : '401');
  if (answer.statusCode !== 200) return;
  model.endChanges(of); // a newer one replaces them
  const newest = { where: { userId: of.id }, order: { createdAt: 'desc', id: 'desc' } } as const;
  const row = await auth.db.transaction('system', (tx) => tx.findOneOrFail(EmailChange, newest));
  const cookie = cookieOf(answer, 'admin_email_change').value;
  model.changes.push({ ...begun(of, emailChangeToken(auth.sealing, row).token), in: session, email, cookie });
}

/** Opens the link in the browser that requested it, or in another one, with the password. */
async function confirmEmail({ model, random }: World, change = aLateOne(random, model.changes)): Promise<void> {
  if (!change) return;
  const { of, token, email, at, isAlive, in: session, cookie } = change;
  const isHere = random.below(2) === 0;
  const headers: Record<string, string> = isHere ? { cookie: `admin_email_change=${cookie}` } : {};
  const answer = await auth.post('/email/confirm', { token, ...(!isHere && { password: of.password }) }, headers);
  const isGood = isAlive && now() < at + changeLife;
  expect(outcomeOf(answer)).toBe(isGood ? '200' : '400 email_change.link_invalid');
  if (!isGood) return;
  of.email = email;
  model.endAccess(of, session);
  model.endLinks(of);
  model.endChanges(of);
}

async function withdrawEmail({ model, random }: World): Promise<void> {
  const session = aLateOne(random, model.sessions);
  if (!session) return;
  expect(outcomeOf(await auth.delete('/email', bearer(session.token)))).toBe(isValid(session) ? '204' : '401');
  if (isValid(session)) model.endChanges(session.of);
}

async function signOut({ model, random }: World): Promise<void> {
  const session = aLateOne(random, model.sessions);
  if (!session) return;
  expect(outcomeOf(await auth.post('/logout', undefined, bearer(session.token)))).toBe('204');
  if (isValid(session)) model.endSession(session);
}

async function endAnother({ model, random }: World): Promise<void> {
  const [session, other] = [aLateOne(random, model.sessions), aLateOne(random, model.sessions)];
  if (!session || !other) return;
  const answer = await auth.delete(`/sessions/${other.id}`, bearer(session.token));
  const isTheirs = other.isAlive && other.of === session.of;
  expect(outcomeOf(answer)).toBe(!isValid(session) ? '401' : isTheirs ? '204' : '404 session.not_found');
  if (answer.statusCode === 204) model.endSession(other);
}

async function operatorResets({ model }: World, of: Person): Promise<void> {
  const reset = createMfaResetByOperator({ db: auth.db, now: auth.now });
  expect(await reset(of.email)).toBe(true);
  of.app = null;
  model.endAccess(of);
}

type Step = (it: World, of: Person) => Promise<unknown>;
const steps: Record<string, [weight: number, Step]> = {
  signIn: [12, signIn],
  answerChallenge: [7, (it) => answerChallenge(it)],
  select: [8, (it) => select(it)],
  forgetPassword: [3, forgetPassword],
  useLink: [4, (it) => useLink(it)],
  changePassword: [3, changePassword],
  requestEmail: [5, requestEmail],
  confirmEmail: [6, (it) => confirmEmail(it)],
  withdrawEmail: [1, withdrawEmail],
  signOut: [1, signOut],
  endAnother: [2, endAnother],
  operatorResets: [1, operatorResets],
  wait: [1, async ({ random }) => auth.pass(random.of([minutes(4), minutes(9), minutes(16), hours(1), days(1)]))],
};
const weighted = byWeight(Object.entries(steps).map(([name, [weight, step]]) => [weight, { name, step }]));
const query = <Row>(text: string, values: unknown[]) =>
  auth.db.transaction('system', (tx) => tx.query<Row[]>(text, values));

/** Expects exactly the model's sessions to be alive, and the latest tokens to work or not. */
async function compare({ model, people }: World): Promise<void> {
  const alive = await query<{ id: string }>(
    'select id from user_sessions where user_id = any($1) and revoked_at is null order by id',
    [people.map(({ id }) => id)],
  );
  const expected = model.sessions.filter(({ isAlive }) => isAlive).map(({ id }) => id);
  expect(alive.map(({ id }) => id)).toEqual(expected.sort());
  for (const session of model.sessions.slice(-3))
    expect(outcomeOf(await auth.get('/me', bearer(session.token)))).toBe(isValid(session) ? '200' : '401');
}

/** Expects the log to name each end once. */
async function expectTold({ model, people }: World): Promise<void> {
  const told = await query<{ id: string }>(
    `select ended.id from events e cross join lateral (
       select resource_id as id where action in ('auth.admin_signed_out', 'auth.admin_session_revoked')
       union all select jsonb_array_elements_text(metadata->'revoked_session_ids') where metadata ? 'revoked_session_ids') ended
     where e.actor_id = any($1) or e.resource_id = any($1) order by 1`,
    [people.map(({ id }) => id)],
  );
  const ended = model.sessions.filter(({ isAlive }) => !isAlive).map(({ id }) => id);
  expect(told.map(({ id }) => id)).toEqual(ended.sort());
}

/** Returns what waits to be used, and how. */
function underWay(it: World) {
  const { model } = it;
  const all = [
    ...model.challenges.map((one) => ({ one, use: () => answerChallenge(it, one) })),
    ...model.selections.map((one) => ({ one, use: () => select(it, one) })),
    ...model.links.map((one) => ({ one, use: () => useLink(it, one) })),
    ...model.changes.map((one) => ({ one, use: () => confirmEmail(it, one) })),
  ];
  return all.filter(({ one }) => one.isAlive);
}

async function liveAsAdministrators(seed: number): Promise<void> {
  const it = await newWorld(seed);
  await live(seed, 80, async (tell, isLast) => {
    const { name, step } = it.random.of(weighted);
    const of = it.random.of(it.people);
    tell(`${name} ${it.people.indexOf(of)} ${auth.now().toISOString()}`);
    auth.pass(seconds(1));
    const begun = underWay(it);
    await step(it, of);
    await compare(it);
    // What the step has used up or ended does nothing any more.
    await it.random.of(begun.filter(({ one }) => !one.isAlive))?.use();
    if (isLast) await expectTold(it);
  });
}

test.each(seedsOf(1, 10))(
  'in every history, exactly what should has ended, and what was begun before works or not: %i',
  (seed) => auth.whileTimeStands(() => liveAsAdministrators(seed)),
);
