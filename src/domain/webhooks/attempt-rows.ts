import type { EntityManager } from 'typeorm';
import type { WebhookDisabledReason } from '../../../entities/webhook.js';
import { WebhookAttempt } from '../../../entities/webhook-attempt.js';
import { logoutEventType, type WebhookDeliveryStatus } from '../../../entities/webhook-delivery.js';
import type { WebhookStopReason } from '../../../entities/webhook-stop.js';
import type { Db, Statement } from '../../platform/database/db.js';
import { environmentExists } from '../existing-environment.js';
import { stopOf } from './stops.js';

/** What an attempt needs to know of the delivery and its receiver; `number` is null if no attempt was begun. */
export interface BegunAttempt {
  status: WebhookDeliveryStatus;
  nextAttemptAt: Date | null;
  attemptCount: number;
  webhookId: string;
  body: string;
  /** Why the pending deliveries of the subscription, including this one, were ended; null if they were not. */
  stopped: WebhookStopReason | null;
  /** Whether the client's logout token is delivered, and not an event. */
  isLogout: boolean;
  /**
   * Null, as the columns after it, if the subscription was deleted, or the client receives no logout tokens any more.
   */
  isActive: boolean | null;
  disabledReason: WebhookDisabledReason | null;
  url: string;
  /** Of a client; the secrets are those of a subscription. */
  clientId: string;
  needsSession: boolean;
  secret: string;
  previousSecret: string | null;
  previousSecretUntil: Date | null;
  number: number | null;
}

const receivingClient = (columns: string) => `
  select ${columns} from oauth_clients c
  where c.id = d.webhook_id and d.event_type = '${logoutEventType}' and c.account_id = d.account_id and c.environment_id = d.environment_id
    and c.backchannel_logout_uri is not null and ${environmentExists('c')}`;

// One statement inserts the attempt before the receiver is called, so that it is visible even if its worker dies. If it
// is repeated after the attempt was settled, the next attempt is in the future and nothing begins.
const beginning: Statement = {
  name: 'begin_webhook_attempt',
  text: `
with begun as (
  update webhook_deliveries d set attempt_count = d.attempt_count + 1
  where d.id = $1 and d.status = 'pending' and (d.attempt_count = 0 or d.next_attempt_at is null or d.next_attempt_at <= $2)
    and coalesce((select w.is_active from webhooks w where w.id = d.webhook_id), (${receivingClient('true')})) and ${stopOf('reason', 'd')} is null
  returning d.id, d.attempt_count, d.account_id, d.environment_id
),
interrupted as (
  update webhook_attempts set error = 'interrupted'
  where delivery_id = $1 and duration_ms is null and error is null and (select true from begun)
),
listed as (
  insert into webhook_attempts (delivery_id, number, account_id, environment_id, started_at)
  select id, attempt_count, account_id, environment_id, $2 from begun
)
select d.status, d.next_attempt_at as "nextAttemptAt", d.attempt_count as "attemptCount", d.webhook_id as "webhookId", d.body,
  ${stopOf('reason', 'd')} as stopped,
  d.event_type = '${logoutEventType}' as "isLogout", c.client_id as "clientId", c.backchannel_logout_session_required as "needsSession",
  coalesce(w.is_active, c.client_id is not null or null) as "isActive", coalesce(w.url, c.backchannel_logout_uri) as url,
  w.disabled_reason as "disabledReason", w.secret, w.previous_secret as "previousSecret",
  w.previous_secret_until as "previousSecretUntil", (select attempt_count from begun) as number
from webhook_deliveries d left join webhooks w on w.id = d.webhook_id
  left join lateral (${receivingClient('c.client_id, c.backchannel_logout_uri, c.backchannel_logout_session_required')}) c on true
where d.id = $1`,
};

/** Begins an attempt if one is due. Returns null if the delivery does not exist any more. */
export async function beginAttempt(
  db: Pick<Db, 'statement'>,
  deliveryId: string,
  now: Date,
): Promise<BegunAttempt | null> {
  const [row] = await db.statement<BegunAttempt>(beginning, [deliveryId, now]);
  return row ?? null;
}

export interface AttemptResult {
  durationMs: number;
  statusCode: number | null;
  error: string | null;
  responseExcerpt: string | null;
  /** The `Retry-After` header of the response, which is not stored. */
  retryAfter: string | null;
}

/** Stores the result of an attempt. @returns how many attempts have completed, without interrupted ones */
export async function listResult(
  tx: EntityManager,
  deliveryId: string,
  number: number,
  { durationMs, statusCode, error, responseExcerpt }: AttemptResult,
): Promise<number> {
  await tx.update(WebhookAttempt, { deliveryId, number }, { durationMs, statusCode, error, responseExcerpt });
  return tx
    .createQueryBuilder(WebhookAttempt, 'attempt')
    .where('attempt.deliveryId = :deliveryId and attempt.durationMs is not null', { deliveryId })
    .getCount();
}
