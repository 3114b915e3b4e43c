import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { v7 as uuidv7 } from 'uuid';
import { Webhook } from '../../entities/webhook.js';
import type { Stops } from '../../src/dev/stops.js';
import { recordEvent } from '../../src/domain/events/record.js';
import { writeRoutes } from '../../src/domain/webhooks/routes.js';
import { newWebhookSecret, webhookSecretContext } from '../../src/domain/webhooks/secrets.js';
import { parseMasterKeys } from '../../src/platform/crypto/master-keys.js';
import { createSealing } from '../../src/platform/crypto/sealing.js';
import type { Db } from '../../src/platform/database/db.js';
import type { EnvironmentScope } from '../../src/platform/scope.js';
import type { Installation } from '../installation.js';
import { seed } from '../seed.js';

const types = { 'for all': 'role.created', 'for one': 'role.deleted' } as const;

export interface EventSource {
  /** When each call of the receiver arrived, in milliseconds of `performance.now()`. */
  arrived: readonly number[];
  /** Causes an event. Resolves at its commit. */
  happen(whom: keyof typeof types): Promise<void>;
}

interface Wanted {
  db: Db;
  installation: Installation;
  subscriptions: number;
  stops: Stops;
  /** The Environment; by default that of the demo data. */
  scope?: EnvironmentScope;
}

/** Creates subscriptions, the first of which wants more events than the others, and their receiver in this process. */
export async function createEventSource(wanted: Wanted): Promise<EventSource> {
  const { db, installation, subscriptions, stops } = wanted;
  const arrived: number[] = [];
  const server = createServer((request, response) => {
    arrived.push(performance.now());
    request.resume();
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = () => new Promise<void>((resolve) => server.close(() => resolve()));
  stops.add({ name: 'receiver', exited: new Promise<never>(() => {}), stop });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const scope = wanted.scope ?? (await seed(installation.databaseUrl)).scope;
  const sealing = createSealing(parseMasterKeys(installation.masterKeys));
  await db.transaction('system', async (tx) => {
    for (let i = 0; i < subscriptions; i++) {
      const [id, now] = [uuidv7(), new Date()];
      const webhook: Webhook = {
        id,
        accountId: scope.accountId,
        applicationId: scope.applicationId,
        environmentId: scope.environmentId,
        url,
        description: null,
        isActive: true,
        disabledReason: null,
        failingSince: null,
        eventTypes: i === 0 ? Object.values(types) : [types['for all']],
        secret: sealing.seal(newWebhookSecret(), webhookSecretContext(id)),
        previousSecret: null,
        previousSecretUntil: null,
        createdAt: now,
        updatedAt: now,
      };
      await tx.insert(Webhook, webhook);
      await writeRoutes(tx, webhook);
    }
  });
  return {
    arrived,
    happen: (whom) =>
      db.transaction(scope, async (tx) => {
        await recordEvent(tx, types[whom], { ...scope, resourceId: randomUUID() });
      }),
  };
}

const arrivesWithinMs = 300_000;

/** Waits until the receiver has had `count` calls in all. */
export async function arrive(source: EventSource, count: number): Promise<void> {
  for (const end = performance.now() + arrivesWithinMs; source.arrived.length < count; await sleep(20)) {
    if (performance.now() > end) throw new Error(`only ${source.arrived.length} of ${count} deliveries have arrived`);
  }
}

/** Causes one event after the other, for one subscription. @returns milliseconds from commit to call */
export async function loneEventsOf(source: EventSource, count: number, everyMs: number): Promise<number[]> {
  const before = source.arrived.length;
  const committed: number[] = [];
  for (let i = 0; i < count; i++) {
    const begun = performance.now();
    await source.happen('for one');
    committed.push(performance.now());
    await sleep(Math.max(0, everyMs - (performance.now() - begun)));
  }
  await arrive(source, before + count);
  // The calls are in the order of the commits, since each event had enough time to arrive.
  const calls = source.arrived.slice(before);
  return committed.map((at, i) => calls[i]! - at);
}
