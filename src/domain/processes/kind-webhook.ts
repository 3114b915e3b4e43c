import { WebhookDelivery } from '../../../entities/webhook-delivery.js';
import { workflowIdOf } from '../../platform/process-kinds.js';
import { startLater } from '../outbox.js';
import { processInput } from '../webhooks/process.js';
import type { Kind, ProcessRow } from './kinds.js';

const inputOf = ({ id, subjectId, accountId, environmentId }: ProcessRow) =>
  processInput({ id, webhookId: subjectId, accountId, environmentId });

/** Events on their way to the Account's webhooks, and to those of its Environments. */
export const webhookKind: Kind = {
  table: 'webhook_deliveries',
  sql: `
select id, 'webhook_delivery' as kind, account_id as "accountId", environment_id as "environmentId", 'webhook' as "subjectType",
  webhook_id as "subjectId", status as state, created_at as since, null::timestamptz as deadline,
  created_at as "createdAt", settled_at as "endedAt", ended_reason as "endedReason"
from webhook_deliveries where account_id = $1`,
  open: { pending: 'receiver' },
  verbs: { cancel: ['pending'], retry: ['failed', 'cancelled'] },
  workflowId: (row) => workflowIdOf('webhookDelivery', inputOf(row)),
  wakesUpAt: () => null, // the row's own list of attempts says it
  cancel: (tx, { id }, now) =>
    tx.update(
      WebhookDelivery,
      { id, status: 'pending' },
      { status: 'cancelled', endedReason: 'cancelled_by_operator', nextAttemptAt: null, settledAt: now() },
    ),
  async retry(tx, row, now) {
    const again = { status: 'pending', endedReason: null, settledAt: null, nextAttemptAt: now() } as const;
    await tx.update(WebhookDelivery, { id: row.id }, again);
    await startLater(tx, 'webhookDelivery', { ...inputOf(row), news: 'retryNow' });
  },
};
