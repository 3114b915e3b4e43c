import { randomBytes } from 'node:crypto';
import type { LightMyRequestResponse } from 'fastify';
import { v7 as uuidv7 } from 'uuid';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { UserSession } from '../../../entities/user-session.js';
import { builtInRoles } from '../../../src/domain/capabilities/administrator-roles.js';
import { createSigningKeys } from '../../../src/domain/oidc/keys.js';
import { type AdminTokens, createAdminTokens } from '../../../src/domain/users/admin-tokens.js';
import { newMember, newPerson, sealing } from '../administrators.js';
import { baseUrl, newAccount, type TestAccount, type TestApi } from '../api.js';
import { type Declared, everyOperation } from '../operations/declared.js';
import { newUnique } from '../operations/example.js';
import { type Place as FilledPlace, newPlaces } from '../operations/place.js';
import type { Sent } from '../operations/sent.js';
import type { Random } from '../random.js';
import { newAdminConnection } from '../required-sso.js';
import { rowsOf } from '../rows.js';
import { type AboutRow, inputsOf, rowsIn, spread } from './inputs.js';
import { AccountModel, type HeldRole, type Session } from './model.js';

/** Two Accounts with people who administer them, and in one of them something of everything. */

export interface Person {
  userId: string;
  email: string;
}
export interface TestEnvironment {
  id: string;
  slug: string;
  appSlug: string;
}
export interface InAccount {
  slug: string;
  model: AccountModel;
  connection: SsoConnection;
}
/** A session with its id in the database. */
export type TestSession = Session & { id: string };
/** A key that an administrator made, with what it may do; null: everything. */
export interface TestKey {
  id: string;
  secret: string;
  scopes: string[] | null;
}
export interface World {
  api: TestApi;
  random: Random;
  main: InAccount;
  other: InAccount;
  /** An Environment of the main Account that has one of everything. */
  home: FilledPlace;
  environments: TestEnvironment[];
  people: Person[];
  sessions: TestSession[];
  /** An Owner of the main Account who stays one: what everybody else is answered is compared with their answers. */
  founder: TestSession;
  operations: Declared[];
  inputs: Map<string, Sent>;
  /** What the audit rows are about that the inputs name, by the operation that reads them. */
  rows: Map<string, AboutRow>;
  /** The permissions' role that is given to people, and somebody in no organization and without a role. */
  given: { roleId: string; identityId: string };
  keys: TestKey[];
  tokens: AdminTokens;
}
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

const issued = new WeakMap<TestSession, { at: number; headers: Record<string, string> }>();

/** The headers of a session, with a token that has not expired. */
export async function headersOf({ api, tokens }: Pick<World, 'api' | 'tokens'>, session: TestSession) {
  const at = api.clock.now.getTime();
  const last = issued.get(session);
  if (last && at - last.at < 600_000) return last.headers;
  const { accessToken } = await tokens.issue({
    userId: session.person,
    sessionId: session.id,
    accountId: null,
    applicationId: null,
    authenticatedAt: api.clock.now,
    amr: ['pwd'],
    acr: 'urn:gatehouse:aal1', // the session decides, not the token
  });
  const headers = { authorization: `Bearer ${accessToken}` };
  issued.set(session, { at, headers });
  return headers;
}

/** Calls an operation below an Account's prefix. */
export async function call(
  world: Pick<World, 'api' | 'tokens'>,
  session: TestSession,
  { slug }: Pick<InAccount, 'slug'>,
  [method, path, payload]: [Method, string, object?],
  version?: number,
): Promise<LightMyRequestResponse> {
  const headers = { ...(await headersOf(world, session)), ...(version && { 'if-match': String(version) }) };
  const url = `/portal/v1/accounts/${slug}${path}`;
  return world.api.app.inject({ method, url, headers, ...(payload && { payload }) });
}
export const pathOf = ({ appSlug, slug }: TestEnvironment) => `/applications/${appSlug}/environments/${slug}`;

/** Returns all items of a list, whose total has to agree. */
export async function everything<Item>(ask: (path: string) => Promise<LightMyRequestResponse>, path: string) {
  const items: Item[] = [];
  for (let page = 1; ; page++) {
    const answer = await ask(`${path}${path.includes('?') ? '&' : '?'}take=100&page=${page}`);
    if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.body}`);
    const { items: some, pagination } = answer.json<{ items: Item[]; pagination: Record<string, unknown> }>();
    items.push(...some);
    if (!pagination.has_next_page) {
      if (pagination.item_count !== items.length) throw new Error(`${path}: ${pagination.item_count}, ${items.length}`);
      return items;
    }
  }
}

interface Beginning {
  isStrong?: boolean;
  hasFactor?: boolean;
  days?: number;
  /** The identity provider at which it begins. */
  by?: SsoConnection;
}

/** Creates a session of a person. */
export async function newSession(
  { api }: Pick<World, 'api'>,
  person: string,
  { isStrong = false, hasFactor = false, days = 1000, by }: Beginning,
): Promise<TestSession> {
  const { now } = api.clock;
  const id = uuidv7();
  const via = by?.accountId ?? null;
  const expiresAt = new Date(now.getTime() + days * 86_400_000);
  await api.database.db.transaction('system', (tx) =>
    tx.insert(UserSession, {
      ...{ id, userId: person, accountId: via, applicationId: null, authenticatedAt: now, amr: ['pwd'] },
      ...{ acr: isStrong ? 'urn:gatehouse:aal2' : 'urn:gatehouse:aal1', ssoConnectionId: by?.id ?? null },
      ...{ ipAddress: null, userAgent: null, createdAt: now, lastUsedAt: now, expiresAt, revokedAt: null },
    }),
  );
  return { id, person, via, isStrong, hasFactor, isAlive: true, expiresAt: expiresAt.getTime() };
}

export async function newWorld(api: TestApi, random: Random): Promise<World> {
  const home = (await newPlaces(api)).development;
  const keys = createSigningKeys({ db: api.database.db, sealing, issuer: baseUrl, now: () => api.clock.now });
  const tokens = createAdminTokens({ keys, baseUrl, now: () => api.clock.now });
  const [main, other] = [await inAccount(api, home.account), await inAccount(api, await newAccount(api))];
  const founder = await newSession({ api }, home.account.userId, { isStrong: true, hasFactor: true });
  const operations = await everyOperation(api.app);
  const inputs = await inputsOf(home, operations);
  await spread(home);
  const as = (path: string) => call({ api, tokens }, founder, main, ['GET', path]);
  await call({ api, tokens }, founder, main, ['POST', '/applications', { name: 'Second', slug: 'second' }]);
  const world: World = {
    ...{ api, random, main, other, home, founder, operations, inputs, tokens, keys: [], environments: [] },
    rows: await rowsIn(home, inputs),
    ...{ people: [], sessions: [], given: { roleId: '', identityId: '' } },
  };
  for (const one of await everything<{ id: string; slug: string }>(as, '/applications')) {
    main.model.applications.add(one.id);
    for (const { id, slug } of await everything<{ id: string; slug: string }>(
      as,
      `/applications/${one.slug}/environments`,
    ))
      await addEnvironment(world, one.id, { id, slug, appSlug: one.slug });
  }
  world.given = {
    roleId: (await home.make('/roles', { name: 'Given', permission_keys: ['hierarchy.view'] })).id,
    identityId: (await home.make('/identities', { email: `given.${newUnique()}@example.com` })).id,
  };
  await addPeople(world);
  return world;
}

async function inAccount(api: TestApi, account: TestAccount): Promise<InAccount> {
  const model = new AccountModel(account.scope.accountId);
  return { slug: account.accountSlug, model, connection: await newAdminConnection(api, account) };
}

/** Reads an Environment's tree into the model. */
export async function addEnvironment(world: World, application: string, environment: TestEnvironment): Promise<void> {
  world.environments.push(environment);
  world.main.model.environments.set(environment.id, application);
  const rows = await rowsOf<{ id: string; parent: string | null; type: string }>(
    world.api,
    'select id, parent_node_id as parent, node_type as type from nodes where environment_id = $1 order by id',
    [environment.id],
  );
  for (const { id, ...node } of rows) world.main.model.nodes.set(id, { environment: environment.id, ...node });
}

/** Adds what an Account has in the database to the model: its roles, and who holds them. */
export async function readAdministration(api: TestApi, { model }: InAccount): Promise<void> {
  const roles = await rowsOf<{ id: string; key: keyof typeof builtInRoles | null; capabilities: string[] }>(
    api,
    'select id, system_key as key, capabilities from administrator_roles where account_id = $1',
    [model.id],
  );
  for (const { id, key, capabilities } of roles)
    model.roles.set(id, { systemKey: key, capabilities: key ? builtInRoles[key].capabilities : capabilities });
  const members = await rowsOf<{ person: string; id: string; held: HeldRole[] }>(
    api,
    `select m.user_id as person, m.id, json_agg(json_build_object('role', r.role_id, 'limits', r.limits)) as held
     from memberships m join membership_roles r on r.membership_id = m.id where m.account_id = $1 group by m.id`,
    [model.id],
  );
  for (const { person, ...member } of members) model.members.set(person, member);
}

async function addPeople(world: World): Promise<void> {
  const { api, random, main, other, home, people, sessions, environments } = world;
  const there = await rowsOf<{ user_id: string; email: string }>(
    api,
    'select m.user_id, u.email from memberships m join users u on u.id = m.user_id where m.account_id = $1',
    [other.model.id],
  );
  // A password, so that an invite can be accepted without a new one.
  await rowsOf(api, `update users set password_hash = 'none' where id = $1`, [there[0]!.user_id]);
  people.push({ userId: there[0]!.user_id, email: there[0]!.email });
  for (let i = 0; i < 4; i++) people.push(await newPerson(api, { passwordHash: 'none' }));
  const factored = people.slice(0, 3).map(({ userId }) => userId);
  for (const userId of [...factored, home.account.userId])
    await rowsOf(
      api,
      `insert into user_mfa_factors (id, user_id, type, label, credential_id, public_key, enrolled_at)
       values (gen_random_uuid(), $1, 'webauthn', 'Key', $2, '', now())`,
      [userId, randomBytes(16)],
    );
  for (const { userId } of people) {
    const hasFactor = factored.includes(userId);
    for (const more of [{}, { isStrong: hasFactor }, { days: 3 }])
      sessions.push(await newSession(world, userId, { hasFactor, ...more }));
    for (const { connection } of [main, other])
      sessions.push(await newSession(world, userId, { hasFactor, isStrong: hasFactor, by: connection }));
  }
  const [one, two, three, four, five] = people.map(({ userId, email }) => ({ userId, email, headers: {} }));
  const nodes = [...main.model.nodes.keys()];
  await newMember(api, home.account, 'admin', two);
  await newMember(api, home.account, 'developer', three, { environment_ids: [random.of(environments).id] });
  await newMember(api, home.account, 'support', four, { node_ids: [random.of(nodes)] });
  const some = ['members.view', 'members.manage', 'applications.view', 'audit.view', 'processes.manage', 'sso.view'];
  const role = { name: 'Keeper', capabilities: some };
  const keeper = await call(world, world.founder, main, ['POST', '/administrator-roles', role]);
  await newMember(api, home.account, { roleId: keeper.json().data.id }, five);
  await newMember(api, home.account, 'viewer', one, { application_ids: [random.of([...main.model.applications])] });
  for (const each of [main, other]) await readAdministration(api, each);
}
