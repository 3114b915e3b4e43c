import { randomUUID } from 'node:crypto';
import type { LightMyRequestResponse } from 'fastify';
import { rowsOf } from '../rows.js';
import { operations, scimOutcome, verified } from '../scim.js';
import { addressFor, someOwnership, someUserOf } from './draws.js';
import { bodyOf, type GroupChange, groupPatchOf, patchOf, type UserChange } from './forms.js';
import type { DirectoryId, Group } from './model.js';
import { contentsOf, type WantedUser } from './rules.js';
import { callOf, makeToken, now, someAddress, someDirectory, type World } from './world.js';

/** What directories do: each answer has to be the model's. */

/** Expects an answer to be the model's; it is a success if the model does not refuse. */
function expectAnswer(answer: LightMyRequestResponse, refusal: string | null, success: string): void {
  const expected = (refusal ?? success).split('|');
  if (!expected.includes(scimOutcome(answer)))
    expect(`${answer.raw.req.method} ${answer.raw.req.url}: ${scimOutcome(answer)} ${answer.body}`).toBe(
      expected.join(' or '),
    );
}

const someText = ({ random }: World) => random.of(['Ana', 'Ben', 'Mia', 'Straße', 'O"Hara', null]);

function someUser(world: World, email: string): WantedUser {
  const { random } = world;
  const emails = random.of(['none', 'primary', 'work'] as const);
  return {
    userName:
      emails === 'none'
        ? random.of([email, email, email, `login-${++world.made}`])
        : random.of([email.toUpperCase(), `login-${++world.made}`]),
    email,
    emails,
    firstName: someText(world),
    lastName: someText(world),
    externalId: random.of([null, `x${random.below(5)}`]),
    title: someText(world),
    department: someText(world),
    active: random.of([undefined, true, true, true, false]),
  };
}
/** If no address is sent, it is the name. */
const withAddress = (wanted: WantedUser): WantedUser =>
  wanted.emails === 'none' ? { ...wanted, email: wanted.userName } : wanted;

export async function createUser(world: World): Promise<void> {
  const directory = someDirectory(world);
  await createUserOf(world, directory, addressFor(world, directory));
}

export async function createUserOf(world: World, directory: DirectoryId, email: string): Promise<void> {
  const { model, random, rules } = world;
  const wanted = withAddress(someUser(world, email));
  const answer = await callOf(world, directory)('POST', '/Users', bodyOf(random, wanted));
  const id = answer.json().id ?? 'nobody';
  expectAnswer(
    answer,
    model.attempt(() => rules.create(directory, wanted, { id, at: now(world) })),
    '201',
  );
}

/** What is sent of a person who is only changed in part: what the directory has read. */
function changedUser(world: World, directory: DirectoryId, id: string): WantedUser {
  const { model, random } = world;
  const person = model.person(id);
  const other = someUser(world, someAddress(world));
  if (!person || !model.isSeenBy(directory, person)) return other;
  const before = contentsOf(directory, person);
  const { firstName, lastName, title, department, externalId, active, ...named } = other;
  return {
    ...before,
    active,
    ...(random.below(3) === 0 && named),
    ...(random.below(2) === 0 && { firstName, lastName }),
    ...(random.below(2) === 0 && { title, department, externalId }),
  };
}

export async function putUser(world: World): Promise<void> {
  const { model, random, rules } = world;
  const directory = someDirectory(world);
  const id = someUserOf(world, directory);
  const wanted = withAddress(changedUser(world, directory, id));
  const answer = await callOf(world, directory)('PUT', `/Users/${id}`, bodyOf(random, wanted));
  const how = { isWhole: true, at: now(world) };
  expectAnswer(
    answer,
    model.attempt(() => rules.update(directory, id, () => wanted, how)),
    '200',
  );
}

function someChange(world: World, isActive: boolean): UserChange {
  const { random } = world;
  const of = random.of([
    'active',
    'active',
    'active',
    'active',
    'email',
    'email',
    'userName',
    'givenName',
    'familyName',
    'title',
    'department',
    'externalId',
  ] as const);
  if (of === 'active') return [of, random.below(4) === 0 ? isActive : !isActive];
  if (of === 'email') return [of, someAddress(world)];
  if (of === 'userName') return [of, random.of([someAddress(world), `login-${++world.made}`])];
  return [of, someText(world)];
}

export async function patchUser(world: World): Promise<void> {
  const directory = someDirectory(world);
  await patchUserOf(world, directory, someUserOf(world, directory));
}

export async function patchUserOf(world: World, directory: DirectoryId, id: string): Promise<void> {
  const { model, random, rules } = world;
  const person = model.person(id);
  const isActive = person?.isActive === true && model.isIn(directory, person);
  const changes = Array.from({ length: random.of([1, 1, 2, 3]) }, () => someChange(world, isActive));
  const { operations: list, changed } = patchOf(
    random,
    changes,
    person ? contentsOf(directory, person).emails : 'none',
  );
  const answer = await callOf(world, directory)('PATCH', `/Users/${id}`, operations(...list));
  const how = { isWhole: false, at: now(world) };
  expectAnswer(
    answer,
    model.attempt(() => rules.update(directory, id, changed, how)),
    '200',
  );
}

export async function deleteUser(world: World): Promise<void> {
  const { model, rules } = world;
  const directory = someDirectory(world);
  const id = someUserOf(world, directory);
  const answer = await callOf(world, directory)('DELETE', `/Users/${id}`);
  expectAnswer(
    answer,
    model.attempt(() => rules.remove(directory, id)),
    '204',
  );
}

const names = ['Engineers', 'Sales'];
const someName = ({ random }: World) => {
  const name = random.of(names);
  return random.of([name, name.toUpperCase()]);
};
/** Some people whom the directory sees; rarely nobody, somebody else, or a group. */
function someMembers(world: World, directory: DirectoryId): string[] {
  const { random, model } = world;
  const unknown = random.of([randomUUID(), model.groups[0]?.id ?? randomUUID(), model.people[0]?.id ?? randomUUID()]);
  const some = Array.from({ length: random.between(1, 3) }, () => someUserOf(world, directory));
  const seen = some.filter((id) => model.usersOf(directory).some((one) => one.id === id));
  const ids = random.below(10) === 0 ? [...seen, unknown] : seen;
  return [...new Set(ids)];
}
const someGroup = ({ random, model }: World, directory: DirectoryId): Group | undefined =>
  random.of(random.below(10) > 0 ? model.groupsOf(directory) : model.groups);
const valuesOf = (ids: readonly string[]) => (ids.length > 0 ? { members: ids.map((value) => ({ value })) } : {});

export async function createGroup(world: World): Promise<void> {
  const { model, rules } = world;
  const directory = someDirectory(world);
  if (model.groupsOf(directory).length > 2) return;
  const [name, ids] = [someName(world), someMembers(world, directory)];
  const answer = await callOf(world, directory)('POST', '/Groups', { displayName: name, ...valuesOf(ids) });
  const refusal = model.attempt(() => {
    const id = answer.json().id;
    model.groups.push({ id, directory, name, externalId: null, members: [] });
    rules.addMembers(directory, id, ids);
  });
  expectAnswer(answer, refusal, '201');
}

/** The change of a group in the model. */
function change(world: World, directory: DirectoryId, id: string, [of, to]: GroupChange): void {
  const { model, rules } = world;
  const group = model.groups.find((one) => one.id === id && one.directory === directory);
  if (!group) throw '404';
  if (of === 'name') group.name = to;
  if (of === 'clear') group.members = [];
  if (of === 'remove') group.members = group.members.filter((one) => !to.includes(one));
  if (of === 'replace') group.members = group.members.filter((one) => to.includes(one));
  if (of === 'add' || of === 'replace') rules.addMembers(directory, id, to);
}

export async function putGroup(world: World): Promise<void> {
  const directory = someDirectory(world);
  const group = someGroup(world, directory);
  if (!group) return;
  const { id, externalId } = group;
  const [name, ids] = [someName(world), someMembers(world, directory)];
  const body = { displayName: name, ...(externalId && { externalId }), ...valuesOf(ids) };
  const answer = await callOf(world, directory)('PUT', `/Groups/${id}`, body);
  const refusal = world.model.attempt(() => {
    change(world, directory, id, ['name', name]);
    change(world, directory, id, ['replace', ids]);
  });
  expectAnswer(answer, refusal, '200');
}

export async function patchGroup(world: World): Promise<void> {
  const { model, random } = world;
  const directory = someDirectory(world);
  const group = someGroup(world, directory);
  if (!group) return;
  const changes = Array.from({ length: random.between(1, 3) }, (): GroupChange => {
    const of = random.of(['name', 'add', 'add', 'add', 'remove', 'remove', 'replace', 'clear'] as const);
    if (of === 'name') return [of, someName(world)];
    const ids = of === 'remove' ? group.members.filter(() => random.below(2) === 0) : someMembers(world, directory);
    return ids.length === 0 || of === 'clear' ? ['clear', []] : [of, ids];
  });
  const list = changes.flatMap((one) => groupPatchOf(random, one));
  const answer = await callOf(world, directory)('PATCH', `/Groups/${group.id}`, operations(...list));
  const refusal = model.attempt(() => {
    for (const one of changes) change(world, directory, group.id, one);
  });
  expectAnswer(answer, refusal, '204');
}

export async function deleteGroup(world: World): Promise<void> {
  const { model } = world;
  const directory = someDirectory(world);
  const group = someGroup(world, directory);
  if (!group) return;
  const answer = await callOf(world, directory)('DELETE', `/Groups/${group.id}`);
  const isOwn = group.directory === directory;
  expectAnswer(answer, isOwn ? null : '404', '204');
  if (!isOwn) return;
  model.groups = model.groups.filter(({ id }) => id !== group.id);
  model.mappings = model.mappings.filter(({ group: of }) => !('id' in of) || of.id !== group.id);
}

export const rotateToken = (world: World): Promise<void> => makeToken(world, someDirectory(world));

/** A domain is verified, or not any more; DNS is tested elsewhere. */
export async function verifyDomain(world: World): Promise<void> {
  const { api, account, model } = world;
  const [domain, owner] = someOwnership(world);
  const owners = model.domains.get(domain) ?? new Set();
  model.domains.set(domain, owners);
  // Of the organizations of an Environment, one has a domain.
  const isOfAnother =
    model.isOrganization(owner) && [...owners].some((one) => one !== owner && model.isOrganization(one));
  const isEnding = owners.has(owner);
  if (isOfAnother && !isEnding) return;
  const organization = model.isOrganization(owner) ? owner : null;
  if (isEnding) {
    const ending =
      'delete from sso_domains where account_id = $1 and domain = $2 and organization_id is not distinct from $3';
    await rowsOf(api, ending, [account.scope.accountId, domain, organization]);
    owners.delete(owner);
  } else {
    await verified(api, account, organization, domain);
    owners.add(owner);
  }
}
