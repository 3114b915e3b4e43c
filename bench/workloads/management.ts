import { randomUUID } from 'node:crypto';
import { type Answer, type Connection, expectContent, jsonOf } from '../connection.js';
import { createRandom } from '../sized/model.js';
import { emailOf, type SizedSeed } from '../sized/seed.js';
import type { SizedWorkload } from './sized-workload.js';

const take = 50;

interface Page {
  items: { email: string }[];
  pagination: { item_count: number; page: number };
}

interface NodeAnswer {
  data: { id: string; parent_node_id: string; version: number };
}

export const headersOf = ({ apiKey }: SizedSeed) => ({ 'x-api-key': apiKey });
const pageOf = async (connection: Connection, path: string, headers: Record<string, string>) =>
  jsonOf<Page>(await connection.get(path, headers));

/** Where a list is: its path in the Public API, for the API key, or a function for the whole path and the headers. */
type Place = string | ((connection: Connection, seed: SizedSeed) => Promise<Asked>);
interface Asked {
  path: string;
  headers: Record<string, string>;
}

async function askedOf(list: Place, connection: Connection, seed: SizedSeed): Promise<Asked> {
  if (typeof list === 'string') return { path: `/api/v1/${list}`, headers: headersOf(seed) };
  return list(connection, seed);
}

/**
 * Returns a workload of one full page of a list, with the total.
 * @param seeded how many rows the list has at least
 * @param which the number of the page, for a list of `total` rows, and further parameters
 */
export const listed = (
  name: string,
  about: string,
  list: Place,
  seeded: (seed: SizedSeed) => number,
  { numberOf = () => 1, query = '' }: { numberOf?: (total: number, take: number) => number; query?: string } = {},
): SizedWorkload => ({
  name,
  about,
  limit: 'reads',
  uses: 1,
  async prepare({ connection, seed }) {
    const { path: of, headers } = await askedOf(list, connection, seed);
    const path = `${of}?take=${take}${query}`;
    const { pagination: first } = await pageOf(connection, path, headers);
    const asked = numberOf(first.item_count, take);
    return async () => {
      const { items, pagination } = await pageOf(connection, `${path}&page=${asked}`, headers);
      const hasTotal = pagination.item_count >= seeded(seed) && pagination.page === asked;
      expectContent(items.length === take && hasTotal, 'a full page with the total');
    };
  },
});

/**
 * Returns a workload of the first page of a search.
 * @param textOf returns the text to search for
 * @param isRight whether the number of results is plausible
 */
export const searched = (
  name: string,
  about: string,
  textOf: (random: () => number) => string,
  isRight: (total: number) => boolean,
): SizedWorkload => ({
  name,
  about,
  limit: 'reads',
  uses: 1,
  async prepare({ index, connection, seed }) {
    const random = createRandom(index);
    return async () => {
      const path = `/api/v1/identities?take=${take}&q=${encodeURIComponent(textOf(random))}`;
      const { items, pagination } = await pageOf(connection, path, headersOf(seed));
      const { item_count: total } = pagination;
      expectContent(isRight(total) && items.length === Math.min(take, total), 'who is searched for, and the total');
    };
  },
});

/** Returns the next page's path from a page's `Link` header. */
const nextOf = ({ headers: { link } }: Answer): string | undefined => /^<([^>]+)>; rel="next"$/.exec(String(link))?.[1];

/** Walks from the middle to the end of the list, repeatedly. */
export const walked: SizedWorkload = {
  name: 'identities-walk',
  about: 'the same from the middle on, each page by the link of the one before',
  limit: 'reads',
  uses: 1,
  async prepare({ connection, seed }) {
    const path = `/api/v1/identities?take=${take}`;
    const { pagination: first } = await pageOf(connection, path, headersOf(seed));
    const middle = await connection.get(`${path}&page=${Math.floor(first.item_count / take / 2)}`, headersOf(seed));
    const start = nextOf(middle);
    let next = start;
    return async () => {
      const answer = await connection.get(next as string, headersOf(seed));
      const { items, pagination } = jsonOf<Page>(answer);
      next = nextOf(answer) ?? start;
      const isFull = items.length === take || next === start;
      expectContent(isFull && pagination.item_count >= seed.size.identities, 'a full page with the total');
    };
  },
};

/** Returns the last page that is full. It stays full while items are created, since newer ones come first. */
const lastFullPage = (total: number) => Math.floor(total / take);

export const managementWorkloads: SizedWorkload[] = [
  listed('nodes-list', `GET /api/v1/nodes: the first page of ${take}`, 'nodes', ({ size }) => size.nodes + size.moved),
  {
    name: 'move-subtree',
    about: 'POST of a node with 1 000 (quick: 100) below it to another parent and back, one at a time',
    limit: 'reads',
    uses: 1,
    isAlone: true,
    async prepare({ connection, seed }) {
      const { id, parentIds } = seed.moved;
      const path = `/api/v1/nodes/${id}`;
      let { data: node } = jsonOf<NodeAnswer>(await connection.get(path, headersOf(seed)));
      return async () => {
        const [parent] = parentIds.filter((parentId) => parentId !== node.parent_node_id);
        const headers = { ...headersOf(seed), 'if-match': `"${node.version}"` };
        const answer = await connection.postJson(`${path}/move`, { parent_node_id: parent }, headers);
        const { data: moved } = jsonOf<NodeAnswer>(answer);
        expectContent(moved.parent_node_id === parent && moved.version === node.version + 1, 'the new parent');
        node = moved;
      };
    },
  },
  listed(
    'identities-first',
    `GET /api/v1/identities: the first page of ${take}`,
    'identities',
    ({ size }) => size.identities,
  ),
  listed('identities-last', 'the same, the last full page', 'identities', ({ size }) => size.identities, {
    numberOf: lastFullPage,
  }),
  walked,
  {
    name: 'identities-search-one',
    about: 'the same, searched by a part of an address that one identity has',
    limit: 'reads',
    uses: 1,
    async prepare({ index, connection, seed }) {
      const random = createRandom(index);
      return async () => {
        const email = emailOf(Math.floor(random() * seed.size.identities));
        const q = email.slice(0, email.indexOf('@') + 1);
        const path = `/api/v1/identities?take=${take}&q=${encodeURIComponent(q)}`;
        const { items, pagination } = await pageOf(connection, path, headersOf(seed));
        expectContent(items[0]?.email === email && pagination.item_count === 1, 'the one identity');
      };
    },
  },
  {
    name: 'identities-create',
    about: 'POST of an identity without a password; with its event, audit and outbox in one durable commit',
    limit: 'reads',
    uses: 1,
    async prepare({ connection, seed }) {
      return async () => {
        const email = `new-${randomUUID()}@people.example`;
        const body = { email, first_name: 'New', last_name: 'Person' };
        const answer = await connection.postJson('/api/v1/identities', body, headersOf(seed));
        expectContent(jsonOf<{ data: { email: string } }>(answer, 201).data.email === email, 'the new identity');
      };
    },
  },
];
