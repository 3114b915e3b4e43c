import type { Declared } from '../operations/declared.js';
import { exampleOf, given } from '../operations/example.js';
import { examples } from '../operations/examples-account.js';
import { kinds } from '../operations/kinds.js';
import type { Place } from '../operations/place.js';
import type { Sent } from '../operations/sent.js';
import type { Random } from '../random.js';
import { hardEmail, hardText } from './hard-values.js';
import { type Item, idOf, shownOf } from './model.js';

/** Fills lists with items whose texts are hard, in all states, by the operations that the API declares. */

/** Lists whose items another operation than a POST to the list creates. */
const madeBy: Record<string, string> = {
  listIdentitiesWithRoles: 'createIdentity',
  listDirectory: 'createIdentity',
  listProcesses: 'createAdministratorInvite',
  listNodeIdentities: 'assignRole',
  listNodeChildren: 'createNode',
  getNodeSubtree: 'createNode',
  listIdentityOrganizations: 'addOrganizationMember',
  listWebhookDeliveries: 'testWebhook',
  listAccountWebhookDeliveries: 'testAccountWebhook',
  listAuditLogs: 'createIdentity',
  listAuditLog: 'createIdentity',
  listIdentityAuditLog: 'createIdentity',
};
/** Lists whose items no operation creates. */
const madeByHand: Record<string, (place: Place, path: Record<string, string>) => Promise<unknown>> = {
  listMembers: (place) => kinds.member.make(place),
  listSessions: (place) => place.account.as('owner'),
  listIdentitySessions: (place, { id }) => kinds.session.make(place, id),
  identityListSessions: (place) => kinds.session.make(place, place.identity.id),
};

/** How an operation that creates an item names what the list belongs to. */
const belonging: Record<string, (sent: Sent, id: string) => Sent> = {
  listNodeIdentities: (sent, id) => ({ ...sent, body: { ...sent.body, node_id: id } }),
  listNodeChildren: (sent, id) => ({ ...sent, body: { ...sent.body, parent_node_id: id } }),
  getNodeSubtree: (sent, id) => ({ ...sent, body: { ...sent.body, parent_node_id: id } }),
  listIdentityOrganizations: (sent, id) => ({ ...sent, body: { ...sent.body, identity_id: id } }),
  listEnvironments: ({ slugs: _, ...sent }) => sent, // in the place's own Application
};

interface BodySchema {
  properties?: Record<
    string,
    { type?: string; enum?: unknown[]; format?: string; pattern?: string; nullable?: boolean; maxLength?: number }
  >;
}

const callerOf = ({ surface }: Declared) => (surface === 'public' ? 'key' : 'owner');

/** Returns a body with hard texts in place of those of the example. */
function hardened(random: Random, { operation }: Declared, body: object): object {
  const { properties = {} } = (operation?.body ?? {}) as BodySchema;
  const changes = Object.entries(properties).flatMap(([name, { type, enum: values, format, nullable, maxLength }]) => {
    if (type !== 'string' || values) return [];
    if (format === 'email') return [[name, hardEmail(random)]];
    if (format || !/name|description|category|group|external_id/.test(name)) return [];
    if (nullable && random.below(4) === 0) return [[name, null]];
    return [[name, hardText(random, Math.min(maxLength ?? 200, 200))]];
  });
  return { ...body, ...Object.fromEntries(changes) };
}

/** A list, what it belongs to, and the operations by which its items come and change. */
interface Filled {
  declared: readonly Declared[];
  list: Declared;
  path: Record<string, string>;
}

/** Adds an item to a list, with hard texts if they are accepted. @returns its id, if the answer says it */
export async function addTo(place: Place, random: Random, { declared, list, path }: Filled): Promise<string | null> {
  const byHand = madeByHand[list.example];
  if (byHand) {
    await byHand(place, path);
    return null;
  }
  const named = madeBy[list.example];
  const adds =
    declared.find((one) => one.example === named) ??
    declared.find(({ method, url }) => method === 'POST' && url === list.url);
  if (!adds) throw new Error(`${list.name}: say in test/support/lists/rows.ts what adds an item`);
  const belongs = belonging[list.example] ?? ((sent: Sent) => ({ ...sent, path: { ...sent.path, ...path } }));
  const plain = async () => belongs(await exampleOf(examples, adds)(given(place)), path.id ?? '');
  const sent = await plain();
  const by = callerOf(adds);
  const hard = await place.call(adds, { ...sent, ...(sent.body && { body: hardened(random, adds, sent.body) }) }, by);
  const answer = hard.statusCode < 300 ? hard : await place.call(adds, await plain(), by);
  if (answer.statusCode >= 300 && !answer.body.includes('limit_reached'))
    throw new Error(`${adds.name}: ${answer.body}`);
  const { data } = answer.json<{ data?: Item }>();
  return data && !named ? idOf(data) : null;
}

const stateful = /\/(activate|deactivate|revoke|disable)$/;

/** Changes the state of an item by one of the operations on it, if there are any; a refusal is no error. */
export async function change(
  place: Place,
  random: Random,
  { declared, list, path }: Filled,
  item: Item,
): Promise<void> {
  const way = random.of(
    declared.filter(({ method, url, operation }) => {
      if (!url.startsWith(`${list.url}/{`)) return false;
      const { properties = {} } = (operation?.body ?? {}) as BodySchema;
      const isOfItem = !url.slice(list.url.length + 1).includes('/');
      const hasState = 'is_active' in properties || 'status' in properties;
      return (method === 'POST' && stateful.test(url)) || (method === 'PATCH' && isOfItem && hasState);
    }),
  );
  if (!way) return;
  const last = /\{(\w+)\}/.exec(way.url.slice(list.url.length))?.[1] as string;
  const { status, version } = shownOf(item);
  const body = status === undefined ? { is_active: false } : { status: 'inactive' };
  const sent: Sent = { path: { ...path, [last]: idOf(item) }, ...(way.method === 'PATCH' && { body }) };
  await place.call(way, sent, callerOf(way), typeof version === 'number' ? { 'if-match': String(version) } : {});
}

/** Changes what no operation does: who used sessions, what ends just now, and times that differ by microseconds. */
export async function stir(place: Place, random: Random, withMicroseconds: boolean): Promise<void> {
  const { accountId } = place.scope;
  const half = async (table: string, where: string, set: string, values: () => unknown[]) => {
    for (const { id } of await place.rows<{ id: string }>(`select id from ${table} where ${where} order by id`)) {
      if (random.below(2) === 0) await place.rows(`update ${table} set ${set} where id = $1`, [id, ...values()]);
    }
  };
  const ofAccount = `account_id = '${accountId}'`;
  const agent = () => [
    random.of([null, hardText(random), 'Mozilla/5.0']),
    random.of([null, '192.0.2.1', '2001:db8::1']),
  ];
  await half('sessions', ofAccount, 'user_agent = $2, ip_address = $3', agent);
  await half('user_sessions', `user_id = '${place.account.userId}'`, 'user_agent = $2, ip_address = $3', agent);
  const aboutNow = () => [new Date(place.api.clock.now.getTime() + random.of([-1, 0, 1]))];
  for (const table of ['identity_invites', 'administrator_invites'])
    await half(table, `${ofAccount} and status = 'pending'`, 'expires_at = $2', aboutNow);
  await half('role_assignments', `${ofAccount} and removed_at is null`, 'effective_to = $2', aboutNow);
  if (!withMicroseconds) return;
  const tables = await place.rows<{ name: string }>(
    `select c.relname as name from pg_class c where c.relkind = 'r' and not c.relispartition
       and c.relnamespace = 'public'::regnamespace and (select count(*) from pg_attribute a
         where a.attrelid = c.oid and a.attname in ('account_id', 'created_at')) = 2`,
  );
  for (const { name } of tables) {
    await place.rows(
      `update ${name} set created_at = created_at + (random() * 2)::int * interval '1 microsecond' where ${ofAccount}`,
    );
  }
}
