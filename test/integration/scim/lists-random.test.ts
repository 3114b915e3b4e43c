import { newAccount, startApi, type TestApi } from '../../support/api.js';
import { hardText } from '../../support/lists/hard-values.js';
import { compare, lower } from '../../support/lists/model.js';
import { createRandom, type Random } from '../../support/random.js';
import { byWeight, live, seedsOf } from '../../support/random-histories.js';
import { anAddress, newDirectory, newGroup, newUser, type ScimCall } from '../../support/scim.js';

/**
 * Random filters, orders and pages of Users and Groups over SCIM, over texts that are hard to search: a small model
 * evaluates each filter on the resources as the directory reads them.
 */

let api: TestApi;
let call: ScimCall;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api?.stop());

type Resource = { id: string } & Record<string, unknown>;
type Several = Record<string, unknown>[];

const enterprise = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';
/** What is compared, as text unless it says otherwise. */
const attributes = {
  Users: [
    ...['userName', 'displayName', 'title', 'name.givenName', 'name.familyName', `${enterprise}:employeeNumber`],
    ...['externalId', 'emails', 'emails.value', 'emails.type', 'phoneNumbers.value', 'active', 'groups.value', 'id'],
  ],
  Groups: ['displayName', 'externalId', 'members.value', 'id'],
};
const isExact = (path: string) => path === 'externalId';
const isId = (path: string) => ['id', 'groups.value', 'members.value'].includes(path);

/** Returns the values at a path: several for an attribute with several. */
function valuesAt(resource: Resource, path: string): unknown[] {
  if (path.startsWith(enterprise)) return [(resource[enterprise] as Resource | undefined)?.employeeNumber];
  const [name, sub] = path.split('.') as [string, string | undefined];
  const value = resource[name];
  if (['emails', 'phoneNumbers', 'groups', 'members'].includes(name))
    return ((value ?? []) as Several).map((one) => one[sub ?? 'value']);
  return [sub ? (value as Resource | undefined)?.[sub] : value];
}

interface Filter {
  text: string;
  matches(resource: Resource): boolean;
}

const tests: Record<string, (left: string, right: string) => boolean> = {
  eq: (left, right) => left === right,
  co: (left, right) => left.includes(right),
  sw: (left, right) => left.startsWith(right),
  ew: (left, right) => left.endsWith(right),
  gt: (left, right) => compare(left, right) > 0,
  ge: (left, right) => compare(left, right) >= 0,
  lt: (left, right) => compare(left, right) < 0,
  le: (left, right) => compare(left, right) <= 0,
};

function comparison(random: Random, kind: 'Users' | 'Groups', all: Resource[]): Filter {
  const path = random.of(attributes[kind]);
  if (random.below(8) === 0) {
    const isPresent = (value: unknown) => value !== undefined && value !== null && value !== '';
    return { text: `${path} pr`, matches: (one) => valuesAt(one, path).some(isPresent) };
  }
  if (path === 'active') {
    const wanted = random.below(2) === 0;
    return { text: `active eq ${wanted}`, matches: ({ active }) => active === wanted };
  }
  const there = valuesAt(random.of(all), path).find((value) => typeof value === 'string') as string | undefined;
  const op = random.of(isId(path) ? ['eq', 'ne'] : ['ne', ...Object.keys(tests)]);
  const wanted = isId(path) ? (there ?? random.of(all).id) : partOf(random, there ?? hardText(random), op);
  const folded = (value: string) => (isExact(path) || isId(path) ? value : lower(value));
  const holds = (value: unknown) => {
    if (op === 'ne') return typeof value !== 'string' || folded(value) !== folded(wanted);
    return typeof value === 'string' && (tests[op] as (typeof tests)[string])(folded(value), folded(wanted));
  };
  return { text: `${path} ${op} ${JSON.stringify(wanted)}`, matches: (one) => valuesAt(one, path).some(holds) };
}

/** Returns the text or a part of it, mostly the part that is meant, and often in another case. */
function partOf(random: Random, text: string, op: string): string {
  const characters = [...text];
  const [from, to] = [random.below(characters.length), random.between(1, characters.length)];
  const parts: Record<string, string> = {
    co: characters.slice(from, from + to).join(''),
    sw: characters.slice(0, to).join(''),
    ew: characters.slice(from).join(''),
  };
  const part = (op in parts && parts[random.of([op, op, 'co', 'sw'])]) || text;
  return random.of([part, part, lower(part), part.toUpperCase()]);
}

function someFilter(random: Random, kind: 'Users' | 'Groups', all: Resource[], depth = 2): Filter {
  const one = () => someFilter(random, kind, all, depth - 1);
  const shape = depth === 0 ? 'comparison' : random.of(['comparison', 'comparison', 'and', 'or', 'not']);
  if (shape === 'comparison') return comparison(random, kind, all);
  if (shape === 'not') {
    const inner = one();
    return { text: `not (${inner.text})`, matches: (resource) => !inner.matches(resource) };
  }
  const [left, right] = [one(), one()];
  const isAnd = shape === 'and';
  return {
    text: `(${left.text}) ${shape} (${right.text})`,
    matches: (one) => (isAnd ? left.matches(one) && right.matches(one) : left.matches(one) || right.matches(one)),
  };
}

async function addUser(random: Random, n: number): Promise<string> {
  const maybe = <T>(value: T) => (random.below(3) === 0 ? undefined : value);
  const address = anAddress();
  const { id } = await newUser(call, {
    userName: random.of([address, `${hardText(random, 40)} ${n}`]),
    externalId: maybe(`${random.of(['ext', 'EXT', 'ext%'])}-${n}`),
    displayName: maybe(hardText(random)),
    title: maybe(hardText(random)),
    active: random.below(4) > 0,
    name: { givenName: maybe(hardText(random, 60)), familyName: maybe(hardText(random, 60)) },
    emails: [
      { value: address, type: random.of(['work', 'Home']), primary: true },
      ...(random.below(2) === 0 ? [{ value: anAddress('other.example'), type: 'other' }] : []),
    ],
    phoneNumbers: maybe([{ value: hardText(random, 40), type: 'work' }]),
    [enterprise]: maybe({ employeeNumber: `${hardText(random, 20)}${n}` }),
  });
  return id;
}

type Page = { totalResults: number; startIndex: number; itemsPerPage: number; Resources: Resource[] };
async function ask(kind: 'Users' | 'Groups', query: Record<string, string>): Promise<Page> {
  const answer = await call('GET', `/${kind}?${new URLSearchParams(query)}`);
  if (answer.statusCode !== 200) throw new Error(`${answer.statusCode} ${answer.body}`);
  return answer.json();
}

function inOrder(found: Resource[], sortBy: string | undefined, isDescending: boolean): Resource[] {
  if (sortBy === undefined) return found;
  const keyOf = (one: Resource): string | null => {
    const [value] = valuesAt(one, sortBy) as (string | undefined)[];
    if (typeof value !== 'string') return null;
    return isExact(sortBy) ? value : lower(value);
  };
  const sign = isDescending ? -1 : 1;
  return found.toSorted((a, b) => sign * compare(keyOf(a), keyOf(b)) || compare(a.id, b.id));
}

async function expectFound(random: Random, kind: 'Users' | 'Groups', tell: (line: string) => void): Promise<void> {
  const { Resources: all } = await ask(kind, { count: '200' });
  const filter = someFilter(random, kind, all);
  const sorts = attributes[kind].filter(
    (path) => !path.includes(':') && !/^(emails|phone|groups|members|active)/.test(path),
  );
  const sortBy = random.below(2) === 0 ? random.of(sorts) : undefined;
  const sortOrder = random.of(['ascending', 'descending']);
  const expected = inOrder(all.filter(filter.matches), sortBy, sortBy !== undefined && sortOrder === 'descending');
  const query = { filter: filter.text, ...(sortBy && { sortBy, sortOrder }) };
  tell(`${kind} ${JSON.stringify(query)}`);
  const count = random.between(1, 5);
  const ids: string[] = [];
  for (let startIndex = 1; startIndex <= expected.length + 1; startIndex += count) {
    const page = await ask(kind, { ...query, startIndex: String(startIndex), count: String(count) });
    const shown = expected.slice(startIndex - 1, startIndex - 1 + count);
    expect(page).toMatchObject({ totalResults: expected.length, startIndex, itemsPerPage: shown.length });
    ids.push(...page.Resources.map(({ id }) => id));
    if (count * 6 < expected.length && random.below(3) === 0) return; // not all of a long list each time
  }
  expect(ids).toEqual(expected.map(({ id }) => id));
  expect((await ask(kind, { ...query, count: '0' })).totalResults).toBe(expected.length);
}

test.each(seedsOf(1))('a filter finds what it means, in its order and on each page (%i)', async (seed) => {
  call = await newDirectory(api, await newAccount(api));
  const random = createRandom(seed);
  const users: string[] = [];
  const groups: string[] = [];
  const steps = byWeight([
    [1, 'user'],
    [1, 'group'],
    [12, 'ask'],
  ] as const);
  const add = async (step: 'user' | 'group') => {
    if (random.below(2) === 0) api.clock.advance(1);
    if (step === 'user') users.push(await addUser(random, seed * 1000 + users.length));
    else groups.push(await newGroup(call, hardText(random), ...users.filter(() => random.below(3) === 0).slice(0, 20)));
  };
  for (let i = 0; i < 8; i++) await add('user');
  for (let i = 0; i < 3; i++) await add('group');
  await live(seed, 60, async (tell) => {
    const step = random.of(steps);
    if (step === 'ask') await expectFound(random, random.of(['Users', 'Users', 'Groups']), tell);
    else await add(step);
  });
  expect(groups.length).toBeGreaterThan(2);
});
