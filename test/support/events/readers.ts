import { fanOutWebhooks } from '../../../src/domain/webhooks/fan-out.js';
import type { TestApi } from '../api.js';
import { deliveriesOf } from '../api-webhooks.js';
import { allEnded } from '../audit-events.js';
import type { Place } from '../operations/place.js';
import { rowsOf } from '../rows.js';
import type { Told } from './meaning.js';

/** The rows of an Account's audit log, oldest first. */
export const eventsOf = (api: TestApi, accountId: string): Promise<Told[]> =>
  rowsOf(
    api,
    `select id, action, resource_type, resource_id, environment_id, application_id, actor_type, actor_id, is_domain_event, metadata
     from events where account_id = $1 order by transaction_id, created_at, id`,
    [accountId],
  );

/** An event as its readers get it. */
const shown = ({ action, resource_type, resource_id, metadata }: Told) =>
  JSON.stringify([action, resource_type, resource_id, metadata]);

/** Reads a feed from its beginning, page by page. @returns each change as `shown` */
export async function feedOf(place: Place): Promise<string[]> {
  await allEnded(place.api);
  const read: string[] = [];
  let [cursor, more] = ['', true];
  while (more) {
    const url = `/api/v1/changes?limit=50${cursor && `&cursor=${cursor}`}`;
    const page = (await place.api.app.inject({ url, headers: place.headers.key })).json();
    for (const { type, data, ...resource } of page.items)
      read.push(shown({ ...resource, action: type, metadata: data }));
    [cursor, more] = [page.next_cursor, page.has_more];
  }
  return read;
}

/** What the feed of an Environment has to be. */
export const domainEvents = (events: readonly Told[], environmentId: string): string[] =>
  events.filter((one) => one.is_domain_event && one.environment_id === environmentId).map(shown);

/** Subscribes to everything; returns the subscription's id. @param url of the subscriptions, in the Portal */
export async function subscribeTo({ api, headers }: Place, url: string): Promise<string> {
  const payload = { url: 'https://receiver.example/all', event_types: ['*'] };
  return (await api.app.inject({ method: 'POST', url, headers: headers.owner, payload })).json().data.id;
}

/** Returns the ids of the events that each subscription gets, and the bodies that are not what the event says. */
export async function delivered(api: TestApi, place: Place, events: readonly Told[]) {
  while ((await fanOutWebhooks(api.database.db, 1000)).events > 0);
  const byId = new Map(events.map((event) => [event.id, event]));
  const [got, wrong] = [new Map<string, string[]>(), [] as string[]];
  for (const { webhook_id: to, event_id: id, body } of await deliveriesOf(api, place.account)) {
    got.set(to, [...(got.get(to) ?? []), id]);
    const { type, data, environment_id } = JSON.parse(body);
    const { resource_type, resource_id, ...metadata } = data;
    const event = byId.get(id);
    const told = event && shown({ ...event, action: type, resource_type, resource_id, metadata });
    if (!event || shown(event) !== told || event.environment_id !== environment_id) wrong.push(body);
  }
  return { got, wrong };
}
