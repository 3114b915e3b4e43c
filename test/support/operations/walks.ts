import type { LightMyRequestResponse } from 'fastify';
import { writeCursor } from '../../../src/domain/lists/cursors.js';

/** Walks through a list by the `Link` from each page to the next, and reports what is wrong with it. */

type Query = Record<string, string>;
type Item = Record<string, unknown>;
type Ask = (query: Query) => Promise<LightMyRequestResponse>;

/** Returns the query of the next page by the `Link` of an answer; null on the last page. */
export function nextOf({ headers: { link } }: LightMyRequestResponse): Query | null {
  const target = /^<([^<>]+)>; rel="next"$/.exec(String(link ?? ''))?.[1];
  return target === undefined ? null : Object.fromEntries(new URL(target, 'http://list.test').searchParams);
}

/** Returns all items on the way. @throws Error if a page is not answered, or contradicts itself about the next page */
export async function walk(ask: Ask, query: Query): Promise<Item[]> {
  const items: Item[] = [];
  for (let place: Query | null = query; place !== null; ) {
    const answer: LightMyRequestResponse = await ask(place);
    if (answer.statusCode !== 200) throw new Error(`${answer.statusCode} ${answer.body.slice(0, 200)}`);
    const { items: some, pagination } = answer.json<{ items: Item[]; pagination: { has_next_page: boolean } }>();
    items.push(...some);
    place = nextOf(answer);
    if (pagination.has_next_page !== (place !== null))
      throw new Error(`says ${pagination.has_next_page} of ${JSON.stringify(place)}`);
    if (place && some.length === 0) throw new Error('goes on behind nothing');
  }
  return items;
}

const [never, ever] = [0, 8_000_000_000].map((placeAt) =>
  writeCursor({ placeAt, placeId: '80000000-0000-7000-8000-000000000000' }),
);

/**
 * Returns what is wrong with the ways through a list that `query` filters; nothing if all is well.
 * @param idOf names an item
 */
export async function problemsOfWalks(ask: Ask, query: Query, idOf: (item: Item) => string): Promise<string[]> {
  const problems: string[] = [];
  for (const order of ['asc', 'desc']) {
    const byAge = { ...query, sort_by: 'created_at', order };
    const whole = await ask({ ...byAge, take: '100' });
    if (whole.statusCode !== 200) throw new Error(`${whole.statusCode} ${whole.body.slice(0, 200)}`);
    const { items, pagination } = whole.json<{ items: Item[]; pagination: { item_count: number } }>();
    const all = items.map(idOf);
    const take = String(Math.max(1, Math.ceil(all.length / 3)));
    const [from, to] = order === 'asc' ? [never, ever] : [ever, never];
    const ways = {
      'by its links': await walk(ask, { ...byAge, take }),
      'from before it': await walk(ask, { ...byAge, take, after: from! }),
    };
    for (const [way, met] of Object.entries(ways)) {
      if (pagination.item_count <= 100 && met.map(idOf).join() !== all.join()) {
        problems.push(`${order}, ${way}: ${met.length} of ${all.length}`);
      }
    }
    const behind = (await ask({ ...byAge, after: to! })).json();
    if (behind.items.length > 0 || behind.pagination.item_count !== pagination.item_count) {
      problems.push(`${order}, behind its end: ${JSON.stringify(behind.pagination)}`);
    }
  }
  return problems;
}
