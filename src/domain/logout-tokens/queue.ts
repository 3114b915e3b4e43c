import type { EntityManager } from 'typeorm';
import { logoutEventType } from '../../../entities/webhook-delivery.js';
import { after, hours } from '../../platform/clock.js';
import { traceparent } from '../../platform/tracing/tracing.js';
import { webhookDeliveryInputSql } from '../delivery-input.js';
import { outboxChannel } from '../outbox.js';

/**
 * SQL: the id of a client's delivery about a session, the same each time (RFC 9562 §5.8): a session ends once, so a
 * client is not told twice, whatever reports the end.
 */
const idOf = (client: string, session: string) =>
  `overlay(overlay(md5(${client} || ' ' || ${session}) placing '8' from 13) placing '8' from 17)::uuid`;

/**
 * SQL that inserts a delivery for each client that was given something in one of these sessions and has an address for
 * logout tokens (OpenID Connect Back-Channel Logout 1.0 §2.3).
 * @param ended a table of sessions: `account_id`, `environment_id`, `identity_id`, `session_id`, `event_id`
 */
export const logoutsInsert = (ended: string): string => `
  insert into webhook_deliveries (id, account_id, environment_id, webhook_id, event_id, event_type, body, status, attempt_count,
    next_attempt_at, created_at)
  select ${idOf('c.id', 'e.session_id')}, e.account_id, e.environment_id, c.id, e.event_id, '${logoutEventType}',
    json_build_object('sub', e.identity_id, 'sid', e.session_id)::text, 'pending', 0, clock_timestamp(), clock_timestamp()
  from ${ended} e cross join lateral (
    select distinct oauth_client_id from (
      select oauth_client_id, environment_id from grants where session_id = e.session_id offset 0 -- by the session's index alone
    ) granted where environment_id = e.environment_id
  ) g cross join lateral (
    select id from oauth_clients where id = g.oauth_client_id and account_id = e.account_id and environment_id = e.environment_id
      and backchannel_logout_uri is not null offset 0
  ) c
  order by 1 -- two statements that report the same ends do not wait for each other in a circle
  on conflict (id) do nothing
  returning id, webhook_id, account_id, environment_id, event_id, event_type`;

const queueing = `
with ended as materialized (
  select account_id, environment_id, identity_id, id as session_id, $3::uuid as event_id from sessions
  where account_id = $1 and identity_id = $2 and revoked_at >= $4
),
made as (${logoutsInsert('ended')})
insert into outbox (id, process, input, account_id, created_at, due_at, attempts, traceparent)
select gen_random_uuid(), 'webhookDelivery', ${webhookDeliveryInputSql('made')}, account_id, clock_timestamp(), clock_timestamp(), 0, $5::text from made
returning pg_notify('${outboxChannel}', '')`;

/** An event waits in the queue for seconds; where no worker has run for this long, nobody is told of what it ended. */
const maxQueuedFor = hours(1);

/**
 * Queues the logout tokens of all sessions of an Identity that have just ended, in the transaction after which their
 * grants are deleted: the events that name the sessions may be read too late to find the clients.
 * @param eventId what ended them
 */
export async function queueLogouts(
  tx: EntityManager,
  { accountId, identityId, eventId }: { accountId: string; identityId: string; eventId: string },
  now: Date,
): Promise<void> {
  await tx.query(queueing, [accountId, identityId, eventId, after(now, -maxQueuedFor), traceparent()]);
}
