import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import { createMfaGraces } from '../../src/domain/mfa/grace/grace.js';
import { createSigningKeys, type SigningKeys } from '../../src/domain/oidc/keys.js';
import { days, hours, minutes, seconds } from '../../src/platform/clock.js';
import { sealing } from '../support/administrators.js';
import { outcomeOf } from '../support/answers.js';
import { baseUrl, newAccount, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { rowsAsOwner } from '../support/database.js';
import { type Grace, Graces } from '../support/graces-model.js';
import { totpCode } from '../support/mfa.js';
import { type Calls, callsWith } from '../support/nodes.js';
import { newPublicClient } from '../support/public-client.js';
import { createRandom, type Random } from '../support/random.js';
import { byWeight, live, seedsOf } from '../support/random-histories.js';

/**
 * Random histories of who may sign in with what, and which of their tokens are valid: graces that begin, move and end
 * as the Environment and an organization require; people who are kept out and let in; organizations that move and are
 * disabled; signing keys that rotate by themselves and by the runbook. Compared with the contract's rules (§2, §3, §5)
 * in their plainest form.
 */

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

const password = 'violet tractor 19';
const accessTokenLife = minutes(15);
const keySetLife = days(1);

interface Person {
  id: string;
  email: string;
  isActive: boolean;
  isMember: boolean;
  app: { id: string; secret: string } | null;
  grace: Grace | null;
}
interface Tokens {
  of: Person;
  access: string;
  refresh: string;
  issuedAt: number;
  hasEnded: boolean;
  /** Whether its signing key has been deleted. */
  isForeign: boolean;
}

/** Keeps the state as a reader of the contract would. */
class Model {
  policy: 'off' | 'optional' | 'required' = 'optional';
  graceDays = 7;
  people: Person[] = [];
  tokens: Tokens[] = [];
  /** Whether their organization, and the node above it, require MFA. */
  requiresMfa = false;
  isOpen = { organization: true, above: true };
  isUnder = false;
  graces = new Graces();

  asks = ({ isMember }: Person) =>
    this.policy === 'required' ||
    (isMember && this.requiresMfa && this.isOpen.organization && (!this.isUnder || this.isOpen.above));

  /** Returns the outcome of the right password, and until when a factor can be postponed. */
  signIn(person: Person, at: number): { outcome: string; until: number | null } {
    if (!person.isActive) return { outcome: '401', until: null };
    const done = { outcome: 'signed in', until: null };
    if (person.app) return this.policy === 'off' && !this.asks(person) ? done : { outcome: 'challenge', until: null };
    if (!this.asks(person)) return done;
    const until = this.graces.endOf(person, this.graceDays, at);
    if (until === null || until <= at) return { outcome: '403 mfa.enrollment_required', until: null };
    return { ...done, until };
  }

  policyChanged(at: number): void {
    for (const person of this.people)
      this.graces.policyChanged(person, {
        isRequired: this.asks(person),
        hasFactor: person.app !== null,
        days: this.graceDays,
        at,
      });
  }

  reset(person: Person, at: number): void {
    person.app = null;
    this.graces.reset(person, this.policy === 'required', this.graceDays, at);
  }

  /** Lets the process of a grace look. */
  look(person: Person, at: number): void {
    const { grace } = person;
    if (grace?.status !== 'running') return;
    if (!this.asks(person)) grace.status = 'reset';
    else if (grace.expiresAt <= at) grace.status = 'expired';
  }

  endAll(person: Person): void {
    for (const each of this.tokens) if (each.of === person) each.hasEnded = true;
  }
  counts = ({ issuedAt, hasEnded, isForeign }: Tokens, at: number) =>
    !hasEnded && !isForeign && at < issuedAt + accessTokenLife;
}

interface World {
  model: Model;
  account: TestAccount;
  key: Calls;
  clientId: string;
  organization: string;
  above: string;
  root: string;
  random: Random;
  /** Another process, which rotates the keys. */
  keys: SigningKeys;
  /** The key set that a relying party has fetched, and caches as long as allowed. */
  party: { set: JSONWebKeySet; readAt: number };
}

const now = () => api.clock.now.getTime();
const query = <Row>(text: string, values: unknown[] = []) => rowsAsOwner<Row>(api.database.ownerUrl, text, values);
const own = (method: 'GET' | 'POST' | 'DELETE', path: string, token: string, payload?: object) =>
  api.app.inject({
    method,
    url: `/v1/identity/auth${path}`,
    headers: { authorization: `Bearer ${token}` },
    ...(payload && { payload }),
  });

async function newWorld(seed: number): Promise<World> {
  const account = await newAccount(api);
  const key = callsWith(api, await account.apiKey());
  const made = async (path: string, payload: object) => (await key('POST', path, payload)).json().data.id as string;
  const organization = await made('/organizations', { name: 'Acme' });
  const above = await made('/organizations', { name: 'Group' });
  const model = new Model();
  for (const name of ['ana', 'ben']) {
    const email = `${name}-${account.accountSlug}@example.com`;
    const id = await made('/identities', { email, email_verified: true, password });
    model.people.push({ id, email, isActive: true, isMember: false, app: null, grace: null });
  }
  const { clientId } = await newPublicClient(api, account.scope);
  const keys = createSigningKeys({
    db: api.database.db,
    sealing,
    issuer: baseUrl,
    now: () => api.clock.now,
  });
  const [root] = (await key('GET', `/nodes/${organization}/ancestors`)).json().items;
  const party = { set: { keys: [] }, readAt: Number.NEGATIVE_INFINITY };
  return { model, account, key, clientId, organization, above, root: root.id, random: createRandom(seed), keys, party };
}

/** Sends a change with the current version. */
async function changed(world: World, method: 'PATCH' | 'POST' | 'PUT', path: string, payload: object, of = path) {
  const version = (await world.key('GET', of)).json().data.version as number;
  const answer = await world.key(method, path, payload, version);
  expect(`${method} ${path} ${outcomeOf(answer)}`).toBe(`${method} ${path} 200`);
}

async function readKeySet({ party }: World): Promise<void> {
  party.set = (await api.app.inject('/.well-known/jwks.json')).json();
  party.readAt = now();
}

/** Expects a relying party to accept a token by its cached key set; only a deleted key makes it fetch again. */
async function expectTaken(world: World, token: string): Promise<void> {
  const { party } = world;
  if (now() - party.readAt >= keySetLife) await readKeySet(world);
  const verified = jwtVerify(token, createLocalJWKSet(party.set), { issuer: baseUrl, currentDate: api.clock.now });
  await expect(verified).resolves.toBeDefined();
}

async function keep(world: World, of: Person, data: { access_token: string; refresh_token: string }): Promise<Tokens> {
  const tokens = { access: data.access_token, refresh: data.refresh_token, issuedAt: now() };
  const kept = { of, ...tokens, hasEnded: false, isForeign: false };
  world.model.tokens.push(kept);
  await expectTaken(world, kept.access);
  return kept;
}

/** Signs a person in as far as possible. @returns the tokens, if any, and whether a factor was used */
async function signIn(world: World, person: Person): Promise<{ tokens: Tokens | null; isStrong: boolean }> {
  const { model, clientId } = world;
  const expected = model.signIn(person, now());
  const post = (path: string, payload: object) =>
    api.app.inject({ method: 'POST', url: `/v1/identity/auth${path}`, payload });
  const answer = await post('/login', { client_id: clientId, email: person.email, password });
  const data = answer.json().data;
  const outcome = !data ? outcomeOf(answer) : data.requires_mfa_challenge ? 'challenge' : 'signed in';
  const until = data?.grace_expires_at ? Date.parse(data.grace_expires_at) : null;
  expect({ outcome, until }).toEqual(expected);
  if (outcome === 'signed in') return { tokens: await keep(world, person, data), isStrong: false };
  if (outcome !== 'challenge') return { tokens: null, isStrong: false };
  api.clock.advance(seconds(30)); // the app shows another code than the last time
  const code = totpCode(person.app?.secret ?? '', api.clock.now);
  const shown = await post('/mfa/challenge/totp', { challenge_token: data.mfa_challenge.challenge_token, code });
  expect(outcomeOf(shown)).toBe('200');
  return { tokens: await keep(world, person, shown.json().data), isStrong: true };
}

async function enroll(world: World, person: Person): Promise<void> {
  const { tokens } = await signIn(world, person);
  if (!tokens || person.app) return;
  const { enrollment_token, secret } = (await own('POST', '/mfa/totp/enroll', tokens.access)).json().data;
  const code = totpCode(secret, api.clock.now);
  const added = await own('POST', '/mfa/totp/confirm', tokens.access, { enrollment_token, code });
  expect(outcomeOf(added)).toBe('201');
  person.app = { id: added.json().data.factor.id, secret };
  world.model.graces.enrolled(person);
}

async function removeFactor(world: World, person: Person): Promise<void> {
  const { tokens, isStrong } = await signIn(world, person);
  if (!tokens || !person.app) return;
  const removed = outcomeOf(await own('DELETE', `/mfa/factors/${person.app.id}`, tokens.access));
  if (!isStrong) expect(removed).toBe('403 auth.reauthentication_required');
  else if (world.model.asks(person)) expect(removed).toBe('409 mfa.last_factor');
  else {
    expect(removed).toBe('204');
    person.app = null;
    world.model.graces.removedLast(person, false);
  }
}

async function refresh({ model, clientId, random }: World): Promise<void> {
  const tokens = random.of(model.tokens.slice(-4));
  if (!tokens || now() - tokens.issuedAt > days(20)) return;
  const answer = await api.app.inject({
    method: 'POST',
    url: '/v1/identity/auth/refresh',
    payload: { client_id: clientId, refresh_token: tokens.refresh },
  });
  expect(outcomeOf(answer)).toBe(tokens.hasEnded ? '401' : '200');
  if (tokens.hasEnded) return;
  const { access_token: access, refresh_token } = answer.json().data;
  Object.assign(tokens, { access, refresh: refresh_token, issuedAt: now(), isForeign: false });
}

async function setActive({ key, model }: World, person: Person): Promise<void> {
  person.isActive = !person.isActive;
  const answer = await key('POST', `/identities/${person.id}/${person.isActive ? 'activate' : 'deactivate'}`);
  expect(answer.json().data.is_active).toBe(person.isActive);
  model.endAll(person);
}

async function setMember({ key, organization }: World, person: Person): Promise<void> {
  person.isMember = !person.isMember;
  const path = `/organizations/${organization}/members`;
  const answer = person.isMember
    ? await key('POST', path, { identity_id: person.id })
    : await key('DELETE', `${path}/${person.id}`);
  expect(outcomeOf(answer)).toBe(person.isMember ? '201' : '204');
}

async function setEnvironment({ model, account, random }: World): Promise<void> {
  model.policy = random.of(['off', 'optional', 'required', 'required'] as const);
  model.graceDays = random.of([0, 1, 3, 7, 14]);
  const headers = await account.as('owner');
  const url = account.portalPath('/settings');
  const version = (await api.app.inject({ url, headers })).json().data.version;
  const answer = await api.app.inject({
    method: 'PATCH',
    url,
    headers: { ...headers, 'if-match': String(version) },
    payload: { mfa_policy: model.policy, mfa_grace_period_days: model.graceDays },
  });
  expect(outcomeOf(answer)).toBe('200');
  model.policyChanged(now());
  api.clock.advance(seconds(1)); // a client and its Environment are cached for at most a second
}

async function setOrganization(world: World): Promise<void> {
  const { model, organization, above, root, random } = world;
  const node = `/nodes/${organization}`;
  const status = (isOpen: boolean) => ({ status: isOpen ? 'active' : 'inactive' });
  const what = random.below(4);
  if (what === 0) {
    model.requiresMfa = !model.requiresMfa;
    const policy = { allowed_methods: null, require_sso: false, require_mfa: model.requiresMfa };
    const path = `/organizations/${organization}/authentication-policy`;
    await changed(world, 'PUT', path, { ...policy, session_ttl_seconds: null });
  } else if (what === 1) {
    model.isUnder = !model.isUnder;
    await changed(world, 'POST', `${node}/move`, { parent_node_id: model.isUnder ? above : root }, node);
  } else if (what === 2) {
    model.isOpen.organization = !model.isOpen.organization;
    await changed(world, 'PATCH', node, status(model.isOpen.organization));
  } else {
    model.isOpen.above = !model.isOpen.above;
    await changed(world, 'PATCH', `/nodes/${above}`, status(model.isOpen.above));
  }
}

async function looks({ model }: World, person: Person): Promise<void> {
  const graces = createMfaGraces({ db: api.database.db, now: () => api.clock.now, reminders: [] });
  const [row] = await query<{ id: string }>('select id from mfa_graces where identity_id = $1', [person.id]);
  if (row) await graces.advance(row.id);
  model.look(person, now());
}

/** Follows the runbook's "A signing key leaked"; a minute replaces the restart of the apis. */
async function keyLeaks(world: World): Promise<void> {
  await query('delete from signing_keys');
  api.clock.advance(minutes(1));
  for (const each of world.model.tokens) each.isForeign = true;
  await readKeySet(world);
  for (const { access } of world.model.tokens.slice(-3))
    expect(world.party.set.keys.map(({ kid }) => kid)).not.toContain(decodeProtectedHeader(access).kid);
}

const steps: [number, (world: World, person: Person) => Promise<unknown>][] = [
  [8, signIn],
  [4, enroll],
  [3, removeFactor],
  [3, refresh],
  [2, setActive],
  [3, setMember],
  [3, setEnvironment],
  [5, setOrganization],
  [3, looks],
  [
    2,
    async ({ key, model }, person) => {
      expect(outcomeOf(await key('POST', `/identities/${person.id}/mfa/reset`))).toBe('200');
      model.reset(person, now());
    },
  ],
  [2, ({ keys }) => keys.rotate()],
  [1, keyLeaks],
  [4, async () => api.clock.advance(minutes(4))],
  [8, async ({ random }) => api.clock.advance(random.of([hours(1), hours(13), days(1), days(2), days(4)]))],
];
const weighted = byWeight(steps);

/** Expects what is valid by the model to be accepted, and nothing else. */
async function compare({ model }: World): Promise<void> {
  for (const tokens of model.tokens.slice(-3)) {
    const answer = await own('GET', '/me', tokens.access);
    expect(outcomeOf(answer)).toBe(model.counts(tokens, now()) ? '200' : '401');
  }
  for (const { id, grace } of model.people) {
    const [row] = await query<{ status: string; at: Date }>(
      'select status, expires_at as at from mfa_graces where identity_id = $1',
      [id],
    );
    expect(row && { status: row.status, expiresAt: row.at.getTime() }).toEqual(
      grace ? { status: grace.status, expiresAt: grace.expiresAt } : undefined,
    );
  }
}

test.each(seedsOf(1, 2))(
  'in every history, people get in by what they have, and their tokens are valid, as the contract says: %i',
  async (seed) => {
    const world = await newWorld(seed);
    await live(seed, 60, async (tell) => {
      const step = world.random.of(weighted);
      const person = world.random.of(world.model.people);
      tell(`${step.name || 'other'} ${person.email.slice(0, 3)} ${api.clock.now.toISOString()}`);
      await step(world, person);
      await compare(world);
    });
  },
  600_000,
);
