import { randomUUID } from 'node:crypto';
import type { Declared, Schema } from './declared.js';
import type { CallerKind, Place } from './place.js';
import type { Sent } from './sent.js';
import { problemsOfWalks } from './walks.js';

/** Checks by what a list can be filtered, and that two filters together leave exactly what each of them leaves. */

type Query = Record<string, string>;
type Item = Record<string, unknown>;

const paging = ['page', 'take', 'after', 'sort_by', 'order', 'format'];
export const isList = ({ query }: Declared): boolean => query.some(({ name }) => name === 'page');
export const isExport = ({ url }: Declared): boolean => url.endsWith('/export');

/** Returns as whom a list is read. */
export const callerOf = ({ surface, url }: Declared): CallerKind =>
  surface === 'public' ? 'key' : url.startsWith('/v1/identity') ? 'identity' : 'owner';
const idOf = (item: Item) => String(item.assignment_id ?? ((item.connection ?? item) as Item).id);

/** Returns a call of the operation with a query, on the path of `sent`. */
const askedWith = (place: Place, declared: Declared, sent: Sent) => (query: Query) =>
  place.call(declared, { ...sent, query }, callerOf(declared));

/** Returns each filter alone, and each pair. @param items the whole list: filters use its values, to leave something */
function combinationsOf({ query }: Declared, sent: Sent, items: Item[]): { alone: Query[]; pairs: Query[] } {
  const filters = query.filter(({ name }) => !paging.includes(name));
  const each = filters.map(({ name, schema }) =>
    [...new Set(valuesOf(name, schema, sent, items))].map((value): Query => ({ [name]: value })),
  );
  const pairs = each.flatMap((some, i) =>
    each.slice(i + 1).flatMap((others) => some.flatMap((one) => others.map((other) => ({ ...one, ...other })))),
  );
  return { alone: each.flat(), pairs };
}

function valuesOf(name: string, { type, enum: words, format }: Schema, { query = {} }: Sent, items: Item[]): string[] {
  if (name === 'q') return ['e', 'exam']; // trigrams are used for the longer one only
  if (name === 'older_than') return ['0s', '1d'];
  if (type === 'boolean') return ['true', 'false'];
  if (format === 'date-time') {
    // Three days before the first item, at its time, and a millisecond later.
    const moment = Date.parse(String(items[0]?.created_at ?? '2026-11-22T12:00:00Z'));
    return [-72 * 3_600_000, 0, 1].map((ms) => new Date(moment + ms).toISOString());
  }
  const there = items.map((item) => item[name]).find((value) => typeof value === 'string') as string | undefined;
  if (words?.length === 2) return words; // the two may be different statements
  return [there ?? query[name] ?? words?.[0] ?? (format === 'uuid' ? randomUUID() : 'none')];
}

/** Returns what is wrong with a list's filters; nothing if all is well. */
export async function problemsOfList(place: Place, declared: Declared, sent: Sent): Promise<string[]> {
  const ask = askedWith(place, declared, sent);
  const problems: string[] = [];
  const page = async (query: Query): Promise<{ items: Item[]; pagination: Record<string, unknown> }> => {
    const answer = await ask(query);
    if (answer.statusCode !== 200) throw new Error(`${answer.statusCode} ${answer.body.slice(0, 200)}`);
    return answer.json();
  };
  /** Returns the items, and notes what goes wrong. */
  const look = async (query: Query, expected?: string[]): Promise<Item[]> => {
    try {
      const items = await everything(page, query);
      const ids = items.map(idOf);
      if (expected && ids.join() !== expected.join()) throw new Error(`leaves ${ids.length}, not ${expected.length}`);
      if (ids.length === 0) return [];
      const middle = Math.ceil(ids.length / 2) + 1;
      const one = await page({ ...query, take: '1', page: String(middle) });
      const shown = [one.pagination.item_count, ...one.items.map(idOf)];
      if (shown.join() !== [ids.length, ...ids.slice(middle - 1, middle)].join()) {
        throw new Error(`page ${middle} has ${shown}`);
      }
      return items;
    } catch (error) {
      problems.push(`${declared.name} ${JSON.stringify(query)}: ${(error as Error).message}`);
      return [];
    }
  };
  const { alone, pairs } = combinationsOf(declared, sent, await look({}));
  const left = new Map<string, string[]>();
  const keyOf = ([name, value]: [string, string]) => `${name}=${value}`;
  for (const query of alone) left.set(keyOf(Object.entries(query)[0]!), (await look(query)).map(idOf));
  for (const query of [{}, ...alone]) {
    for (const problem of await problemsOfWalks(ask, query, idOf)) {
      problems.push(`${declared.name} ${JSON.stringify(query)} ${problem}`);
    }
  }
  for (const query of pairs) {
    const [one, other] = Object.entries(query).map((entry) => left.get(keyOf(entry)) ?? []);
    const alsoOther = new Set(other);
    await look(query, one?.filter((id) => alsoOther.has(id)) ?? []);
  }
  return problems;
}

/** Returns all items. @throws Error if their number is not the stated total */
async function everything(
  page: (query: Query) => Promise<{ items: Item[]; pagination: Record<string, unknown> }>,
  query: Query,
): Promise<Item[]> {
  const items: Item[] = [];
  for (let number = 1, isMore = true; isMore; number++) {
    const { items: some, pagination } = await page({ ...query, take: '100', page: String(number) });
    items.push(...some);
    isMore = pagination.has_next_page as boolean;
    if (!isMore && pagination.item_count !== items.length) {
      throw new Error(`says ${pagination.item_count}, has ${items.length}`);
    }
  }
  return items;
}

/** An export has no pages: checks that it is answered with every filter. */
export async function problemsOfExport(place: Place, declared: Declared, sent: Sent): Promise<string[]> {
  const ask = askedWith(place, declared, sent);
  const { alone, pairs } = combinationsOf(declared, sent, []);
  const problems: string[] = [];
  for (const query of [...alone, ...pairs]) {
    const { statusCode } = await ask(query);
    if (statusCode !== 200) problems.push(`${declared.name} ${JSON.stringify(query)}: ${statusCode}`);
  }
  return problems;
}
