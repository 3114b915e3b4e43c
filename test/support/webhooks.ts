import { randomUUID } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook as Verifier } from 'standardwebhooks';
import { v7 as uuidv7 } from 'uuid';
import { Webhook } from '../../entities/webhook.js';
import { WebhookDelivery } from '../../entities/webhook-delivery.js';
import { webhookDeliveryInput } from '../../src/domain/delivery-input.js';
import { startLater } from '../../src/domain/outbox.js';
import type { WebhookScope } from '../../src/domain/webhooks/find.js';
import { newWebhookSecret, webhookSecretContext } from '../../src/domain/webhooks/secrets.js';
import type { Sealing } from '../../src/platform/crypto/sealing.js';
import type { EnvironmentScope } from '../../src/platform/scope.js';
import type { TestDatabase } from './database.js';

export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  at: number;
}

/** Starts a receiver on loopback. @param answer gets each message, and the number of earlier ones on its path */
export async function startReceiver(
  answer: (message: Received, before: number, response: ServerResponse) => void,
  address = '127.0.0.1',
) {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const path = request.url as string;
      const message = { path, headers: request.headers, body: Buffer.concat(chunks).toString('utf8'), at: Date.now() };
      const before = received.filter((earlier) => earlier.path === path).length;
      received.push(message);
      answer(message, before, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: (path: string) => `http://${address}:${port}${path}`,
    at: (path: string) => received.filter((message) => message.path === path),
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Verifies a message with the public library; returns its content. @throws WebhookVerificationError */
export const verified = (secret: string, { body, headers }: Received): unknown =>
  new Verifier(secret).verify(body, headers as Record<string, string>);

/** Returns a row of a subscription to all events; nobody knows its secret. */
export function webhookRow(
  { accountId, applicationId, environmentId }: WebhookScope,
  { createdAt = new Date(), ...changes }: Partial<Webhook> = {},
): Webhook {
  return {
    id: uuidv7(),
    accountId,
    applicationId: applicationId ?? null,
    environmentId: environmentId ?? null,
    url: 'https://receiver.example/hook',
    description: null,
    eventTypes: ['*'],
    isActive: true,
    disabledReason: null,
    secret: 'test.none',
    previousSecret: null,
    previousSecretUntil: null,
    failingSince: null,
    createdAt,
    updatedAt: createdAt,
    ...changes,
  };
}

/** Creates a subscription as its operation does; returns it with its secret. */
export async function aSubscription(
  { db }: Pick<TestDatabase, 'db'>,
  sealing: Pick<Sealing, 'seal'>,
  scope: EnvironmentScope,
  changes: Pick<Webhook, 'url'> & Partial<Webhook>,
) {
  const [id, secret] = [uuidv7(), newWebhookSecret()];
  const webhook = webhookRow(scope, { id, secret: sealing.seal(secret, webhookSecretContext(id)), ...changes });
  await db.transaction('system', (tx) => tx.insert(Webhook, webhook));
  return { ...webhook, plainSecret: secret };
}

/** Inserts deliveries as the fan-out does, with their outbox messages. */
export async function deliver({ db }: Pick<TestDatabase, 'db'>, webhook: Webhook, count = 1): Promise<string[]> {
  const { id: webhookId, accountId, environmentId } = webhook;
  return db.transaction('system', async (tx) => {
    const ids: string[] = [];
    for (let i = 0; i < count; i++) {
      const event = { type: 'node.created', data: { resource_id: randomUUID() }, environment_id: environmentId };
      const now = new Date();
      const delivery: WebhookDelivery = {
        id: uuidv7(),
        webhookId,
        accountId,
        environmentId,
        eventId: uuidv7(),
        eventType: event.type,
        body: JSON.stringify({ ...event, timestamp: now.toISOString(), account_id: accountId }),
        status: 'pending',
        endedReason: null,
        attemptCount: 0,
        nextAttemptAt: now,
        createdAt: now,
        retriedAt: null,
        settledAt: null,
      };
      await tx.insert(WebhookDelivery, delivery);
      await startLater(tx, 'webhookDelivery', webhookDeliveryInput(delivery));
      ids.push(delivery.id);
    }
    return ids;
  });
}
