import { logoutEventType, type WebhookDelivery } from '../../../entities/webhook-delivery.js';
import { workflowIdOf } from '../../platform/process-kinds.js';
import { tenantOf } from '../../platform/scope.js';
import { webhookDeliveryInput } from '../delivery-input.js';
import { assertReceivesLogouts } from '../logout-tokens/receiving.js';
import { attemptNow, cancelPending } from '../webhooks/delivery-status.js';
import { activeWebhook } from '../webhooks/find.js';
import { stopOf } from '../webhooks/stops.js';
import type { Kind, ProcessRow, ProcessSummary } from './kind.js';

const isLogout = ({ subjectType }: ProcessRow) => subjectType === 'oauth_client';
const deliveryIn = (row: ProcessRow) => ({
  id: row.id,
  webhookId: row.subjectId,
  accountId: row.accountId,
  environmentId: row.environmentId,
  eventType: isLogout(row) ? logoutEventType : '',
});

/**
 * Takes the lock of the subscription first, as everybody does who sends a delivery again or switches the subscription
 * off.
 */
const lockedWebhookOf =
  'select from webhooks where id = (select webhook_id from webhook_deliveries where id = $1) for update';

/** What the processes show of a delivery that was read already. */
export const processOfDelivery = ({
  id,
  status,
  createdAt,
  nextAttemptAt,
}: Pick<WebhookDelivery, 'id' | 'status' | 'createdAt' | 'nextAttemptAt'>): ProcessSummary => ({
  id,
  kind: 'webhook_delivery',
  state: status,
  since: createdAt,
  deadline: null,
  nextAt: nextAttemptAt,
});

/** Nearly none of thousands that wait are stopped, so the subscriptions with stops are looked up once. */
const mayBeStopped = `d.status = 'pending' and d.webhook_id in (select webhook_id from webhook_stops where account_id = $1)`;
/** SQL: a column that is empty in a waiting delivery, or the value of its stop. */
const endedBy = (column: string, ofStop: 'reason' | 'stopped_at') =>
  `case when ${mayBeStopped} then ${stopOf(ofStop, 'd')} else d.${column} end`;
/** SQL: a column of a delivery, or something else where it was stopped. */
const unlessStopped = (column: string, stopped: string) =>
  `case when ${mayBeStopped} and ${stopOf('reason', 'd')} is not null then ${stopped} else d.${column} end`;

/** Events on their way to the webhooks of the Account and of its Environments, and logout tokens to clients. */
export const webhookKind: Kind = {
  table: 'webhook_deliveries',
  counted: ['webhook_deliveries'],
  sql: `
select id, 'webhook_delivery' as kind, account_id as "accountId", environment_id as "environmentId",
  case event_type when '${logoutEventType}' then 'oauth_client' else 'webhook' end as "subjectType",
  webhook_id as "subjectId", ${unlessStopped('status', `'cancelled'`)} as state, created_at as since, null::timestamptz as deadline,
  created_at as "createdAt", ${endedBy('settled_at', 'stopped_at')} as "endedAt", ${endedBy('ended_reason', 'reason')} as "endedReason",
  ${unlessStopped('next_attempt_at', 'null')} as "nextAt", status as stored
from webhook_deliveries d where account_id = $1`,
  open: { pending: 'receiver' },
  ended: ['succeeded', 'failed', 'cancelled'],
  usualEnd: 'succeeded',
  verbs: { cancel: ['pending'], retry: ['failed', 'cancelled'] },
  overFor: ['webhook_deleted', 'client_without_logout_uri'],
  workflowId: (row) => workflowIdOf('webhookDelivery', webhookDeliveryInput(deliveryIn(row))),
  wakesUpAt: ({ nextAt }) => nextAt,
  cancel: (tx, { id, accountId }, now) => cancelPending(tx, { accountId, id }, 'cancelled_by_operator', now()),
  lockFirst: (tx, id) => tx.query(lockedWebhookOf, [id]),
  async retry(tx, row, now) {
    if (isLogout(row)) await assertReceivesLogouts(tx, row, row.subjectId);
    else await activeWebhook(tx, tenantOf(row), row.subjectId);
    await attemptNow(tx, deliveryIn(row), now());
  },
};
