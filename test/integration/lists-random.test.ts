import { startApi, type TestApi } from '../support/api.js';
import { allEnded } from '../support/audit-events.js';
import { expectedOf, type Item, idOf, type Query, shownOf } from '../support/lists/model.js';
import { someQuery } from '../support/lists/queries.js';
import { addTo, change, stir } from '../support/lists/rows.js';
import { type Declared, everyOperation } from '../support/operations/declared.js';
import { exampleOf, given } from '../support/operations/example.js';
import { examples } from '../support/operations/examples-account.js';
import { callerOf, isList } from '../support/operations/filters.js';
import { newPlaces, type Place } from '../support/operations/place.js';
import { nextOf, walk } from '../support/operations/walks.js';
import { createRandom, type Random } from '../support/random.js';
import { live, seedsOf } from '../support/random-histories.js';

/**
 * Every list of the API, with random filters, searches, orders and pages, over items with texts that are hard to search
 * and to sort: each page has the items that a small model finds in the whole list, also on the way through a list to
 * which items are added.
 */

let api: TestApi;
let declared: Declared[];
let descriptions: Map<string, string>;
beforeAll(async () => {
  api = await startApi();
  declared = await everyOperation(api.app);
  const { paths } = (await api.app.inject('/openapi.json')).json();
  const all = Object.values(paths as Record<string, Record<string, { operationId: string; description?: string }>>);
  descriptions = new Map(
    all.flatMap((one) => Object.values(one)).map(({ operationId, description = '' }) => [operationId, description]),
  );
});
afterAll(() => api?.stop());

/** A list, on each surface that offers it. */
interface Offered {
  on: Declared[];
  path: Record<string, string>;
  /** The ids of items that were added. */
  added: Set<string>;
}
interface World {
  random: Random;
  place: Place;
  foreign: string[];
  lists: Offered[];
  /** Whether there are times that differ by less than is shown. */
  hasMicroseconds: boolean;
}

async function newWorld(seed: number): Promise<World> {
  const random = createRandom(seed);
  const { development: place } = await newPlaces(api);
  const { development: other } = await newPlaces(api);
  const lists: Offered[] = [];
  for (const list of declared.filter(isList)) {
    const known = lists.find(({ on }) => on[0]?.example === list.example);
    if (known) known.on.push(list);
    else lists.push({ on: [list], path: (await exampleOf(examples, list)(given(place))).path ?? {}, added: new Set() });
  }
  const role = await other.make('/roles', { name: 'Foreign', permission_keys: [] });
  const node = await other.make('/nodes', { node_type: 'unit', name: 'Foreign', parent_node_id: null });
  const foreign = [other.scope.environmentId, role.id, node.id];
  const world: World = { random, place, foreign, lists, hasMicroseconds: random.below(2) === 0 };
  for (const one of lists) await fill(world, one);
  await stir(place, random, world.hasMicroseconds);
  return world;
}

const firstOf = ({ on }: Offered) => on[0] as Declared;

const asking =
  ({ place }: World, { path }: Offered, list: Declared) =>
  (query: Query) =>
    place.call(list, { path, query }, callerOf(list));

async function add({ place, random }: World, one: Offered): Promise<void> {
  if (random.below(3) === 0) api.clock.advance(1);
  const id = await addTo(place, random, { declared, list: firstOf(one), path: one.path });
  if (id) one.added.add(id);
}

async function fill(world: World, one: Offered): Promise<void> {
  const { place, random } = world;
  for (let i = random.between(2, 3); i > 0; i--) await add(world, one);
  const { items } = (await asking(world, one, firstOf(one))({ take: '100' })).json<{ items: Item[] }>();
  for (const item of items.filter((item) => one.added.has(idOf(item)) && random.below(2) === 0))
    await change(place, random, { declared, list: firstOf(one), path: one.path }, item);
}

/** Returns the whole list, oldest first. */
async function wholeOf(world: World, one: Offered, list: Declared): Promise<Item[]> {
  const ask = asking(world, one, list);
  const items = (await walk(ask, { sort_by: 'created_at', order: 'asc', take: '100' })) as Item[];
  const ids = items.map(idOf);
  expect(new Set(ids).size).toBe(ids.length);
  expect([...one.added].filter((id) => !ids.includes(id))).toEqual([]);
  const places = items.map((item) => `${shownOf(item).created_at} ${world.hasMicroseconds ? '' : idOf(item)}`);
  if (shownOf(items[0] ?? {}).created_at !== undefined) expect(places).toEqual(places.toSorted());
  return items;
}

/** @returns whether the service accepts the query */
async function expectPages(world: World, one: Offered, list: Declared, items: Item[], query: Query): Promise<boolean> {
  const { random } = world;
  const ask = asking(world, one, list);
  const first = await ask({ ...query, take: '1' });
  if (first.statusCode === 400) {
    const details: { field: string }[] = first.json().error.details;
    expect(details.filter(({ field }) => query[field.replace('query.', '')] === undefined)).toEqual([]);
    return false;
  }
  const description = descriptions.get(list.name) ?? '';
  const expected = expectedOf({ list, description, items, now: api.clock.now }, query);
  const take = Math.max(random.of([1, 2, 3, 7, 100]), Math.ceil(expected.length / 8));
  const pageCount = Math.ceil(expected.length / take);
  const met: Item[] = [];
  for (let [place, page] = [{ ...query, take: String(take) } as Query | null, 1]; place; page++) {
    const answer = await ask(place);
    expect(answer.statusCode).toBe(200);
    const { items: some, pagination } = answer.json<{ items: Item[]; pagination: object }>();
    met.push(...some);
    place = nextOf(answer);
    const count = { item_count: expected.length, page_count: pageCount };
    const isMore = page < pageCount;
    expect(pagination).toEqual({ page, take, ...count, has_previous_page: page > 1, has_next_page: isMore });
    expect(place !== null).toBe(isMore);
  }
  expect(met).toEqual(expected);
  const page = random.between(1, pageCount + 1);
  const answer = (await ask({ ...query, take: String(take), page: String(page) })).json<{ items: Item[] }>();
  expect(answer.items).toEqual(expected.slice((page - 1) * take, page * take));
  return true;
}

/** Items that are there from the beginning are met once, in their order, while others are added. */
async function expectAllMet(world: World, one: Offered, list: Declared, items: Item[]): Promise<void> {
  const ask = asking(world, one, list);
  const order = world.random.of(['asc', 'desc']);
  const met: string[] = [];
  const take = String(Math.min(100, Math.ceil(items.length / 3) + 10)); // more than are added meanwhile, so that the walk ends
  for (let place: Query | null = { sort_by: 'created_at', order, take }; place; ) {
    const answer = await ask(place);
    met.push(...answer.json<{ items: Item[] }>().items.map(idOf));
    place = nextOf(answer);
    if (place) await add(world, one);
  }
  const ids = items.map(idOf);
  expect(met).toHaveLength(new Set(met).size);
  expect(met.filter((id) => ids.includes(id))).toEqual(order === 'asc' ? ids : ids.toReversed());
}

/** An item is the same in its list and by itself. */
async function expectSingle(world: World, one: Offered, list: Declared, items: Item[]): Promise<void> {
  const single = declared.find(
    ({ method, url }) => method === 'GET' && /^\{\w+\}$/.test(url.replace(`${list.url}/`, '')),
  );
  const item = world.random.of(items);
  if (!single || !item || list.example.includes('Audit')) return; // to view an audit row adds one
  const parameter = single.url.slice(list.url.length + 2, -1);
  const field = parameter.endsWith('Slug') ? 'slug' : parameter;
  const id = field in shownOf(item) && field !== 'id' ? String(shownOf(item)[field]) : idOf(item);
  const answer = await world.place.call(single, { path: { ...one.path, [parameter]: id } }, callerOf(single));
  expect(answer.statusCode).toBe(200);
  const { data } = answer.json<{ data: Item }>();
  const common = Object.keys(item).filter((name) => name in data);
  expect(common.length).toBeGreaterThan(0);
  for (const name of common) expect([name, item[name]]).toEqual([name, data[name]]);
}

/** An export has all rows that the list has for the same filters, oldest first. */
async function expectExport({ place }: World, list: Declared, items: Item[], query: Query): Promise<void> {
  const exports = declared.find(({ url }) => url === `${list.url}/export`);
  if (!exports) return;
  const { sort_by: _, order: __, ...filters } = query;
  const answer = await place.call(exports, { query: filters }, callerOf(exports));
  expect(answer.statusCode).toBe(200);
  const rows = answer.body.split('\n').filter(Boolean);
  const expected = expectedOf({ list, description: '', items, now: api.clock.now }, { ...filters, order: 'asc' });
  expect(rows.map((row) => JSON.parse(row).id)).toEqual(expected.map(idOf));
}

/** The change feed by types, in portions, is the whole feed without the others. */
async function expectChanges({ random, place }: World): Promise<void> {
  await allEnded(api);
  const list = random.of(declared.filter(({ example }) => example === 'listChanges'));
  const read = async (query: Query) => {
    const items: Item[] = [];
    for (let cursor: Query = {}, isMore = true; isMore; ) {
      const page = (await place.call(list, { query: { ...query, ...cursor } }, callerOf(list))).json();
      items.push(...page.items);
      [cursor, isMore] = [{ cursor: page.next_cursor }, page.has_more];
      expect(page.items.length).toBeLessThanOrEqual(Number(query.limit));
    }
    return items;
  };
  const whole = await read({ limit: '1000' });
  const types = [random.of(whole), random.of(whole)].map(({ type }) => String(type));
  const wanted = whole.filter(({ type }) => types.includes(String(type)));
  const limit = Math.max(random.of([1, 2, 7]), Math.ceil(wanted.length / 10));
  expect(await read({ types: types.join(), limit: String(limit) })).toEqual(wanted);
}

test.each(seedsOf(1))('every list has what a query asks for, in its order and on each page (%i)', async (seed) => {
  const world = await newWorld(seed);
  const { random, lists, foreign } = world;
  let [next, accepted] = [random.below(lists.length), 0];
  await live(seed, lists.length, async (tell) => {
    const one = lists[next++ % lists.length] as Offered;
    const list = random.of(one.on);
    tell(list.name);
    const items = await wholeOf(world, one, list);
    await expectSingle(world, one, list, items);
    for (let tries = 0; tries < 2; tries++) {
      const asked = { list, description: descriptions.get(list.name) ?? '', items, foreign, now: api.clock.now };
      const query = someQuery(random, asked);
      tell(`${list.name} ${JSON.stringify(query)}`);
      if (!(await expectPages(world, one, list, items, query))) continue;
      accepted++;
      if (tries === 1) await expectExport(world, list, items, query);
    }
    if (random.below(6) === 0) await expectAllMet(world, one, list, items);
  });
  for (let portions = 0; portions < 3; portions++) await expectChanges(world);
  expect(accepted).toBeGreaterThan(0);
});
