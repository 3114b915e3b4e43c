import type { Db, Statement } from '../../platform/database/db.js';
import { webhookDeliveryInputSql } from '../delivery-input.js';
import { logoutsInsert } from '../logout-tokens/queue.js';
import { sessionEndings } from '../logout-tokens/routes.js';
import { outboxChannel } from '../outbox.js';
import { accountOnlyEventTypes } from './event-types.js';

/** The channel that notifies workers when an event enters an empty queue. */
export const webhooksChannel = 'gatehouse_webhooks';

export interface FannedOut {
  /** Events that were taken from the queue. */
  events: number;
  /** Deliveries that were created, to subscriptions and to clients. */
  deliveries: number;
  /** The last place in the queue that was taken; null if there was none. */
  latest: number | null;
}

/**
 * SQL: a new UUIDv7 of this moment (RFC 9562 §5.7), which PostgreSQL has a function for from version 18 on: 48 bits of
 * milliseconds, then the rest of a random UUID, whose version 4 becomes 7 by setting two bits.
 */
const newUuid = `encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
  placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6), 52, 1), 53, 1), 'hex')::uuid`;

// One statement, so that an event leaves the queue with all of its deliveries or not at all. The body is created once
// and stored: every attempt sends and signs the same bytes. `json_build_object` keeps the order of the contract (§7).
const statement: Statement = {
  name: 'fan_out_webhooks',
  text: `
with taken as (
  delete from webhook_queue where id = any (array(select id from webhook_queue where id > $3 order by id limit $1 for update skip locked))
  returning id, event_id, event_created_at
),
told as materialized (
  select t.id as place, e.id, e.action, e.account_id, e.environment_id, e.traceparent, e.resource_id, e.metadata,
    json_build_object('type', e.action,
      'timestamp', to_char(e.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'data', e.metadata || jsonb_build_object('resource_type', e.resource_type, 'resource_id', e.resource_id),
      'environment_id', e.environment_id, 'account_id', e.account_id)::text as body
  from taken t cross join lateral (
    select * from events where id = t.event_id and created_at = t.event_created_at offset 0
  ) e
),
made as (
  insert into webhook_deliveries (id, account_id, environment_id, webhook_id, event_id, event_type, body, status, attempt_count,
    next_attempt_at, created_at)
  select ${newUuid}, told.account_id, w.environment_id, w.id, told.id, told.action, told.body, 'pending', 0,
    clock_timestamp(), clock_timestamp()
  from told cross join lateral (
    select r.webhook_id from webhook_routes r
    where r.scope_id = any (array[told.account_id, told.environment_id]) and r.event_type = any (array[told.action, '*'])
      and (r.scope_id = told.account_id or told.action <> all ($2::text[])) offset 0
  ) r cross join lateral (select id, environment_id from webhooks where id = r.webhook_id offset 0) w
  order by told.place
  returning id, webhook_id, account_id, environment_id, event_id, event_type
),
ended as materialized (
  select told.account_id, told.environment_id, told.id as event_id, told.resource_id::uuid as identity_id, s.id::uuid as session_id
  from told cross join lateral jsonb_array_elements_text(
    coalesce(told.metadata -> 'session_ids', jsonb_build_array(told.metadata -> 'session_id'))) s(id)
  where told.action = any (array['${sessionEndings.join("', '")}'])
),
logouts as (${logoutsInsert('ended')}
),
wanted as (
  select * from made union all select * from logouts
),
asked as (
  insert into outbox (id, process, input, account_id, created_at, due_at, attempts, traceparent)
  select gen_random_uuid(), 'webhookDelivery', ${webhookDeliveryInputSql('wanted')}, wanted.account_id, clock_timestamp(), clock_timestamp(), 0, told.traceparent
  from wanted join told on told.id = wanted.event_id
)
select (select count(*)::int from taken) as events, (select max(id)::float8 from taken) as latest, wanted.count as deliveries,
  case when wanted.count > 0 then pg_notify('${outboxChannel}', '') end
from (select count(*)::int from wanted) wanted`,
};

/**
 * Creates a delivery of the oldest queued events for each active subscription to them, and of a logout token for each
 * client concerned by the end of a session, exactly once even if several workers do this at the same time, and requests
 * the processes of the deliveries.
 * @param limit the maximum number of events
 * @param behind only events behind this place in the queue
 */
export async function fanOutWebhooks(db: Pick<Db, 'statement'>, limit: number, behind = 0): Promise<FannedOut> {
  const [row] = await db.statement<FannedOut>(statement, [limit, accountOnlyEventTypes, behind]);
  const { events, deliveries, latest } = row as FannedOut;
  return { events, deliveries, latest };
}
