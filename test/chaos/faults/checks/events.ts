import { rowsAsOwner } from '../../../support/database.js';
import type { Kind } from '../ledger.js';
import type { Change, createFeedReader } from '../load/feed.js';
import { subscribedTypes, type World } from '../world.js';
import type { Looked } from './looked.js';

/** The event that each acknowledged change records, once for its resource. */
const eventOf: Partial<Record<Kind, string>> = {
  identity: 'identity.created',
  'identity change': 'identity.updated',
  invite: 'identity_invite.created',
  'invite revocation': 'identity_invite.revoked',
  webhook: 'webhook.created',
  'webhook deletion': 'webhook.deleted',
  role: 'role.created',
  assignment: 'role_assignment.created',
  'assignment removal': 'role_assignment.deleted',
  'API key': 'api_key.created',
  'API key deletion': 'api_key.deleted',
  domain: 'sso.domain.claimed',
};

/**
 * Checks that the feed has no gap or repetition, and that each acknowledged change has one event, which was delivered.
 */
export async function eventsAreOnce(world: World, feed: ReturnType<typeof createFeedReader>): Promise<Looked> {
  const { ledger, find, service } = world;
  await feed.follower.step(); // the newest events
  const all = await feed.fromTheBeginning();
  const followed = feed.seen.map(({ cursor }) => cursor);
  const order = all.slice(0, followed.length).map(({ cursor }) => cursor);
  if (new Set(followed).size !== followed.length) find('change feed: something came twice');
  const differing = followed.findIndex((cursor, i) => cursor !== order[i]);
  if (differing >= 0 || followed.length !== all.length) {
    find(
      `change feed: ${followed.length} were followed, ${all.length} are there, the first difference at ${differing}`,
    );
  }

  const counts = new Map<string, number>();
  for (const { action, resource_id, count } of await rowsAsOwner(
    service.ownerUrl,
    `select action, resource_id, count(*)::int from events where outcome = 'success' and resource_id is not null group by 1, 2`,
    [],
  )) {
    counts.set(`${action} ${resource_id}`, count as number);
  }
  for (const [kind, type] of Object.entries(eventOf) as [Kind, string][]) {
    for (const { id } of ledger.of(kind) as { id: string }[]) {
      const count = counts.get(`${type} ${id}`) ?? 0;
      if (count !== 1) find(`${kind} ${id}: ${count} events ${type}`);
    }
  }
  deliveriesAreWhole(world, all);
  return [
    ['changes in the feed', all.length],
    ['webhook calls', world.receiver.at('/main').length],
  ];
}

/** Checks that each event was delivered at least once, and always as the same message. */
function deliveriesAreWhole({ receiver, find }: World, all: readonly Change[]): void {
  const ids = new Map<string, Set<string>>();
  for (const { headers, body } of receiver.at('/main')) {
    const { type, data } = JSON.parse(body) as { type: string; data: { resource_id: string } };
    const key = `${type} ${data.resource_id}`;
    ids.set(key, (ids.get(key) ?? new Set()).add(String(headers['webhook-id'])));
  }
  const since = all.findIndex(({ type }) => type === 'webhook.created'); // events of the subscription itself
  for (const { type, resource_id } of all.slice(since)) {
    if (!subscribedTypes.includes(type)) continue;
    const messages = ids.get(`${type} ${resource_id}`);
    if (messages?.size !== 1) find(`webhook of ${type} ${resource_id}: ${messages?.size ?? 0} messages`);
  }
}
