import { createHmac } from 'node:crypto';
import { epochSeconds } from '../../platform/clock.js';

const prefix = 'whsec_';

export interface SignedMessage {
  /** The same at every attempt, so that a receiver can recognize a duplicate. */
  id: string;
  /** The time of this attempt: receivers refuse messages that are minutes old. */
  sentAt: Date;
  /** The exact text that is sent. */
  body: string;
}

/**
 * Returns the headers of a message by the Standard Webhooks convention: HMAC-SHA256 of `id.timestamp.body`.
 * @param secrets as `newWebhookSecret` returns them; each signs, so that a rotated secret and its successor both verify
 */
export function signatureHeaders({ id, sentAt, body }: SignedMessage, secrets: readonly string[]) {
  const timestamp = epochSeconds(sentAt);
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(prefix.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
  };
}
