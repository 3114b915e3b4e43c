import { isSame } from '../addresses.js';
import { outcomeOf } from '../answers.js';
import { rowsOf } from '../rows.js';
import { type DirectoryId, type Group, keyOf, type Person } from './model.js';
import { contentsOf } from './rules.js';
import { callOf, now, type World } from './world.js';

/** What everybody is answered has to follow from the model. */

interface SeenUser {
  id: string;
  userName: string;
  email: string;
  active: boolean;
  firstName: string | null;
  lastName: string | null;
  externalId: string | null;
  title: string | null;
  department: string | null;
  groups: string[];
}

const enterprise = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';

function expectedUser({ model }: World, directory: DirectoryId, person: Person): SeenUser {
  const { emails: _, active: __, ...contents } = contentsOf(directory, person);
  const active = person.isActive && model.isIn(directory, person);
  const theirs = model.groupsOf(directory).filter(({ members }) => members.includes(person.id));
  return { id: person.id, ...contents, active, groups: theirs.map(({ id }) => id) };
}

// biome-ignore lint/suspicious/noExplicitAny: a JSON answer
function shownUser(user: any): SeenUser {
  const { id, userName, active, name, externalId = null, title = null, groups = [] } = user;
  return {
    id,
    userName,
    email: user.emails.find((one: { primary?: boolean }) => one.primary === true)?.value ?? user.emails[0].value,
    active,
    firstName: name?.givenName ?? null,
    lastName: name?.familyName ?? null,
    externalId,
    title,
    department: user[enterprise]?.department ?? null,
    groups: groups.map(({ value }: { value: string }) => value),
  };
}
const shownGroup = ({
  id,
  displayName,
  members = [],
}: {
  id: string;
  displayName: string;
  members?: { value: string }[];
}) => ({
  id,
  name: displayName,
  members: members.map(({ value }) => value).sort(),
});
const expectedGroup = ({ id, name, members }: Group) => ({ id, name, members: members.toSorted() });

interface Filter<Row> {
  text: string;
  of: (row: Row) => boolean;
}
const quoted = (value: string) => JSON.stringify(value);
const has = (value: string | null, part: string) => value?.toLowerCase().includes(part.toLowerCase()) === true;

function someUserFilter(world: World, rows: SeenUser[], depth = 0): Filter<SeenUser> {
  const { random } = world;
  const inner = () => someUserFilter(world, rows, depth + 1);
  const kind = random.below(depth < 2 ? 14 : 11);
  const one = random.of(rows);
  const [text, part] = [one?.title ?? 'Ana', (one?.email ?? 'none').slice(0, 3)];
  const is = random.below(2) === 0;
  const simple: Filter<SeenUser>[] = [
    {
      text: `userName eq ${quoted((one?.userName ?? 'none').toUpperCase())}`,
      of: ({ userName }) => isSame(userName, one?.userName ?? 'none'),
    },
    { text: `emails eq ${quoted(one?.email ?? 'none')}`, of: ({ email }) => isSame(email, one?.email ?? 'none') },
    {
      text: `emails[primary eq true].value sw ${quoted(part)}`,
      of: ({ email }) => email.toLowerCase().startsWith(part.toLowerCase()),
    },
    { text: `active eq ${random.of([String(is), quoted(is ? 'True' : 'False')])}`, of: ({ active }) => active === is },
    { text: `title eq ${quoted(text)}`, of: ({ title }) => title !== null && isSame(title, text) },
    { text: 'title pr', of: ({ title }) => title !== null },
    {
      text: `externalId eq ${quoted(one?.externalId ?? 'x1')}`,
      of: ({ externalId }) => externalId === (one?.externalId ?? 'x1'),
    },
    { text: 'name.familyName co "an"', of: ({ lastName }) => has(lastName, 'an') },
    {
      text: `groups.value eq ${quoted(one?.groups[0] ?? 'none')}`,
      of: ({ groups }) => groups.includes(one?.groups[0] ?? 'none'),
    },
    {
      text: `${enterprise}:department ne "Ben"`,
      of: ({ department }) => department === null || !isSame(department, 'Ben'),
    },
    { text: `id eq ${quoted(one?.id ?? 'none')}`, of: ({ id }) => id === one?.id },
  ];
  if (kind < 11) return simple[kind] as Filter<SeenUser>;
  const [a, b] = [inner(), inner()];
  if (kind === 11) return { text: `not (${a.text})`, of: (row) => !a.of(row) };
  if (kind === 12) return { text: `(${a.text}) and (${b.text})`, of: (row) => a.of(row) && b.of(row) };
  return { text: `(${a.text} or ${b.text})`, of: (row) => a.of(row) || b.of(row) };
}

/** Expects a list to be what is expected, in its order and page by page. */
async function expectList<Row>(
  world: World,
  directory: DirectoryId,
  path: string,
  { rows, shown, filter }: { rows: Row[]; shown: (one: never) => Row; filter?: Filter<Row> },
): Promise<void> {
  const { random } = world;
  const [from, count] = filter ? [random.between(1, 3), random.between(0, 4)] : [1, 100];
  const expected = filter ? rows.filter(filter.of) : rows;
  const query = filter ? `&filter=${encodeURIComponent(filter.text)}` : '';
  const answer = await callOf(world, directory)('GET', `${path}?startIndex=${from}&count=${count}${query}`);
  const { totalResults, Resources } = answer.json();
  expect({ filter: filter?.text, totalResults, rows: Resources?.map(shown) }).toEqual({
    filter: filter?.text,
    totalResults: expected.length,
    rows: expected.slice(from - 1, from - 1 + count),
  });
}

export async function compareDirectory(world: World, directory: DirectoryId): Promise<void> {
  const { model, random } = world;
  const users = model.usersOf(directory).map((one) => expectedUser(world, directory, one));
  await expectList(world, directory, '/Users', { rows: users, shown: shownUser });
  await expectList(world, directory, '/Users', { rows: users, shown: shownUser, filter: someUserFilter(world, users) });
  const groups = model.groupsOf(directory).map(expectedGroup);
  await expectList(world, directory, '/Groups', { rows: groups, shown: shownGroup });
  const [group, member] = [random.of(groups), random.of(model.people)?.id ?? 'none'];
  const filter = random.of([
    {
      text: `displayName eq ${quoted((group?.name ?? 'none').toLowerCase())}`,
      of: ({ name }: Group) => isSame(name, group?.name ?? 'none'),
    },
    { text: `members eq ${quoted(member)}`, of: ({ members }: Group) => members.includes(member) },
  ]) as Filter<(typeof groups)[number]>;
  await expectList(world, directory, '/Groups', { rows: groups, shown: shownGroup, filter });
  const person = random.of(model.people);
  if (!person) return;
  const one = await callOf(world, directory)('GET', `/Users/${person.id}`);
  const found = users.find(({ id }) => id === person.id);
  expect(one.statusCode === 200 ? shownUser(one.json()) : one.statusCode).toEqual(found ?? 404);
}

const inOrder = (rows: object[]) => rows.map((row) => JSON.stringify(row)).sort();

/** Who is where, by the Public API; what groups are mapped to, by the Portal. */
export async function comparePlaces(world: World): Promise<void> {
  const { api, key, model, portal } = world;
  const held = [...model.held().values()];
  const here = model.people.filter(({ joinedAt }) => joinedAt !== null);
  const { items, pagination } = (await key('GET', '/identities?take=100')).json();
  const seen = items.map((one: Record<string, unknown>) => ({
    id: one.id,
    email: one.email,
    active: one.is_active,
  }));
  const expected = here.map(({ id, email, isActive }) => ({ id, email, active: isActive }));
  expect(inOrder(seen)).toEqual(inOrder(expected));
  expect(pagination.item_count).toBe(here.length);
  const states = await rowsOf<object>(
    api,
    `select id, email_verified_at is not null as "isVerified", password_hash is not null as "hasPassword"
     from identities where id = any($1)`,
    [here.map(({ id }) => id)],
  );
  expect(inOrder(states)).toEqual(
    inOrder(here.map(({ id, verifiedAt, hasPassword }) => ({ id, isVerified: verifiedAt !== null, hasPassword }))),
  );
  for (const [organization, members] of model.members) {
    const list = (await key('GET', `/organizations/${organization}/members?take=100`)).json();
    const rolesOf = (id: string) => held.filter(({ identity, node }) => identity === id && node === organization);
    expect(
      inOrder(
        list.items.map((one: { identity_id: string; role_ids: string[] }) => [
          one.identity_id,
          ...one.role_ids.toSorted(),
        ]),
      ),
    ).toEqual(
      inOrder(
        [...members].map((id) => [
          id,
          ...rolesOf(id)
            .map(({ role }) => role)
            .sort(),
        ]),
      ),
    );
    const shown = (await key('GET', `/organizations/${organization}`)).json().data;
    expect([shown.member_count, shown.pending_invite_count]).toEqual([
      members.size,
      model.invites.filter((one) => one.organization === organization).length,
    ]);
  }
  const mappings = (await portal('GET', '/scim/group-mappings?take=100')).json().items;
  expect(
    inOrder(
      mappings.map((one: Record<string, string>) => [
        one.id,
        one.organization_id ?? one.environment_id,
        one.scim_group,
        one.role_id,
        one.node_id,
      ]),
    ),
  ).toEqual(
    inOrder(
      model.mappings.map((one) => [
        one.id,
        one.directory,
        'id' in one.group ? one.group.id : one.group.name,
        one.role,
        one.node,
      ]),
    ),
  );
}

/** What everybody holds and may do, and on whose word they hold it. */
export async function compareRoles(world: World): Promise<void> {
  const { api, account, key, model } = world;
  const rows = await rowsOf<{ identity: string; role: string; node: string; from: string | null }>(
    api,
    `select a.identity_id as identity, a.role_id as role, a.node_id as node, s.directory_id as "from"
     from role_assignments a left join scim_assignments s on s.assignment_id = a.id
     where a.environment_id = $1 and a.removed_at is null`,
    [account.scope.environmentId],
  );
  model.settleGaps(new Set(rows.map(keyOf)));
  const held = [...model.held().values()];
  expect(inOrder(rows.map(({ from, ...place }) => [keyOf(place), from]))).toEqual(
    inOrder(held.map(({ from, ...place }) => [keyOf(place), from])),
  );
  const access = model.decisions();
  const checks = model.people.flatMap(({ id }) =>
    world.permissions.flatMap((permission) =>
      [...access.nodes.keys()].map((node_id) => ({ identity_id: id, permission, node_id })),
    ),
  );
  if (checks.length === 0) return;
  const { results } = (await key('POST', '/authorization/evaluate/bulk', { checks })).json().data;
  const reasons = checks.map((one) => access.reason(one.identity_id, one.permission, one.node_id, now(world)));
  expect(results.map(({ reason }: { reason: string }) => reason)).toEqual(reasons);
}

/** Who is signed in. */
export async function compareSessions({ api, model, sessions }: World): Promise<void> {
  for (const [id, token] of sessions) {
    const answer = await api.app.inject({ url: '/v1/identity/auth/me', headers: { authorization: `Bearer ${token}` } });
    expect(`${id} ${outcomeOf(answer)}`).toBe(`${id} ${model.person(id)?.isSignedIn ? '200' : '401'}`);
    if (!model.person(id)?.isSignedIn) sessions.delete(id);
  }
}
