import { createErasures } from '../../../src/domain/erasures/erasures.js';
import { outcomeOf } from '../answers.js';
import { finishErasure } from '../erasures.js';
import { inviteTo } from '../identity-invites.js';
import { byWeight } from '../random-histories.js';
import { rowsOf } from '../rows.js';
import { newUser } from '../scim.js';
import type { Connection, Organization, Person } from './model.js';
import { connect, type LivePlace, prove, type World } from './world.js';

/** What happens to people, organizations, domains and connections between sign-ins; each step also in the model. */

const password = 'violet tractor 19';

async function create({ random, model, places, addresses }: World): Promise<void> {
  const place = random.of(places);
  const email = random.of(addresses);
  const [isVerified, hasPassword] = [random.below(2) === 0, random.below(3) === 0];
  const known = model.byAddress(place.scope.accountId, email);
  const body = { email, first_name: 'Eva', email_verified: isVerified, ...(hasPassword && { password }) };
  const answer = await place.key('POST', '/identities', body);
  expect(outcomeOf(answer)).toBe(known?.places.has(place) ? '409 identity.email_taken' : '201');
  if (known) {
    if (!known.places.has(place)) known.places.set(place, true);
    return;
  }
  const { id } = answer.json().data;
  const nothing = { places: new Map([[place, true]]), organizations: new Set<never>(), roles: new Set<string>() };
  const { accountId } = place.scope;
  const profile = { id, accountId, email, isVerified, isOnlyAsserted: isVerified, hasPassword, firstName: 'Eva' };
  model.people.push({ ...profile, ...nothing });
}

interface Chosen {
  person: Person;
  place: LivePlace;
}
/** Draws a person in one of their Environments. */
function someone({ random, model, places }: World): Chosen | null {
  const linked = random.of(model.links)?.person;
  const person = linked && random.below(2) === 0 ? linked : random.of(model.people);
  const theirs = places.filter((place) => person?.places.has(place));
  return person ? { person, place: random.of(theirs) } : null;
}
/** Whether a test Environment is refused a change of somebody who is in production. */
const isRefused = ({ model }: World, { place, person }: Chosen) => model.isOutOfReach(place, person);

async function move(it: World): Promise<void> {
  const chosen = someone(it);
  if (!chosen) return;
  const { person, place } = chosen;
  const email = it.random.of(it.addresses);
  const isVerified = it.random.of([true, false]);
  const answer = await place.key('PATCH', `/identities/${person.id}`, { email, email_verified: isVerified });
  const holder = it.model.byAddress(person.accountId, email);
  const isTaken = holder !== null && holder !== person;
  const refusal = isRefused(it, chosen) ? '403 identity.in_production' : isTaken && '409 identity.email_taken';
  expect(outcomeOf(answer)).toBe(refusal || '200');
  if (refusal) return;
  const isNews = isVerified && (holder !== person || !person.isVerified);
  Object.assign(person, { email, isVerified, ...(isNews && { isOnlyAsserted: true }) });
}

async function verify(it: World): Promise<void> {
  const chosen = someone(it);
  if (!chosen) return;
  const { person, place } = chosen;
  const answer = await place.key('POST', `/identities/${person.id}/email/verify`);
  expect(outcomeOf(answer)).toBe(isRefused(it, chosen) ? '403 identity.in_production' : '200');
  if (isRefused(it, chosen) || person.isVerified) return;
  Object.assign(person, { isVerified: true, isOnlyAsserted: true });
}

async function setPassword(it: World): Promise<void> {
  const chosen = someone(it);
  if (!chosen) return;
  const { person, place } = chosen;
  const answer = await place.key('PUT', `/identities/${person.id}/password`, { password });
  expect(outcomeOf(answer)).toBe(isRefused(it, chosen) ? '403 identity.in_production' : '200');
  if (isRefused(it, chosen)) return;
  Object.assign(person, { hasPassword: true, ...(person.isVerified && { isOnlyAsserted: true }) });
}

async function toggleActive(it: World): Promise<void> {
  const chosen = someone(it);
  if (!chosen) return;
  const { person, place } = chosen;
  const isActive = person.places.get(place);
  const answer = await place.key('POST', `/identities/${person.id}/${isActive ? 'deactivate' : 'activate'}`);
  expect(outcomeOf(answer)).toBe('200');
  person.places.set(place, !isActive);
}

async function remove(it: World): Promise<void> {
  const { api } = it;
  const chosen = someone(it);
  if (!chosen) return;
  const { person, place } = chosen;
  expect(outcomeOf(await place.key('DELETE', `/identities/${person.id}`))).toBe('204');
  if (!it.model.removed(person, place)) return;
  const [erasure] = await rowsOf<{ id: string }>(api, 'select id from erasures where identity_id = $1', [person.id]);
  await finishErasure(createErasures({ db: api.database.db, now: () => api.clock.now }), erasure?.id ?? '');
}

async function joinOrLeave(it: World): Promise<void> {
  const { random, model, places } = it;
  // At times somebody whom its provider knows.
  const link = random.of(model.links.filter(({ connection }) => connection.organization));
  const known = random.below(2) === 0 ? link : undefined;
  const organization = known?.connection.organization ?? random.of(model.organizations);
  const place = places.find((one) => one === organization.place) as LivePlace;
  const person = known?.person ?? random.of(model.people.filter((one) => one.places.has(place)));
  if (!person?.places.has(place)) return;
  const path = `/organizations/${organization.id}/members`;
  if (person.organizations.has(organization)) {
    expect(outcomeOf(await place.key('DELETE', `${path}/${person.id}`))).toBe('204');
    model.left(person, organization);
  } else {
    const answer = await place.key('POST', path, { identity_id: person.id, role_ids: [] });
    expect(outcomeOf(answer)).toBe('201');
    model.joined(person, organization);
  }
}

/** Has an owner prove a domain, or lose it; of the organizations of an Environment, and of Accounts, one has it at most. */
async function proveOrLose(it: World): Promise<void> {
  const { api, random, model, places, domains } = it;
  const { organization, place } = random.of(model.connections);
  const [owner, domain] = [model.owner({ organization, place }), random.of(domains)];
  const rivals = organization ? model.organizations.map(({ id }) => id) : places.map(({ scope }) => scope.accountId);
  if (model.verified.delete(`${owner} ${domain}`)) {
    const text = 'delete from sso_domains where coalesce(organization_id, account_id) = $1 and domain = $2';
    await rowsOf(api, text, [owner, domain]);
  } else if (!rivals.some((rival) => model.verified.has(`${rival} ${domain}`)))
    await prove(it, { place: place as LivePlace, organization }, domain);
}

const livePlaceOf = ({ places }: World, { place }: Connection) => places.find((one) => one === place) as LivePlace;
const pathOf = ({ id }: Connection) => `/sso-connections/${id}`;

async function toggleConnection(it: World): Promise<void> {
  const connection = it.random.of(it.model.connections);
  const verb = connection.isActive ? 'disable' : 'activate';
  expect(outcomeOf(await livePlaceOf(it, connection).portal('POST', `${pathOf(connection)}/${verb}`))).toBe('200');
  connection.isActive = !connection.isActive;
}

async function toggleProvisioning(it: World): Promise<void> {
  const connection = it.random.of(it.model.connections);
  const provisions = !connection.provisions;
  const body = { jit_provisioning_enabled: provisions };
  expect(outcomeOf(await livePlaceOf(it, connection).portal('PATCH', pathOf(connection), body))).toBe('200');
  connection.provisions = provisions;
}

/** Names the other provider of the same type, whose subjects may be called the same and are other people. */
async function replaceProvider(it: World): Promise<void> {
  const connection = it.random.of(it.model.connections);
  const provider = connection.provider === 0 ? 1 : 0;
  const settings = it.providers.settingsOf({ type: connection.type, provider });
  expect(outcomeOf(await livePlaceOf(it, connection).portal('PATCH', pathOf(connection), settings))).toBe('200');
  connection.provider = provider;
  it.model.forgotten(connection);
}

async function forgetLinks(it: World): Promise<void> {
  const connection = it.random.of(it.model.connections);
  const answer = await livePlaceOf(it, connection).portal('POST', `${pathOf(connection)}/forget-links`);
  expect(outcomeOf(answer)).toBe('200');
  it.model.forgotten(connection);
}

async function recreate(it: World): Promise<void> {
  const { model } = it;
  const connection = it.random.of(model.connections);
  const place = livePlaceOf(it, connection);
  expect(outcomeOf(await place.portal('DELETE', pathOf(connection)))).toBe('204');
  model.forgotten(connection);
  connection.isDeleted = true;
  model.connections = model.connections.filter((one) => one !== connection);
  await connect(it, place, connection.organization);
}

async function toggleOrganization({ random, model, places }: World): Promise<void> {
  const organization = random.of(model.organizations);
  const place = places.find((one) => one === organization.place) as LivePlace;
  const path = `/nodes/${organization.id}`;
  const { version } = (await place.key('GET', path)).json().data;
  const status = organization.isActive ? 'inactive' : 'active';
  expect(outcomeOf(await place.key('PATCH', path, { status }, version))).toBe('200');
  organization.isActive = !organization.isActive;
}

async function toggleRequirement({ api, random, model }: World): Promise<void> {
  const organization = random.of(model.organizations);
  organization.requiresSso = !organization.requiresSso;
  const text = `update organizations set authentication_policy = authentication_policy || jsonb_build_object('require_sso', $2::boolean) where id = $1`;
  await rowsOf(api, text, [organization.id, organization.requiresSso]);
}

/** Somebody is invited and opens the link, which proves the address: nobody else's way in stays. */
async function invite(it: World): Promise<void> {
  const { api, random, model, places, addresses } = it;
  const place = random.of(places);
  const email = random.of(addresses);
  const known = model.byAddress(place.scope.accountId, email);
  if (known?.places.has(place)) return;
  const { token } = await inviteTo(place.key, '/identity-invites', { email, first_name: 'Ivo' });
  const payload = { token, password };
  const answer = await api.app.inject({ method: 'POST', url: '/v1/identity/auth/accept-invite', payload });
  expect(outcomeOf(answer)).toBe('200');
  if (known && !model.isUnproved(place, known)) return void known.places.set(place, true);
  const text = 'select id from identities where account_id = $1 and email = $2';
  const [row] = await rowsOf<{ id: string }>(api, text, [place.scope.accountId, email]);
  const person = known ?? model.newPerson(place.scope.accountId, { id: row?.id ?? '', email, firstName: 'Ivo' });
  model.proved(person);
  Object.assign(person, { hasPassword: true, firstName: 'Ivo' });
  person.places.set(place, true);
}

/** The directory of an organization provisions somebody new; of its own domain, with a proved address. */
async function provision(it: World): Promise<void> {
  const { random, model, directory, places, addresses } = it;
  const [place, organization] = [places[0] as LivePlace, model.organizations[0] as Organization];
  const email = random.of(addresses);
  const holders = [place.scope.accountId, ...model.organizations.map(({ id }) => id)].filter((owner) =>
    model.verified.has(`${owner} ${email.slice(email.indexOf('@') + 1)}`),
  );
  const isOwn = holders.includes(organization.id);
  if (model.byAddress(place.scope.accountId, email) || (holders.length > 0 && !isOwn)) return;
  const { id } = await newUser(directory, { userName: email, name: { givenName: 'Sky' } });
  const person = model.newPerson(place.scope.accountId, { id, email, firstName: 'Sky' });
  person.isVerified = isOwn;
  person.places.set(place, true);
  model.joined(person, organization);
}

/** All of them, each as often as it is to happen. */
export const changes = byWeight<(it: World) => Promise<void>>([
  [6, create],
  [4, move],
  [1, verify],
  [1, setPassword],
  [2, toggleActive],
  [2, invite],
  [2, provision],
  [2, remove],
  [6, joinOrLeave],
  [4, proveOrLose],
  [3, toggleConnection],
  [3, toggleProvisioning],
  [1, replaceProvider],
  [1, forgetLinks],
  [1, recreate],
  [2, toggleOrganization],
  [2, toggleRequirement],
]);
