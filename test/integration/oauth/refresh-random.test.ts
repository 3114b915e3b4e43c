import { hours, minutes, seconds } from '../../../src/platform/clock.js';
import type { TestClient } from '../../support/oauth/environment.js';
import { newProvider, type TestProvider } from '../../support/oauth/provider.js';
import { basicOf, refresh, tokensFor } from '../../support/oauth/tokens.js';
import { aLateOne, createRandom, type Random } from '../../support/random.js';
import { byWeight, live, seedsOf } from '../../support/random-histories.js';

/**
 * Random lives of refresh tokens: used, used again at once and too late, by the wrong client, with other scopes, while
 * their session, membership or grant ends. Compared with the contract's rules (§2) in their plainest form.
 */

let world: TestProvider;
beforeAll(async () => {
  world = await newProvider();
});
afterAll(() => world.close());

const [unusedFor, longest] = [hours(2), hours(3)];
const settings = { refreshTokenTtlSeconds: unusedFor / 1000, refreshTokenMaxTtlSeconds: longest / 1000 };
const forgivenFor = seconds(10);
const granted = ['openid', 'email'];

interface Token {
  text: string;
  expiresAt: number;
  spentAt: number | null;
}
/** A grant with the tokens that followed one another. */
interface Family {
  client: TestClient;
  rotates: boolean;
  tokens: Token[];
  endsAt: number;
  isAlive: boolean;
}

/** Keeps the families of one person as a reader of the contract would. */
class Model {
  families: Family[] = [];
  isMember = true;
  reuses = 0;

  began(client: TestClient, rotates: boolean, text: string, at: number): void {
    const first = { text, expiresAt: at + unusedFor, spentAt: null };
    this.families.push({ client, rotates, tokens: [first], endsAt: at + longest, isAlive: true });
  }

  /** Returns whether the family counts at all, and this token in it. */
  isGood = (family: Family, token: Token, at: number): boolean =>
    this.isMember && family.isAlive && at < family.endsAt && at < token.expiresAt;

  /** Returns the outcome of a use; carries it out, but for the text of a new token. */
  use(family: Family, token: Token, { scope, at }: { scope: string | null; at: number }): string {
    if (!this.isGood(family, token, at)) return 'invalid_grant';
    if (token.spentAt !== null && at - token.spentAt > forgivenFor) {
      family.isAlive = false;
      this.reuses++;
      return 'invalid_grant';
    }
    if (scope !== null && !scope.split(' ').every((name) => granted.includes(name))) return 'invalid_scope';
    const until = Math.min(at + unusedFor, family.endsAt);
    if (token.spentAt !== null) return 'the latest';
    if (family.rotates) {
      token.spentAt = at;
      family.tokens.push({ text: '', expiresAt: until, spentAt: null });
    } else if (until - token.expiresAt > unusedFor / 30) token.expiresAt = until; // it slides in steps
    return 'the latest';
  }
}

/** Returns the tokens that may be used: the latest, and those that were used up a moment ago. */
const forgiven = ({ tokens }: Family) =>
  tokens.filter(({ spentAt }) => spentAt === null || now() - spentAt <= forgivenFor);
const latest = ({ tokens }: Family) => tokens.at(-1) as Token;

interface World {
  model: Model;
  random: Random;
  clients: { client: TestClient; rotates: boolean }[];
  /** Introspects, and owns nothing. */
  server: TestClient;
  person: { id: string; email: string };
}

async function newWorld(seed: number): Promise<World> {
  const environment = await world.newEnvironment({ ...settings, mfaPolicy: 'off' });
  const method = 'client_secret_basic' as const;
  const clients = [
    { client: await environment.newClient(), rotates: true },
    { client: await environment.newClient({ tokenEndpointAuthMethod: method }), rotates: false },
    {
      client: await environment.newClient({ tokenEndpointAuthMethod: method, rotateRefreshTokens: true }),
      rotates: true,
    },
  ];
  const server = await environment.newClient({ tokenEndpointAuthMethod: method });
  return { model: new Model(), random: createRandom(seed), clients, server, person: await environment.newIdentity() };
}

const now = () => world.now().getTime();

async function begin({ model, random, clients, person }: World): Promise<void> {
  if (!model.isMember) return;
  const { client, rotates } = random.of(clients);
  const { refresh_token } = await tokensFor(world.browser(), client, person.email, { scope: granted.join(' ') });
  model.began(client, rotates, refresh_token, now());
}

/** Returns one of the latest families, and one of its tokens, mostly one that may be used. */
function some({ model, random }: World): { family: Family; token: Token } | null {
  const family = aLateOne(random, model.families);
  if (!family) return null;
  const tokens = random.below(10) === 0 ? family.tokens.slice(-4) : forgiven(family);
  return { family, token: random.of(tokens) };
}

/** Sends a token; returns the outcome in the model's words, and the token that came. */
async function sent(family: Family, token: Token, scope: string | null, client = family.client) {
  const answer = await refresh(world.app, client, token.text, scope === null ? {} : { scope });
  const body = answer.json();
  return { outcome: answer.statusCode === 200 ? 'the latest' : body.error, text: body.refresh_token as string };
}

async function use(it: World, chosen = some(it)): Promise<void> {
  const { model, random } = it;
  if (!chosen) return;
  const { family, token } = chosen;
  const scope = random.of([null, null, null, 'email', 'openid email', 'profile', 'openid profile']);
  const expected = model.use(family, token, { scope, at: now() });
  const { outcome, text } = await sent(family, token, scope);
  expect(outcome).toBe(expected);
  if (outcome !== 'the latest') return;
  const last = latest(family);
  if (last.text === '') last.text = text;
  expect(text).toBe(last.text);
}

/** Uses a token in the last moment that counts or right after it: while it is forgiven, or before it expires. */
async function useAtItsEnd(it: World): Promise<void> {
  const { model, random } = it;
  const family = aLateOne(random, model.families);
  if (!family) return;
  const [used, unused] = [family.tokens.findLast(({ spentAt }) => spentAt !== null), latest(family)];
  const isAgain = typeof used?.spentAt === 'number' && random.below(2) === 0;
  const last = isAgain ? (used.spentAt as number) + forgivenFor : unused.expiresAt - 1;
  world.wait(Math.max(0, last + random.below(2) - now()));
  await use(it, { family, token: isAgain ? used : unused });
}

/** Two tabs, and a third that has slept: several tokens of a family at the same moment. */
async function useAtOnce(it: World): Promise<void> {
  const { model, random } = it;
  const chosen = some(it);
  if (!chosen) return;
  const { family } = chosen;
  const at = now();
  const tokens = Array.from({ length: 3 }, () => random.of(forgiven(family)));
  const before = latest(family).text;
  const expected = tokens.map((token) => model.use(family, token, { scope: null, at }));
  const came = await Promise.all(tokens.map((token) => sent(family, token, null)));
  expect(came.map(({ outcome }) => outcome)).toEqual(expected);
  const last = latest(family);
  const texts = [...new Set(came.map(({ text }) => text))].filter((text) => text !== undefined);
  if (last.text === '') last.text = texts.find((text) => text !== before) ?? '';
  // Whoever came right before the others was given what these then used up.
  for (const text of texts) expect([before, last.text]).toContain(text);
}

async function useElsewhere(it: World): Promise<void> {
  const chosen = some(it);
  const other = it.clients.find(({ client }) => client !== chosen?.family.client);
  if (!chosen || !other) return;
  expect((await sent(chosen.family, chosen.token, null, other.client)).outcome).toBe('invalid_grant');
}

async function revoke(it: World): Promise<void> {
  const chosen = some(it);
  if (!chosen) return;
  const { client } = chosen.family;
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    ...(client.secret && { authorization: basicOf(client.clientId, client.secret) }),
  };
  const named: Record<string, string> = client.secret ? {} : { client_id: client.clientId };
  const payload = new URLSearchParams({ token: chosen.token.text, ...named }).toString();
  const answer = await world.app.inject({ method: 'POST', url: '/oauth/revoke', headers, payload });
  expect(answer.statusCode).toBe(200);
  chosen.family.isAlive = false;
}

async function endSession(it: World): Promise<void> {
  const chosen = some(it);
  if (!chosen) return;
  const rows = await world.query<{ id: string; environmentId: string; identityId: string }>(
    `select s.id, s.environment_id as "environmentId", s.identity_id as "identityId" from refresh_tokens t
       join grants g on g.id = t.family_id join sessions s on s.id = g.session_id
     where t.token_hash = sha256(convert_to($1, 'UTF8'))`,
    [chosen.token.text],
  );
  const [session] = rows;
  if (!session) throw new Error('no session');
  await world.provider.sessions.end(null, session.environmentId, { ...session, askedIn: null });
  chosen.family.isAlive = false;
}

async function toggleMembership({ model, person }: World): Promise<void> {
  model.isMember = !model.isMember;
  const text = 'update environment_memberships set is_active = $2 where identity_id = $1';
  await world.query(text, [person.id, model.isMember]);
}

const steps: [number, (it: World) => Promise<unknown>][] = [
  [4, begin],
  [12, use],
  [5, useAtOnce],
  [4, useAtItsEnd],
  [1, useElsewhere],
  [1, revoke],
  [1, endSession],
  [1, toggleMembership],
  [5, async ({ random }) => world.wait(random.of([1, seconds(1), seconds(4), forgivenFor]))],
  [
    2,
    async ({ random }) =>
      world.wait(random.of([minutes(3), minutes(5), minutes(50), hours(1), unusedFor - 1, unusedFor])),
  ],
];
const weighted = byWeight(steps);

/** Expects introspection to show what the model knows, and each family to have one token that is not used up. */
async function compare({ model, server, person }: World): Promise<void> {
  for (const family of model.families.slice(-3)) {
    const token = latest(family);
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      authorization: basicOf(server.clientId, server.secret ?? ''),
    };
    const payload = new URLSearchParams({ token: token.text }).toString();
    const shown = await world.app.inject({ method: 'POST', url: '/oauth/introspect', headers, payload });
    const isGood = model.isGood(family, token, now());
    expect(shown.json()).toMatchObject(
      isGood ? { active: true, exp: Math.floor(token.expiresAt / 1000) } : { active: false },
    );
  }
  const chains = await world.query<{ open: number; all: number }>(
    `select count(*) filter (where t.spent_at is null)::int as open, count(*)::int as all from grants g
       join refresh_tokens t on t.family_id = g.id where g.identity_id = $1 group by g.id order by g.created_at, g.id`,
    [person.id],
  );
  expect(chains).toEqual(model.families.map(({ tokens }) => ({ open: 1, all: tokens.length })));
  const told = await world.query(
    `select from events where action = 'session.refresh_reuse_detected' and actor_id = $1`,
    [person.id],
  );
  expect(told).toHaveLength(model.reuses);
}

test.each(seedsOf(1, 2))(
  'in every history, refresh tokens work, repeat and end as the contract says: %i',
  async (seed) => {
    const it = await newWorld(seed);
    await live(seed, 120, async (tell) => {
      const step = it.random.of(weighted);
      tell(`${step.name || 'other'} ${world.now().toISOString()}`);
      await step(it);
      await compare(it);
    });
  },
);
