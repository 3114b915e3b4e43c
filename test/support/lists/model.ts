import type { Declared } from '../operations/declared.js';

/**
 * The rules of lists in their plainest form: every filter, `q` and every order as they are documented, over the items
 * themselves. What a list sorts by and searches is read from its declaration, so that a new one needs no line here.
 */

export type Item = Record<string, unknown>;
export type Query = Record<string, string>;

export const paging = ['page', 'take', 'after', 'sort_by', 'order'];

/** An item, or the part of it that is filtered and sorted. */
export const shownOf = (item: Item): Item => (item.connection ?? item) as Item;

/** By what an item is known, and sorted where all else is equal. */
export const idOf = (item: Item): string =>
  String(item.assignment_id ?? shownOf(item).id ?? item.identity_id ?? JSON.stringify(item));

const capital = 'İ';
/** Lower case as PostgreSQL's built-in locale has it: each code point by itself. */
export const lower = (text: string): string =>
  [...text]
    .map((one) => (one === capital ? 'i' : [...one.toLowerCase()].length === 1 ? one.toLowerCase() : one))
    .join('');
const text = (value: unknown): string => (value === null || value === undefined ? '' : String(value));

interface MembershipView {
  environment_id: string;
  is_active: boolean;
}
interface RoleView {
  role_id?: string;
  id?: string;
}

/** Whether an item matches a filter; those that are not here compare the field of their name. */
const meanings: Record<string, (item: Item, value: string, query: Query, now: number) => boolean> = {
  status: (item, value, { environment_id }) => {
    if (typeof item.status === 'string' && item.is_active === undefined) return item.status === value;
    const memberships = item.memberships as MembershipView[] | undefined;
    if (!memberships) return item.is_active === (value === 'active');
    const there = memberships.filter((one) => environment_id === undefined || one.environment_id === environment_id);
    return there.some((one) => one.is_active) === (value === 'active');
  },
  environment_id: ({ memberships, environment_id }, value) => {
    if (!memberships) return environment_id === (value === 'none' ? null : value);
    const ids = (memberships as MembershipView[]).map((one) => one.environment_id);
    return value === 'none' ? ids.length === 0 : ids.includes(value);
  },
  role_id: ({ roles }, value) => {
    const held = roles as RoleView[];
    return value === 'no_assignment' ? held.length === 0 : held.some((one) => (one.role_id ?? one.id) === value);
  },
  source: ({ source, is_system_role }, value) => (source ?? (is_system_role ? 'system' : 'custom')) === value,
  name: ({ name }, value) => lower(text(name)) === lower(value),
  email: ({ email }, value) => lower(text(email)) === lower(value),
  open: ({ ended_at }, value) => (ended_at === null) === (value === 'true'),
  older_than: ({ created_at }, value, _query, now) =>
    Date.parse(text(created_at)) <=
    now - Number(value.slice(0, -1)) * ({ s: 1, d: 86_400 }[value.slice(-1)] ?? 0) * 1000,
  from: ({ created_at }, value) => Date.parse(text(created_at)) >= Date.parse(value),
  to: ({ created_at }, value) => Date.parse(text(created_at)) < Date.parse(value),
};

/** The words by which descriptions call what `q` searches. */
const words: Record<string, string> = {
  'user agent': 'user_agent',
  address: 'ip_address',
  'event type': 'event_type',
  'name of the group': 'scim_group',
  IDs: 'id subject_id',
  'names of role': 'name',
  node: 'node_name',
  URL: 'url',
};
const people = 'first name, last name and email';

/** Returns the texts of an item that `q` searches, each for itself. */
export function searchedOf({ name, operation }: Declared, description: string, item: Item): string[] {
  if (operation?.id.includes('Audit')) return [text(item.action)];
  const said = /`q` searches (as in the list of identities|[^.;]+)/.exec(description)?.[1];
  if (said === undefined) throw new Error(`${name} does not say what \`q\` searches`);
  const fullName = `${text(item.first_name)} ${text(item.last_name)}`;
  if (said === people || said.startsWith('as in')) return [`${fullName} ${text(item.email)}`];
  return said.split(/, | and /).flatMap((called) => {
    const word = called.replace(/^the /, '');
    if (word === 'name' && 'first_name' in item) return [fullName];
    const fields = (words[word] ?? word).split(' ');
    const unknown = fields.find((field) => !(field in shownOf(item)));
    if (unknown) throw new Error(`${name}: what is "${word}", which \`q\` searches?`);
    return fields.map((field) => text(shownOf(item)[field]));
  });
}

/** By address and by the names of roles, lists sort regardless of case (docs/decisions/0082). */
const isCaseless = (list: Declared, field: string) =>
  field === 'email' || (field === 'name' && list.example === 'listRoles');

/** As by code points, and no value last. */
export function compare(one: string | null, other: string | null): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

interface Whole {
  list: Declared;
  description: string;
  /** All of it, oldest first. */
  items: Item[];
  now: Date;
}

/** Returns the items of a list that a query asks for, in its order. */
export function expectedOf({ list, description, items, now }: Whole, query: Query): Item[] {
  const found = items.filter((item) =>
    Object.entries(query).every(([name, value]) => {
      if (paging.includes(name)) return true;
      if (name === 'q') return finds(list, description, item, value);
      const meaning = meanings[name];
      if (meaning) return meaning(shownOf(item), value, query, now.getTime());
      if (!(name in shownOf(item))) throw new Error(`${list.name}: what does ${name} filter by?`);
      return text(shownOf(item)[name]) === value;
    }),
  );
  const field = query.sort_by ?? 'created_at';
  const sortedBy = (item: Item): string | null => {
    const value = (shownOf(item)[field] ?? null) as string | null;
    return value !== null && isCaseless(list, field) ? lower(value) : value;
  };
  const sorted =
    field === 'created_at'
      ? found
      : found.sort((one, other) => compare(sortedBy(one), sortedBy(other)) || compare(idOf(one), idOf(other)));
  return query.order === 'asc' ? sorted : sorted.reverse();
}

const isUuid = (value: string) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value);

function finds(list: Declared, description: string, item: Item, q: string): boolean {
  const wanted = lower(q.trim());
  if (wanted === '') return true;
  if (isUuid(wanted) && list.operation?.id.includes('Audit'))
    return [item.actor_id, item.resource_id, item.correlation_id].includes(wanted);
  return searchedOf(list, description, item).some((one) => lower(one).includes(wanted));
}
