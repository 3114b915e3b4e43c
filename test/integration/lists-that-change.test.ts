import { startApi, type TestApi } from '../support/api.js';
import { type Declared, everyOperation } from '../support/operations/declared.js';
import { exampleOf, given } from '../support/operations/example.js';
import { examples } from '../support/operations/examples-account.js';
import { newPlaces, type Place } from '../support/operations/place.js';
import type { Sent } from '../support/operations/sent.js';
import { walk } from '../support/operations/walks.js';

/** Walks through every list to which an operation adds something, while items come and go (docs/decisions/0082). */

let api: TestApi;
let place: Place;
let declared: Declared[];
beforeAll(async () => {
  api = await startApi();
  Object.defineProperty(api.clock, 'now', { get: () => new Date() }); // each item has its own time
  place = (await newPlaces(api)).development;
  declared = await everyOperation(api.app);
});
afterAll(() => api?.stop());

/** Lists whose items another operation than a POST to the list creates. */
const madeBy: Record<string, string> = {
  listDirectory: 'createIdentity',
  listIdentitiesWithRoles: 'createIdentity',
  listProcesses: 'createIdentityInvite',
  listAuditLogs: 'createIdentityInvite',
  listAuditLog: 'createIdentityInvite',
};
/** The first contains the key that the test calls with; an Application is deleted by its slug. */
const keepsAll = new Set(['listApiKeys', 'listApplications']);
/** An organization has only one connection, and the example is an organization's. */
const hasOne = new Set(['listSsoConnections']);

let removals = 0;

interface Item {
  id?: string;
  domain?: string;
  assignment_id?: string;
}
const idOf = (item: Item) => item.id ?? item.domain ?? item.assignment_id ?? JSON.stringify(item);
const send = (operation: Declared, sent: Sent) =>
  place.call(operation, sent, operation.surface === 'public' ? 'key' : 'owner');
const sentTo = async (operation: Declared): Promise<Sent> => exampleOf(examples, operation)(given(place));

interface Changing {
  list: Declared;
  adds: Declared;
  removes: Declared | undefined;
}

function changing(): Changing[] {
  const named = (example: string) => declared.find((one) => one.example === example && one.surface === 'public');
  return declared.flatMap((list): Changing[] => {
    const isPage = list.method === 'GET' && list.query.some(({ name }) => name === 'after');
    const isTwin = list.surface === 'portal' && named(list.example) !== undefined;
    const adds =
      named(madeBy[list.example] ?? '') ?? declared.find(({ method, url }) => method === 'POST' && url === list.url);
    if (!isPage || isTwin || !adds || hasOne.has(list.example)) return [];
    const ofOne = (url: string) => url.startsWith(`${list.url}/{`) && !url.slice(list.url.length + 1).includes('/');
    const removes = declared.find(({ method, url }) => method === 'DELETE' && ofOne(url));
    return [{ list, adds, removes: keepsAll.has(list.example) ? undefined : removes }];
  });
}

/** @returns what is wrong with a walk; between pages the last shown item is deleted and another one is created */
async function problemOf({ list, adds, removes }: Changing, order: 'asc' | 'desc'): Promise<string | null> {
  const { path, query = {} } = list.example in madeBy ? ({} as Sent) : await sentTo(list);
  const add = async () => {
    const sent = await sentTo(adds);
    const fitting = Object.entries(query).filter(([name]) => name in (sent.body ?? {}));
    const body = { ...sent.body, ...Object.fromEntries(fitting) };
    const answer = await send(adds, { ...sent, path: { ...sent.path, ...path }, body });
    if (answer.statusCode >= 300) throw new Error(`${adds.name}: ${answer.body}`);
  };
  const remove = async (item: Item): Promise<boolean> => {
    if (!removes) return false;
    const { version, ...sent } = await sentTo(removes);
    const last = removes.url.match(/\{(\w+)\}$/)?.[1] as string;
    const one = {
      ...sent,
      path: { ...path, [last]: idOf(item) },
      ...(version && { version: { ...version, id: idOf(item) } }),
    };
    return (await send(removes, one)).statusCode < 300;
  };

  for (let made = 0; made < 4; made++) await add();
  const ask = (more: Record<string, string>) => send(list, { ...(path && { path }), query: { ...query, ...more } });
  const byAge = { sort_by: 'created_at', order };
  const before = (await walk(ask, { ...byAge, take: '100' })) as Item[];
  const gone = new Set<string>();
  const askAndChange = async (more: Record<string, string>) => {
    const answer = await ask(more);
    const last = answer.json<{ items?: Item[] }>().items?.at(-1);
    if (last && (await remove(last))) gone.add(idOf(last));
    await add();
    return answer;
  };
  const take = String(Math.min(100, Math.max(5, Math.ceil(before.length / 3)))); // more than are added meanwhile, so that the walk ends
  const met = ((await walk(askAndChange, { ...byAge, take })) as Item[]).map(idOf);
  removals += gone.size;
  const missed = before.map(idOf).filter((id) => !met.includes(id) && !gone.has(id));
  const twice = met.filter((id, i) => met.indexOf(id) < i);
  return missed.length + twice.length > 0 ? `${list.name} ${order}: missed ${missed}, met twice ${twice}` : null;
}

test('an item that exists from start to end is listed once, in every list and in both orders', async () => {
  const lists = changing();
  const problems: string[] = [];
  for (const one of lists)
    for (const order of ['asc', 'desc'] as const) {
      const problem = await problemOf(one, order).catch((error: Error) => `${one.list.name}: ${error.message}`);
      if (problem) problems.push(problem);
    }
  expect(problems).toEqual([]);
  expect(lists.length).toBeGreaterThan(25);
  expect(removals).toBeGreaterThan(25);
});
