import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { createActivities } from '../../activities/index.js';
import { createProcesses, type Processes } from '../../src/temporal/processes.js';
import { createServerPreparation } from '../../src/worker/schedule-checks.js';
import { startTemporalWorkers } from '../../src/worker/temporal-workers.js';
import { startTestTemporal, type TestTemporal } from '../support/temporal.js';
import { until } from '../support/until.js';
import { withoutOperatorApi } from '../support/without-operator-api.js';

const namespace = 'anew';
const log = { warn() {}, info() {} };
let temporal: TestTemporal;
let processes: Processes;

beforeAll(async () => {
  temporal = await startTestTemporal();
  processes = createProcesses({ address: temporal.address, namespace, apiKey: null }, { answerWithinMs: 700 });
});
afterAll(async () => {
  await processes.close();
  await temporal.stop();
});

const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
const unavailable = { code: 'service.unavailable' };
const registration = () => ({ pendingRegistrationId: randomUUID(), expiresAt: inAnHour, reminderAt: inAnHour });
/** Expects the relay's calls to Temporal, and the confirmation of a link, to fail as an outage. */
async function refuseAsOutage(): Promise<void> {
  await expect(processes.start('registrationVerification', registration())).rejects.toMatchObject(unavailable);
  await expect(processes.confirmRegistration(registration())).rejects.toMatchObject(unavailable);
}

test('a namespace that is missing, recreated without its search attributes or deleted is an outage, not a fault', async () => {
  await refuseAsOutage();

  const { workflowService, operatorService } = processes.connection;
  await workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: { seconds: 86_400 } as never,
  });
  await until('it is known', () =>
    processes.ping().then(
      () => true,
      () => false,
    ),
  );
  await refuseAsOutage();

  await createServerPreparation({ processes, namespace, log })();
  const started = () => processes.start('registrationVerification', registration()).catch(() => false);
  await until('its search attributes are known', started);

  // During the deletion, calls for what exists and what is deleted fail in several ways.
  const seen: unknown[] = [];
  const links = Array.from({ length: 24 }, async (_, i) => {
    await sleep(15 * i);
    for (let k = 0; k < 4; k++) await processes.confirmRegistration(registration()).catch((e) => seen.push(e.code));
  });
  await Promise.all([operatorService.deleteNamespace({ namespace }), ...links]);
  expect(seen).toEqual(Array(96).fill('service.unavailable'));
  await refuseAsOutage();
});

test('a worker whose namespace is missing takes no memory while it waits for it', async () => {
  const proxy = await withoutOperatorApi(temporal.address); // otherwise it would not come as far as its queues
  const server = { address: proxy.address, namespace: 'missing', apiKey: null };
  const waiting = createProcesses(server, { answerWithinMs: 700 });
  const tries: object[] = [];
  const threads = () => readdirSync('/proc/self/task').length;
  const before = threads();
  const workers = startTemporalWorkers({
    issuer: 'http://localhost',
    server,
    processes: waiting,
    activities: createActivities({} as never), // none of them runs
    codePath: temporal.codePath,
    log: pino({ level: 'info' }, { write: (line: string) => void tries.push(JSON.parse(line)) }),
    giveUp: () => undefined,
  });
  await until('it has tried', () => tries.length > 1);
  expect(tries).toMatchObject([
    { missing: expect.any(Array) },
    { reason: expect.stringContaining('missing is not found') },
  ]);
  await sleep(3_000);
  expect(threads() - before).toBeLessThan(7); // a queue's worker has two
  expect(workers.isWorking()).toBe(false);
  await workers.stop();
  await waiting.close();
  await proxy.close();
});
