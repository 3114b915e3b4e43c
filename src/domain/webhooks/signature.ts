import { createHmac } from 'node:crypto';
import { epochSeconds } from '../../platform/clock.js';

const prefix = 'whsec_';

export interface SignedMessage {
  /** Stays the same at every attempt, by which a receiver knows a copy. */
  id: string;
  /** Of this attempt: receivers refuse what is minutes old. */
  sentAt: Date;
  /** The very text that is sent. */
  body: string;
}

/**
 * The headers of a message, by the Standard Webhooks convention: HMAC-SHA256 of `id.timestamp.body`.
 * @param secrets as `newWebhookSecret` makes them; each signs, so that a rotated secret and its successor both verify
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
