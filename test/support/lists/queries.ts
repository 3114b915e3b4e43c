import type { Declared, Schema } from '../operations/declared.js';
import type { Random } from '../random.js';
import { hardText } from './hard-values.js';
import { type Item, paging, type Query, searchedOf, shownOf } from './model.js';

/** Random queries of a list: by values that its items have, nearly have, or do not have. */

export interface Asked {
  list: Declared;
  /** The description of the list, which says what `q` searches. */
  description: string;
  items: Item[];
  /** Ids of another tenant. */
  foreign: string[];
  now: Date;
}

/** The same text, or one that means the same to a search. */
const likewise = (random: Random, text: string): string =>
  random.of([text, text, text.toUpperCase(), text.toLowerCase(), ` ${text} `]);

/** Returns a filter for some parameters, an order, and no page. */
export function someQuery(random: Random, asked: Asked): Query {
  const query: Query = {};
  for (const { name, schema } of asked.list.query) {
    if (name === 'q') {
      if (random.below(2) === 0) query.q = [...someText(random, asked)].slice(0, 200).join('');
    } else if (!paging.includes(name) && random.below(3) === 0) query[name] = valueFor(random, asked, name, schema);
  }
  const sorts = asked.list.query.find(({ name }) => name === 'sort_by')?.schema.enum ?? [];
  return { ...query, sort_by: random.of(sorts), order: random.of(['asc', 'desc']) };
}

function someText(random: Random, { list, description, items }: Asked): string {
  const item = random.of(items);
  if (!item || random.below(8) === 0) return random.of(['', '  ', '%', '_', '\\', hardText(random)]);
  if (list.example.includes('Audit') && random.below(3) === 0)
    return String(random.of([item.actor_id, item.resource_id, item.correlation_id]) ?? 'none');
  const characters = [...random.of(searchedOf(list, description, item))];
  const from = random.below(characters.length);
  return likewise(random, characters.slice(from, from + random.of([1, 2, 3, 5, 200])).join(''));
}

function valueFor(random: Random, { items, foreign, now }: Asked, name: string, schema: Schema): string {
  if (name === 'older_than') return random.of(['0s', '1s', '1d']);
  if (schema.type === 'boolean') return random.of(['true', 'false']);
  if (schema.format === 'date-time') {
    const at = Date.parse(String(random.of(items)?.created_at ?? now.toISOString()));
    return new Date(at + random.of([-1, 0, 1, 86_400_000, -86_400_000])).toISOString();
  }
  if (schema.enum) return random.of(schema.enum);
  const item = shownOf(random.of(items) ?? {});
  const within = (field: string) => ((item[field] ?? []) as Record<string, string>[]).flatMap((one) => one[name] ?? []);
  const word = /^\^\((\w+)\|/.exec(schema.pattern ?? '')?.[1]; // what may be asked for instead of an id
  const there = [item[name], ...within('roles'), ...within('memberships'), word].filter(
    (value): value is string => typeof value === 'string' && value !== '',
  );
  if (random.below(5) === 0 || there.length === 0) return random.of([...foreign, hardText(random), '']);
  return name === 'name' || name === 'email' ? likewise(random, random.of(there)).trim() : random.of(there);
}
