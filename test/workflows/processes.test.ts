import { randomBytes, randomUUID } from 'node:crypto';
import { pino } from 'pino';
import type { RegistrationRequest } from '../../src/domain/registration/park.js';
import { minutes, seconds } from '../../src/platform/clock.js';
import { createProcesses, type Processes } from '../../src/temporal/processes.js';
import { startTemporalWorkers } from '../../src/worker/temporal-workers.js';
import { newDatabase, rowsAsOwner, type TestDatabase } from '../support/database.js';
import { patience, patient } from '../support/patience.js';
import { registrationServices } from '../support/registration.js';
import { historyText, namespace, startTestTemporal, type TestTemporal } from '../support/temporal.js';
import { startWorkerParts } from '../support/test-worker.js';
import { until } from '../support/until.js';
import { workerActivities } from '../support/worker-activities.js';

let temporal: TestTemporal;
let database: TestDatabase;
let processes: Processes;
const log = pino({ level: 'silent' });
const stops: (() => Promise<void>)[] = [];

beforeAll(async () => {
  [temporal, database] = await Promise.all([startTestTemporal(), newDatabase({ poolSize: 10 })]);
  processes = createProcesses({ address: temporal.address, namespace, apiKey: null }, patient);
});
afterAll(async () => {
  await processes.close();
  await temporal.stop();
  await database.close();
});
const stopAll = () => Promise.all(stops.splice(0).map((stop) => stop()));
afterEach(stopAll);

/** Starts the worker process's parts on real PostgreSQL and Temporal; only the mail server is replaced. */
function startWorker(durations = { ttlMs: minutes(5), reminderAfterMs: minutes(4), intentTtlMs: minutes(5) }) {
  const services = registrationServices(database, durations);
  stops.push(startWorkerParts({ database, temporal, processes }, services).stop);
  const found = async (id: string) => (await services.registrations.find(services.tokenOf(id)))!;
  return {
    ...services,
    confirm: async (id: string) => processes.confirmRegistration((await found(id)).process),
    found,
    /** Waits for the first mail to an address; mails that earlier tests left may be sent too. */
    mailTo: ({ email }: Pick<RegistrationRequest, 'email'>) =>
      until('it is mailed', async () => services.sent.find(({ to }) => to === email)),
  };
}

const handleOf = (id: string) => temporal.client.workflow.getHandle(`registration/${id}`);

/** Milliseconds in which a process has usually started to wait. */
const soon = seconds(4);

test('a registration leads from the form to the Account, with no personal data or secret in any history', async () => {
  const worker = startWorker();
  const { id, request } = await worker.park({ email: `ana.${randomUUID()}@private.example` });
  const mail = await worker.mailTo(request);
  expect(mail).toMatchObject({ name: 'registration-verification', to: request.email });
  const token = new URL(mail.values.link as string).searchParams.get('token') as string;
  expect((await worker.registrations.find(token))?.id).toBe(id);

  const made = await worker.confirm(id);
  expect(
    await rowsAsOwner(database.ownerUrl, 'select owner.id from users owner where id = $1', [made.userId]),
  ).toHaveLength(1);
  expect(await handleOf(id).result()).toBe('confirmed');

  const [email] = await rowsAsOwner(database.ownerUrl, 'select id from emails where subject_id = $1', [id]);
  const histories = await Promise.all(
    [handleOf(id), temporal.client.workflow.getHandle(`email/${email?.id}`)].map(historyText),
  );
  for (const text of histories) {
    expect(text).toContain(id);
    for (const secret of [request.email, 'private.example', 'Ana', 'Kovač', request.accountName, token, 'argon2']) {
      expect(text).not.toContain(secret);
    }
  }
});

test('one search finds everything about a registration, with its state', async () => {
  const worker = startWorker();
  const { id, request } = await worker.park();
  await worker.mailTo(request);
  const query = `GatehouseSubjectId = "${id}"`;
  const list = async () => {
    const found: Record<string, unknown> = {};
    for await (const { type, typedSearchAttributes } of temporal.client.workflow.list({ query })) {
      found[type] = typedSearchAttributes.getAll().find(({ key }) => key.name === 'GatehouseState')?.value;
    }
    return found;
  };
  const wanted = { registrationVerification: 'waiting', emailDelivery: 'sent' };
  await until('both are found', async () => JSON.stringify(sorted(await list())) === JSON.stringify(sorted(wanted)));
});

test('a link can be confirmed before the relay has started its process', async () => {
  const services = registrationServices(database);
  const { id } = await services.park(); // no relay delivers it
  const worker = startTemporalWorkers({
    issuer: 'http://localhost',
    server: { address: temporal.address, namespace, apiKey: null },
    processes,
    activities: workerActivities(database, services, processes),
    codePath: temporal.codePath,
    log,
    giveUp: () => undefined,
  });
  stops.push(() => worker.stop());
  const found = await services.registrations.find(services.tokenOf(id));
  expect(await processes.confirmRegistration(found!.process)).toMatchObject({ userId: expect.any(String) });
});

test('two confirmations at once create one Account, and one is refused; later ones are refused too', async () => {
  const worker = startWorker();
  const { id, request } = await worker.park();
  const input = (await worker.found(id)).process;
  const both = await Promise.allSettled([1, 2].map(() => processes.confirmRegistration(input)));
  expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  const linkInvalid = { code: 'registration.link_invalid' };
  expect(both.find((result) => result.status === 'rejected')?.reason).toMatchObject(linkInvalid);
  await handleOf(id).result();
  await expect(processes.confirmRegistration(input)).rejects.toMatchObject(linkInvalid);
  expect(await rowsAsOwner(database.ownerUrl, 'select from users where email = $1', [request.email])).toHaveLength(1);
});

test('the first confirmed registration of an address ends the processes of the others', async () => {
  const worker = startWorker();
  const first = await worker.park();
  const second = await worker.park({ email: first.request.email });
  const mails = () => worker.sent.filter(({ to }) => to === first.request.email);
  await until('it is mailed twice', async () => mails().length === 2);
  await worker.confirm(second.id);
  expect(await handleOf(first.id).result()).toBe('discarded');
});

test('an expired registration loses its personal data, after a reminder before its end', async () => {
  for (let ms = soon; ; ms *= 2) {
    const worker = startWorker({ ttlMs: 2 * ms, reminderAfterMs: ms, intentTtlMs: 2 * ms });
    const { id, request } = await worker.park();
    await until('its process runs', () =>
      handleOf(id)
        .describe()
        .catch(() => undefined),
    );
    expect(await handleOf(id).result()).toBe('expired');
    expect(await worker.found(id)).toMatchObject({ status: 'expired', email: null, firstName: null });
    if (worker.sent.some(({ name, to }) => name === 'registration-reminder' && to === request.email)) return;
    await stopAll(); // the machine was stalled past the reminder: again, with more time
  }
});

test('a registration that is cancelled in the Temporal UI is cancelled in its row', async () => {
  const worker = startWorker();
  const { id, request } = await worker.park();
  await worker.mailTo(request);
  await handleOf(id).cancel();
  await handleOf(id)
    .result()
    .catch(() => undefined);
  expect(await worker.found(id)).toMatchObject({ status: 'cancelled', email: null });
});

test('a link still works after its process was terminated', async () => {
  const worker = startWorker();
  const { id, request } = await worker.park();
  await worker.mailTo(request);
  await handleOf(id).terminate('by mistake');
  expect(await worker.confirm(id)).toMatchObject({ userId: expect.any(String) });
});

/** Reports workflows as paused, since the server of most tests cannot pause them. @returns what ends that */
function pausedInTemporal(): () => void {
  const { workflowService } = processes.connection;
  const describe = workflowService.describeWorkflowExecution;
  const pausedDescribe = async (request: object) => {
    const answer = await describe.call(workflowService, request);
    return { ...answer, workflowExecutionInfo: { ...answer.workflowExecutionInfo, status: 8 } };
  };
  Object.assign(workflowService, { describeWorkflowExecution: pausedDescribe });
  return () => void Object.assign(workflowService, { describeWorkflowExecution: describe });
}

test('a process that is paused in Temporal is not started again, and a cancel reaches it and is waited for', async () => {
  const worker = startWorker();
  const { id, request } = await worker.park();
  await worker.mailTo(request);
  const input = (await worker.found(id)).process;
  await stopAll(); // so that the workflow does not receive the cancel
  const unpause = pausedInTemporal();
  expect(await processes.startAgain('registrationVerification', input)).toBe(false);
  expect(await processes.cancel(`registration/${id}`)).toBe(true);
  expect(await processes.describe(`registration/${id}`)).toMatchObject({ status: 'paused', isStopping: true });
  unpause();
});

test('a process that has ended is not started again by a repeated message', async () => {
  const worker = startWorker();
  const { id, request } = await worker.park();
  await worker.mailTo(request);
  const input = (await worker.found(id)).process;
  await worker.confirm(id);
  await handleOf(id).result();
  expect(await processes.start('registrationVerification', input)).toBe(false);
  expect((await handleOf(id).describe()).status.name).toBe('COMPLETED');
});

test('a process that may be resumed starts again, even if its run saw the row end before it was cancelled itself', async () => {
  startWorker();
  const [accountId, environmentId, removalId, erasureId] = Array.from({ length: 4 }, randomUUID) as [
    string,
    string,
    string,
    string,
  ];
  const removal = { removalId, accountId, environmentId };
  const erasure = { erasureId, accountId, identityId: randomUUID() };
  for (const _ of ['begun', 'taken up']) {
    expect(await processes.start('environmentRemoval', removal)).toBe(true);
    expect(await processes.start('identityErasure', erasure)).toBe(true);
    const runs = [`environment-removal/${removalId}`, `identity-erasure/${erasureId}`].map((id) =>
      temporal.client.workflow.getHandle(id),
    );
    await Promise.all(runs.map((run) => run.result()));
    expect(await Promise.all(runs.map(async (run) => (await run.describe()).status.name))).toEqual([
      'COMPLETED',
      'COMPLETED',
    ]);
  }
});

test('without a worker a confirmation is answered within seconds, and the link stays valid', async () => {
  const services = registrationServices(database);
  const { id } = await services.park();
  const input = (await services.registrations.find(services.tokenOf(id)))!.process;
  const asked = Date.now();
  const hurried = createProcesses({ address: temporal.address, namespace, apiKey: null });
  await expect(hurried.confirmRegistration(input)).rejects.toMatchObject({
    code: 'service.unavailable',
    options: { retryAfter: expect.any(Number) },
  });
  expect(Date.now() - asked).toBeLessThan(patience);
  await hurried.close();
  expect(await services.registrations.find(services.tokenOf(id))).toMatchObject({ status: 'pending' });
});

test('without Temporal every call fails within seconds', async () => {
  const away = createProcesses({ address: '127.0.0.1:9', namespace, apiKey: null });
  const asked = Date.now();
  const input = { pendingRegistrationId: randomBytes(8).toString('hex'), expiresAt: '', reminderAt: null };
  const unavailable = { code: 'service.unavailable' };
  await Promise.all([
    expect(away.confirmRegistration(input)).rejects.toMatchObject(unavailable),
    expect(away.start('emailDelivery', { emailId: 'x' })).rejects.toMatchObject(unavailable),
    expect(away.ping()).rejects.toThrow(),
  ]);
  expect(Date.now() - asked).toBeLessThan(patience);
  await away.close();
});

const sorted = (value: Record<string, unknown>) => Object.entries(value).sort();
