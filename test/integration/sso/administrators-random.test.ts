import { randomUUID } from 'node:crypto';
import { Membership } from '../../../entities/membership.js';
import { User } from '../../../entities/user.js';
import { newMember, newPerson, rolesByKey, sealing } from '../../support/administrators.js';
import { here, outcomeOf } from '../../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { type Call, callsOf } from '../../support/calls.js';
import { Browser } from '../../support/oauth/browser.js';
import { createRandom, type Random } from '../../support/random.js';
import { byWeight, live, seedsOf } from '../../support/random-histories.js';
import { giveSigningKey } from '../../support/saml/sign-in.js';
import { newVerifiedDomain } from '../../support/sso.js';
import {
  type AdminConnection,
  type Administrator,
  AdministratorsModel,
  type Team,
} from '../../support/sso-histories/administrators-model.js';
import { expectTheModel } from '../../support/sso-histories/administrators-state.js';
import type { Said } from '../../support/sso-histories/model.js';
import { type Providers, startProviders } from '../../support/sso-histories/providers.js';
import { refusalIn } from '../../support/sso-histories/refusal.js';

/**
 * Random histories of administrators of two Accounts, who sign in by identity providers that say of anybody whatever
 * they like. Compared with the rules (docs/sso-saml.md, decisions 0039 and 0094) in their plainest form: who is signed
 * in as whom, in which Account, and with which role.
 */

let api: TestApi;
let providers: Providers;
beforeAll(async () => {
  api = await startApi({ WEBHOOK_ALLOW_PRIVATE_ADDRESSES: 'true' });
  providers = await startProviders(api);
});
afterAll(() => Promise.all([api.stop(), providers.stop()]));

interface LiveTeam extends Team {
  account: TestAccount;
  owner: Call;
  roles: Record<string, string>;
}
interface World {
  random: Random;
  model: AdministratorsModel;
  teams: LiveTeam[];
  domains: string[];
  addresses: string[];
}

const json = { accept: 'application/json' };
const now = () => api.clock.now;
const system = <T>(work: Parameters<typeof api.database.db.transaction<T>>[1]) =>
  api.database.db.transaction('system', work);
const liveTeam = ({ teams }: World, { id }: Team) => teams.find((team) => team.id === id) as LiveTeam;

async function newWorld(seed: number): Promise<World> {
  const teams: LiveTeam[] = [];
  for (const account of [await newAccount(api), await newAccount(api)]) {
    const owner = callsOf(api, account.accountSlug, await account.as('owner'));
    teams.push({ id: account.scope.accountId, account, owner, roles: await rolesByKey(owner) });
  }
  const domains = ['here', 'there'].map((name) => `${name}-${randomUUID().slice(0, 8)}.example`);
  const addresses = ['ana', 'ben', 'cem'].flatMap((name) => domains.map((domain) => `${name}@${domain}`));
  const it = { random: createRandom(seed), model: new AdministratorsModel(), teams, domains, addresses };
  for (const [i, team] of teams.entries()) {
    await connect(it, team, 'oidc');
    await connect(it, team, 'saml');
    await prove(it, team, domains[i] as string);
  }
  return it;
}

async function connect({ random, model }: World, team: LiveTeam, type: 'saml' | 'oidc'): Promise<void> {
  const provider = random.of([0, 1] as const);
  const provisions = random.below(2) === 0;
  const made = await team.owner('POST', '/sso/connections', {
    ...{ type, name: 'Acme', jit_provisioning_enabled: provisions, ...providers.settingsOf({ type, provider }) },
    ...(type === 'saml' && { saml_allow_idp_initiated: true }),
  });
  expect(outcomeOf(made)).toBe('201');
  const { id } = made.json().data.connection;
  if (type === 'saml') await giveSigningKey({ db: api.database.db, sealing, now }, { id, accountId: team.id });
  expect(outcomeOf(await team.owner('POST', `/sso/connections/${id}/activate`))).toBe('200');
  model.connections.push({ id, type, team, provider, provisions, isActive: true, era: 0 });
}

async function prove({ model }: World, team: LiveTeam, domain: string): Promise<void> {
  await newVerifiedDomain({ db: api.database.db, now } as never, team.account.scope, domain);
  model.holders.set(domain, team);
}

function said({ random, addresses, model }: World, connection: AdminConnection): Said {
  const own = addresses.filter((address) => model.speaksFor(connection, address));
  const drawn = random.of(own.length > 0 && random.below(5) > 0 ? own : addresses);
  const address = random.below(4) === 0 ? drawn.toUpperCase() : drawn;
  const { type, provider } = connection;
  const isVerified = type === 'saml' ? null : random.of([true, true, null, false]);
  const person = { isVerified, firstName: random.of(['Ana', 'Ben']) };
  const known = random.of(model.links.filter((link) => link.connection === connection));
  if (known && random.below(3) === 0) {
    const { subject, isAddress } = known;
    return { ...person, subject, isAddress, email: isAddress ? subject : address };
  }
  const subject = `subject-${random.below(3)}`;
  const email = random.below(8) === 0 ? null : address;
  if (type === 'saml' && provider === 1)
    return { ...person, subject: `${subject}@university.example`, isAddress: false, email };
  const isAddress = random.below(4) === 0;
  return isAddress
    ? { ...person, subject: address, isAddress, email: address }
    : { ...person, subject, isAddress, email };
}

/** Comes back from a provider; with one of two changes on the way at times. */
async function comeBack(it: World): Promise<string> {
  const { random, model, addresses } = it;
  const typed = random.of(addresses);
  const browser = new Browser(api.app);
  const sent = await browser.get(`/v1/auth/sso/start?email=${encodeURIComponent(typed)}`, json);
  const connection = model.connectionFor(typed);
  if (!connection) {
    expect(outcomeOf(sent)).toBe('404 admin_sso.not_available');
    return 'nowhere';
  }
  const what = said(it, connection);
  const { era } = connection;
  const when = random.below(6);
  if (when === 0) await random.of(changes)(it);
  const answered = await providers.bring(browser, connection, sent.json().redirect_to, what);
  if (connection.era !== era) {
    expect(refusalIn(answered)).toMatch(/^sso\.(stale|issuer_mismatch|signature_invalid)$/);
    return 'forgotten';
  }
  const wasActive = connection.isActive;
  if (when === 1) await random.of(changes)(it);
  const came = await browser.get(here(answered), json);
  if (connection.era !== era) {
    expect(refusalIn(came)).toBe('sso.stale');
    return 'forgotten';
  }
  return arrived(it, connection, what, { came, isRefused: !wasActive });
}

async function comeUnasked(it: World): Promise<string> {
  const connection = it.random.of(it.model.connections.filter(({ type }) => type === 'saml'));
  if (!connection) return '';
  const browser = new Browser(api.app);
  const what = said(it, connection);
  const answered = await providers.bringUnasked(browser, connection, '', what);
  if (connection.isActive)
    return arrived(it, connection, what, { came: await browser.get(here(answered), json), isRefused: false });
  expect(refusalIn(answered)).toBe('sso.stale');
  return 'closed';
}

type Came = { came: Awaited<ReturnType<Browser['get']>>; isRefused: boolean };
async function arrived(it: World, connection: AdminConnection, what: Said, { came, isRefused }: Came): Promise<string> {
  const data = came.statusCode === 200 ? came.json().data : null;
  const found = data ? `${data.user.id} ${data.account.id}` : refusalIn(came);
  const outcome = isRefused
    ? { refusal: 'connection_disabled' }
    : it.model.signIn(connection, what, () => data?.user.id ?? 'nobody');
  expect(found).toBe(
    outcome.refusal === null ? `${outcome.person.id} ${connection.team.id}` : `sso.${outcome.refusal}`,
  );
  return `${connection.id.slice(-4)} ${JSON.stringify(what)} ${found}`;
}

/** A new person with a password, who may be a member of a team. */
async function create({ random, model, teams, addresses }: World): Promise<void> {
  const email = random.of(addresses);
  if (model.byAddress(email)) return;
  const isVerified = random.below(2) === 0;
  const fields = { email, passwordHash: 'a hash', emailVerifiedAt: isVerified ? now() : null, firstName: 'Mia' };
  const person = await newPerson(api, fields);
  const known: Administrator = {
    ...{ id: person.userId, email, isVerified, hasPassword: true, firstName: 'Mia', roles: new Map() },
  };
  model.people.push(known);
  const team = random.of([...teams, null]);
  if (!team) return;
  await newMember(api, team.account, 'developer', person);
  known.roles.set(team.id, 'developer');
}

async function move({ random, model, addresses }: World): Promise<void> {
  const person = random.of(model.people);
  const email = random.of(addresses);
  if (!person || model.byAddress(email)) return;
  await system((tx) => tx.update(User, { id: person.id }, { email, emailChangedAt: now() }));
  person.email = email;
}

async function invite(it: World): Promise<void> {
  const { random, model, teams, addresses } = it;
  const [team, email] = [random.of(teams), random.of(addresses)];
  const body = { email, first_name: 'Ivo', last_name: 'Kern', role_id: team.roles.support };
  const answer = await team.owner('POST', '/administrator-invites', body);
  const isWaiting = model.invites.some((one) => one.team === team && one.email === email);
  const isMember = model.byAddress(email)?.roles.has(team.id);
  const refusal = isMember ? '409 member.already_member' : isWaiting && '409 administrator_invite.already_pending';
  expect(outcomeOf(answer)).toBe(refusal || '201');
  if (!refusal) model.invites.push({ team, email });
}

async function dismiss(it: World): Promise<void> {
  const { random, model, teams } = it;
  const team = random.of(teams);
  const person = random.of(model.people.filter(({ roles }) => roles.has(team.id)));
  if (!person) return;
  const { id } = await system((tx) => tx.findOneByOrFail(Membership, { accountId: team.id, userId: person.id }));
  expect(outcomeOf(await team.owner('DELETE', `/members/${id}`))).toBe('204');
  person.roles.delete(team.id);
}

async function proveOrLose(it: World): Promise<void> {
  const { random, model, teams, domains } = it;
  const domain = random.of(domains);
  if (!model.holders.has(domain)) return prove(it, random.of(teams), domain);
  await system((tx) => tx.query('delete from sso_domains where domain = $1', [domain]));
  model.holders.delete(domain);
}

const ownerOf = (it: World, { team }: AdminConnection) => liveTeam(it, team).owner;
const pathOf = ({ id }: AdminConnection) => `/sso/connections/${id}`;

async function toggle(it: World): Promise<void> {
  const connection = it.random.of(it.model.connections);
  const verb = connection.isActive ? 'disable' : 'activate';
  expect(outcomeOf(await ownerOf(it, connection)('POST', `${pathOf(connection)}/${verb}`))).toBe('200');
  connection.isActive = !connection.isActive;
}

async function toggleProvisioning(it: World): Promise<void> {
  const connection = it.random.of(it.model.connections);
  const provisions = !connection.provisions;
  const body = { jit_provisioning_enabled: provisions };
  expect(outcomeOf(await ownerOf(it, connection)('PATCH', pathOf(connection), body))).toBe('200');
  connection.provisions = provisions;
}

async function replaceProvider(it: World): Promise<void> {
  const connection = it.random.of(it.model.connections);
  const provider = connection.provider === 0 ? 1 : 0;
  const settings = providers.settingsOf({ type: connection.type, provider });
  expect(outcomeOf(await ownerOf(it, connection)('PATCH', pathOf(connection), settings))).toBe('200');
  connection.provider = provider;
  it.model.forgotten(connection);
}

async function recreate(it: World): Promise<void> {
  const { random, model } = it;
  const connection = random.of(model.connections);
  expect(outcomeOf(await ownerOf(it, connection)('DELETE', pathOf(connection)))).toBe('204');
  model.forgotten(connection);
  model.connections = model.connections.filter((one) => one !== connection);
  await connect(it, liveTeam(it, connection.team), connection.type);
}

const changes = byWeight<(it: World) => Promise<void>>([
  [4, create],
  [4, move],
  [4, invite],
  [3, dismiss],
  [4, proveOrLose],
  [2, toggle],
  [3, toggleProvisioning],
  [1, replaceProvider],
  [1, recreate],
]);
const signIns = byWeight<(it: World) => Promise<string>>([
  [3, comeBack],
  [1, comeUnasked],
]);

test.each(seedsOf(1, 2))('in every history, an Account’s provider signs in its own people alone: %i', async (seed) => {
  const it = await newWorld(seed);
  await live(seed, 50, async (tell) => {
    api.clock.advance(1);
    const step = it.random.of<(it: World) => Promise<unknown>>(it.random.below(2) === 0 ? signIns : changes);
    tell(`${step.name} ${(await step(it)) ?? ''}`);
    await expectTheModel(api, it.model, it);
  });
});
