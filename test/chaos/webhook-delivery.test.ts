import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { recordEvent } from '../../src/domain/events/record.js';
import { writeRoutes } from '../../src/domain/webhooks/routes.js';
import { parseMasterKeys } from '../../src/platform/crypto/master-keys.js';
import { createSealing } from '../../src/platform/crypto/sealing.js';
import type { Db } from '../../src/platform/database/db.js';
import { openDb } from '../../src/platform/database/open-db.js';
import { type Child, startChild } from '../../src/platform/embedded/children.js';
import { projectRoot } from '../../src/platform/root.js';
import { rowsAsOwner } from '../support/database.js';
import { aHolder } from '../support/role-windows.js';
import { type Service, startService } from '../support/service.js';
import { until } from '../support/until.js';
import { aSubscription } from '../support/webhooks.js';

// Worker, Temporal and receiver are separate processes, and the event takes the whole way: its row, the fan-out, the
// relay, the workflow, the call.
interface Arrived {
  id: string;
  body: string;
  /** Null: the library did not verify it. */
  type: string | null;
}

let service: Service;
let db: Db;
const receivers: Child[] = [];
beforeAll(async () => {
  service = await startService({ keepHistories: true, env: { WEBHOOK_RETRY_SCHEDULE: '1s,1s,1s,1s,1s,1s,1s,1s' } });
  db = await openDb({ url: service.databaseUrl, poolSize: 2, applicationName: 'test', onError: () => {} });
});
afterAll(async () => {
  await Promise.all(receivers.map((receiver) => receiver.stop()));
  await db?.close();
  await service?.stop();
});

/** Subscribes in a new Environment, with a receiver in a separate process. */
async function subscribed() {
  const database = { db, ownerUrl: service.ownerUrl };
  const { scope } = await aHolder(database);
  const sealing = createSealing(parseMasterKeys(service.masterKeys));
  const types = { eventTypes: ['role.created'] };
  const webhook = await aSubscription(database, sealing, scope, { url: 'http://127.0.0.1:1/', ...types });
  const arrived: Arrived[] = [];
  let port = 0;
  const receiver = await startChild({
    command: process.execPath,
    args: [join(projectRoot, 'dist/test/support/webhook-receiver.js')],
    cwd: projectRoot,
    env: { WEBHOOK_SECRET: webhook.plainSecret },
    onLine(line) {
      const told = JSON.parse(line) as Arrived & { port?: number };
      if (told.port) port = told.port;
      else arrived.push(told);
    },
  });
  receivers.push(receiver);
  await until('the receiver listens', () => port > 0);
  const url = `http://127.0.0.1:${port}`;
  await rowsAsOwner(service.ownerUrl, 'update webhooks set url = $2 where id = $1', [webhook.id, `${url}/hooks`]);
  await db.transaction('system', (tx) => writeRoutes(tx, webhook));
  return {
    arrived,
    answer: () => fetch(`${url}/answer`),
    happen: () =>
      db.transaction(scope, (tx) => recordEvent(tx, 'role.created', { ...scope, resourceId: randomUUID() })),
  };
}

const deliveryOf = async (id: string) =>
  (await rowsAsOwner(service.ownerUrl, 'select status from webhook_deliveries where id = $1', [id]))[0]?.status;
const attemptsOf = (id: string) =>
  rowsAsOwner(
    service.ownerUrl,
    'select status_code, error from webhook_attempts where delivery_id = $1 order by number',
    [id],
  );

/** Expects every call to be the same message, verified by the public library. */
function expectOneMessage(arrived: Arrived[]): string {
  expect(new Set(arrived.map(({ id, body }) => `${id} ${body}`)).size).toBe(1);
  for (const { type } of arrived) expect(type).toBe('role.created');
  return arrived[0]!.id;
}

test('a worker is killed in the middle of a call: another one calls again, with the same webhook-id and body', async () => {
  const { arrived, happen } = await subscribed();
  await happen();
  await until('the first call', () => arrived.length > 0);
  await service.worker.kill('SIGKILL');
  await service.worker.start();
  await until('the second call', () => arrived.length > 1);
  const id = expectOneMessage(arrived);
  await until('the delivery has succeeded', async () => (await deliveryOf(id)) === 'succeeded');
  expect(await attemptsOf(id)).toEqual([
    { status_code: null, error: 'interrupted' },
    { status_code: 204, error: null },
  ]);
});

test("Temporal is killed in the middle of a call: the receiver's answer counts, and an event from meanwhile arrives afterwards", async () => {
  const { arrived, answer, happen } = await subscribed();
  await happen();
  await until('the first call', () => arrived.length > 0);
  await service.temporal.kill('SIGKILL');
  await answer();
  const id = arrived[0]!.id;
  await until('the delivery has succeeded', async () => (await deliveryOf(id)) === 'succeeded');
  await happen();
  await service.temporal.start();
  const later = await until('the second event', () => arrived.find((message) => message.id !== id));
  await until('its answer', async () => {
    await answer();
    return (await deliveryOf(later.id)) === 'succeeded';
  });
  expectOneMessage(arrived.filter((message) => message.id === id));
  expectOneMessage(arrived.filter((message) => message.id === later.id));
});
