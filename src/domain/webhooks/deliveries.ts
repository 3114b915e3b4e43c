import type { EntityManager } from 'typeorm';
import { WebhookDelivery, type WebhookDeliveryStatus } from '../../../entities/webhook-delivery.js';
import { after, type Clock } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import { logoutAttempts, logoutTokens, webhookAttempts, webhookDeliveries } from '../../platform/metrics/metrics.js';
import { OutboundError } from '../../platform/outbound/errors.js';
import type { Outbound } from '../../platform/outbound/fetch.js';
import type { OutboundPost } from '../../platform/outbound/post.js';
import { recordOfProcess } from '../events/process-events.js';
import { logoutMessage, type SignLogoutToken } from '../logout-tokens/message.js';
import { type Admission, createAdmission } from './admission.js';
import { type AttemptResult, type BegunAttempt, beginAttempt } from './attempt-rows.js';
import { type CancelReason, cancelPending, switchedOffAs } from './delivery-status.js';
import type { RetrySchedule } from './retries.js';
import { webhookSecretContext } from './secrets.js';
import { type DeliveryProgress, settleAttempt } from './settle.js';
import { signatureHeaders } from './signature.js';

export interface WebhookDeliveriesDeps {
  db: Db;
  sealing: Pick<Sealing, 'open'>;
  outbound: Pick<Outbound, 'post'>;
  signLogoutToken: SignLogoutToken;
  now: Clock;
  schedule: RetrySchedule;
  /** Called with errors that are our own fault: a secret whose master key is missing, for example. */
  onFault: (error: unknown) => void;
  /** Shared by all deliveries of this process. */
  admission?: Admission;
}

/** The state of a delivery after an attempt or a look at it. */
export interface DeliveryLook {
  status: WebhookDeliveryStatus;
  /** When to look again, in ISO 8601; null once it has ended. */
  wakeAt: string | null;
  /** Calls of the receiver so far, by any run; null if the row was not read. */
  attempts: number | null;
}

export type WebhookDeliveries = ReturnType<typeof createWebhookDeliveries>;

/** Handles the rows that the fan-out writes: calls their receivers, and ends them. */
export function createWebhookDeliveries({
  db,
  sealing,
  outbound,
  signLogoutToken,
  now,
  schedule,
  onFault,
  admission = createAdmission(),
}: WebhookDeliveriesDeps) {
  return {
    /**
     * Calls the receiver if that is due, and returns the delivery's state. After a crash between the receiver's answer
     * and our commit the receiver is called again: delivery is at least once, with the same `webhook-id`.
     * @param webhookId id of the subscription or client, to decide without a query whether its receiver may be called now
     * @param accountId id of its Account, for the same decision; a process of an earlier release does not send it
     */
    async attempt(id: string, webhookId: string, accountId?: string): Promise<DeliveryLook> {
      const entry = admission.enter(webhookId, accountId);
      if (!entry.admitted) {
        return { status: 'pending', wakeAt: after(now(), entry.waitMs).toISOString(), attempts: null };
      }
      let answered: boolean | null = null; // not called
      try {
        const startedAt = now();
        const begun = await beginAttempt(db, id, startedAt);
        if (!begun) return gone;
        if (begun.number === null) return isUnwanted(begun) ? cancelUnwanted(id, begun) : look(begun);
        answered = false;
        const result = await call(id, begun, startedAt);
        answered = result.statusCode !== null;
        const { webhookId: ofWebhook, isLogout, url, number, nextAttemptAt: dueAt } = begun;
        (isLogout ? logoutAttempts : webhookAttempts).inc({ outcome: outcomeOf(result) });
        const attempt = { id, webhookId: ofWebhook, isLogout, url, number, result, dueAt, schedule, now: now() };
        const delivery = await settleAttempt(db, attempt);
        if (delivery.status !== 'pending')
          (isLogout ? logoutTokens : webhookDeliveries).inc({ status: delivery.status });
        return look(delivery);
      } finally {
        entry.leave(answered);
      }
    },

    /** Ends a delivery that an operator does not want sent. Returns its state. */
    cancel: (id: string): Promise<DeliveryLook> => cancel(id, byOperator),
  };

  async function messageOf(
    id: string,
    { isLogout, clientId, needsSession, body, ...webhook }: BegunAttempt,
    sentAt: Date,
  ): Promise<OutboundPost> {
    if (isLogout) return logoutMessage(signLogoutToken, { clientId, needsSession }, body);
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'gatehouse-webhooks',
      ...signatureHeaders({ id, sentAt, body }, secretsOf(webhook, sentAt)),
    };
    return { headers, body };
  }

  async function call(id: string, attempt: BegunAttempt, sentAt: Date): Promise<AttemptResult> {
    const begun = performance.now();
    const result = (rest: Omit<AttemptResult, 'durationMs'>) => ({
      durationMs: Math.round(performance.now() - begun),
      ...rest,
    });
    try {
      const message = await messageOf(id, attempt, sentAt);
      const { status, retryAfter, excerpt } = await outbound.post(attempt.url, message);
      // Nobody is shown the answer to a logout token, which may repeat the token.
      const responseExcerpt = attempt.isLogout ? null : excerpt;
      return result({ statusCode: status, error: null, responseExcerpt, retryAfter });
    } catch (error) {
      // Our own fault is an attempt, too: if it were thrown, the activity would be retried forever.
      const reason = error instanceof OutboundError ? error.reason : 'internal';
      if (reason === 'internal') onFault(error);
      return result({ statusCode: null, error: reason, responseExcerpt: null, retryAfter: null });
    }
  }

  /** Returns the current secret first, then the previous one while a rotation lasts. */
  function secretsOf(
    webhook: Pick<BegunAttempt, 'webhookId' | 'secret' | 'previousSecret' | 'previousSecretUntil'>,
    at: Date,
  ) {
    const { secret, previousSecret, previousSecretUntil } = webhook;
    const isRotating = previousSecretUntil !== null && at < previousSecretUntil;
    const sealed = isRotating && previousSecret ? [secret, previousSecret] : [secret];
    return sealed.map((text) => sealing.open(text, webhookSecretContext(webhook.webhookId)));
  }

  /**
   * Cancels a delivery that its receiver does not want any more: it was switched off or deleted after the fan-out, or
   * during it, and then nothing has stopped this delivery.
   */
  function cancelUnwanted(
    id: string,
    { isLogout, isActive, disabledReason, stopped }: BegunAttempt,
  ): Promise<DeliveryLook> {
    if (isLogout) return cancel(id, 'client_without_logout_uri');
    return cancel(id, stopped ?? (isActive === null ? 'webhook_deleted' : switchedOffAs(disabledReason)));
  }

  function cancel(id: string, reason: CancelReason): Promise<DeliveryLook> {
    return db.transaction('system', async (tx) => {
      const wasPending = await cancelPending(tx, { id }, reason, now());
      const delivery = await tx.findOneBy(WebhookDelivery, { id });
      if (!delivery) return gone;
      if (wasPending && reason === byOperator) await recordCancelled(tx, delivery);
      return look(delivery);
    });
  }
}

const byOperator = 'cancelled_by_operator';

/** Records the cancel of an operator: other ends follow from a change of the receiver, which is recorded itself. */
function recordCancelled(tx: EntityManager, { id, accountId, environmentId, webhookId }: WebhookDelivery) {
  const process = { id, kind: 'webhook_delivery', accountId, environmentId, subjectId: webhookId };
  return recordOfProcess(tx, 'process.cancelled', process, { reason: byOperator });
}

/** Whether a delivery waits that its receiver does not want any more. */
const isUnwanted = ({ status, isActive, stopped }: BegunAttempt): boolean =>
  status === 'pending' && !(isActive && stopped === null);

/** Returns the class of the status, such as `2xx`, or why there was no answer. */
const outcomeOf = ({ statusCode, error }: AttemptResult): string =>
  statusCode === null ? (error ?? 'internal') : `${Math.floor(statusCode / 100)}xx`;

/** The state of a delivery that was deleted with its Environment or Account. */
const gone: DeliveryLook = { status: 'cancelled', wakeAt: null, attempts: 0 };

const look = ({ status, nextAttemptAt, attemptCount }: DeliveryProgress): DeliveryLook => ({
  status,
  wakeAt: status === 'pending' ? (nextAttemptAt ?? new Date(0)).toISOString() : null,
  attempts: attemptCount,
});
