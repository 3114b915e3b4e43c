import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { provisionAccount } from '../../src/domain/accounts/provisioning.js';
import { createErasures } from '../../src/domain/erasures/erasures.js';
import { createMfaGraces } from '../../src/domain/mfa/grace/grace.js';
import { createProcesses, type Processes } from '../../src/temporal/processes.js';
import { newDatabase, rowsAsOwner, type TestDatabase } from '../support/database.js';
import { graceChanges } from '../support/graces.js';
import { patient } from '../support/patience.js';
import { historyText, namespace, startTestTemporal, type TestTemporal } from '../support/temporal.js';
import { reconciled, startTestWorker } from '../support/test-worker.js';
import { until } from '../support/until.js';

let temporal: TestTemporal;
let database: TestDatabase;
let processes: Processes;
let worker: ReturnType<typeof startTestWorker>;

beforeAll(async () => {
  [temporal, database] = await Promise.all([startTestTemporal(), newDatabase({ poolSize: 10 })]);
  processes = createProcesses({ address: temporal.address, namespace, apiKey: null }, patient);
  worker = startTestWorker(database, temporal, processes);
});
afterAll(async () => {
  await worker.stop();
  await processes.close();
  await temporal.stop();
  await database.close();
});

const handleOf = (id: string) => processes.client.workflow.getHandle(id);
const statusOf = async (id: string) =>
  (
    await handleOf(id)
      .describe()
      .catch(() => null)
  )?.status.name ?? 'NOT_FOUND';
const confirm = async (id: string) => {
  const { registrations, tokenOf } = worker;
  return processes.confirmRegistration((await registrations.find(tokenOf(id)))!.process);
};
const mailIdOf = async (id: string) =>
  (await rowsAsOwner(database.ownerUrl, 'select id from emails where subject_id = $1', [id]))[0]?.id as string;

// Tests that leave the mail server and Temporal alone run together.
test.concurrent('a terminated registration gets its process back, and its mail is not sent twice', async () => {
  const { id, request } = await worker.park();
  await until('the mail', async () => worker.sent.some(({ to }) => to === request.email));
  await until('its row', async () => (await statusOf(`email/${await mailIdOf(id)}`)) === 'COMPLETED');
  const { runId } = await handleOf(`registration/${id}`).describe();
  await handleOf(`registration/${id}`).terminate('by mistake');
  // Other tests start the reconciler too: its other run may be under way.
  await until('it runs again', async () => {
    await reconciled(processes.client); // requested again: while a run is under way, no other one begins
    const now = await handleOf(`registration/${id}`).describe();
    return now.runId !== runId && now.status.name === 'RUNNING';
  });
  expect(await confirm(id)).toMatchObject({ userId: expect.any(String) });
  expect(worker.sent.filter(({ to }) => to === request.email)).toHaveLength(1);
});

test('a terminated mail is sent after all, and a mail that has ended stays ended', async () => {
  worker.mailFails(new Error('away'));
  const { id, request } = await worker.park();
  const mailId = await until(
    'its mail',
    async () => (await statusOf(`email/${await mailIdOf(id)}`)) === 'RUNNING' && mailIdOf(id),
  );
  await handleOf(`email/${mailId}`).terminate('by mistake');
  // The mail server comes back only now: an earlier attempt would have sent the mail for the ended process.
  await healed('it runs again', async () => (await statusOf(`email/${mailId}`)) === 'RUNNING');
  worker.mailFails(null);
  await until('its end', async () => (await statusOf(`email/${mailId}`)) === 'COMPLETED');
  await confirm(id);
  await handleOf(`registration/${id}`).result();
  await reconciled(processes.client);
  await sleep(1000);
  expect(await statusOf(`registration/${id}`)).toBe('COMPLETED');
  expect(worker.sent.filter(({ to }) => to === request.email)).toHaveLength(1);
});

test.concurrent('a terminated process that expires unnoticed is closed, and not only started', async () => {
  const { id } = await worker.park();
  await until('it runs', async () => (await statusOf(`registration/${id}`)) === 'RUNNING');
  // Expires before the process ends, since another test may heal it at once; it reads its row when it was told to.
  await rowsAsOwner(
    database.ownerUrl,
    `update pending_registrations set expires_at = now() - interval '1 hour' where id = $1`,
    [id],
  );
  await handleOf(`registration/${id}`).terminate('by mistake');
  await until('its end', async () => {
    await reconciled(processes.client);
    await sleep(1200);
    return (await worker.registrations.find(worker.tokenOf(id)))?.email === null;
  });
  expect(await worker.registrations.find(worker.tokenOf(id))).toMatchObject({ status: 'expired' });
});

/** Creates an Identity in an Environment, with a grace of this many days. */
async function withGrace(inDays: number) {
  const scope = await newEnvironment();
  const email = `grace.${randomUUID()}@private.example`;
  const [{ id } = {}] = await rowsAsOwner(
    database.ownerUrl,
    `insert into identities (id, account_id, email, first_name, metadata, created_at, updated_at)
     values (gen_random_uuid(), $1, $2, 'Gracia', '{}', now(), now()) returning id`,
    [scope.accountId, email],
  );
  await rowsAsOwner(
    database.ownerUrl,
    `update environment_settings set mfa_policy = 'required' where environment_id = $1`,
    [scope.environmentId],
  );
  const graces = createMfaGraces({ db: database.db, now: worker.now, reminders: [] });
  await graces.start(scope, id as string, inDays);
  const workflowId = `mfa-grace/${scope.environmentId}/${id}`;
  await until('its process', async () => (await statusOf(workflowId)) === 'RUNNING');
  const changes = graceChanges({ db: database.db, now: worker.now });
  return { scope, id: id as string, email, graces, changes, workflowId };
}
async function newEnvironment() {
  const now = new Date();
  const { userId } = await worker.park().then(({ id }) => confirm(id));
  const { account, application, environments } = await database.db.transaction('system', (tx) =>
    provisionAccount(tx, { userId, accountName: `a ${randomUUID()}`, applicationName: 'Shop', now }),
  );
  return { accountId: account.id, applicationId: application.id, environmentId: environments.development.id };
}
const stateOf = (workflowId: string) => handleOf(workflowId).query<string>('state');

test.concurrent('a grace ends by itself when enrolled, reset or over: each change signals its process', async () => {
  const { scope, id, email, changes, workflowId } = await withGrace(7);
  await changes.enrolled(scope, id);
  await until('enrolled', async () => (await stateOf(workflowId)) === 'enrolled');
  await changes.reset(scope, id, 4 / 86_400);
  await until('the end', async () => (await stateOf(workflowId)) === 'expired');
  expect(
    await rowsAsOwner(database.ownerUrl, 'select status, round from mfa_graces where identity_id = $1', [id]),
  ).toEqual([{ status: 'expired', round: 2 }]);
  const history = await historyText(handleOf(workflowId));
  expect(history).toContain(id);
  for (const secret of [email, 'private.example', 'Gracia']) expect(history).not.toContain(secret);
});

test.concurrent('a terminated grace goes on, one that has expired unnoticed is closed, and a cancelled one keeps its end', async () => {
  const { scope, id, graces, changes, workflowId } = await withGrace(7);
  await handleOf(workflowId).terminate('by mistake');
  await healed('it runs again', async () => (await statusOf(workflowId)) === 'RUNNING');
  await until('it has looked at the row', async () =>
    (await handleOf(workflowId).fetchHistory()).events?.some((event) => event.activityTaskCompletedEventAttributes),
  );
  // Before it ends, since another test may restart it at once.
  await rowsAsOwner(database.ownerUrl, `update mfa_graces set expires_at = now() where identity_id = $1`, [id]);
  await handleOf(workflowId).terminate('by mistake');
  await healed('it is closed', async () => (await statusOf(workflowId)) === 'COMPLETED');
  await changes.reset(scope, id, 7);
  await until('a new run', async () => (await statusOf(workflowId)) === 'RUNNING');
  await handleOf(workflowId).cancel();
  await until('cancelled', async () => (await statusOf(workflowId)) === 'CANCELLED');
  expect(await graces.find(scope, id)).toMatchObject({ over: false });
  await reconciled(processes.client);
  await sleep(1500);
  expect(await statusOf(workflowId)).toBe('CANCELLED');
});

test.concurrent('an erasure is carried out, and its history names no person', async () => {
  const { scope, id, email, workflowId } = await withGrace(7);
  const erasures = createErasures({ db: database.db, now: worker.now });
  const erasure = await erasures.request(scope, id);
  const handle = handleOf(`identity-erasure/${erasure.id}`);
  await until('the end', async () => (await statusOf(`identity-erasure/${erasure.id}`)) === 'COMPLETED');
  expect(await handle.query('state')).toBe('completed');
  expect(await rowsAsOwner(database.ownerUrl, 'select id from identities where id = $1', [id])).toEqual([]);
  for (const text of [await historyText(handle), await historyText(handleOf(workflowId))]) {
    for (const secret of [email, 'private.example', 'Gracia']) expect(text).not.toContain(secret);
  }
  expect((await erasures.request(scope, id)).status).toBe('completed');
});

/** Repeats the reconciler until its effect shows. */
const healed = (what: string, look: () => Promise<boolean>) =>
  until(what, async () => {
    await reconciled(processes.client);
    await sleep(1500);
    return look();
  });

test('Temporal’s whole database is deleted under a running worker: no row is lost, the processes return, no mail is sent twice', async () => {
  const registrations = [];
  for (let i = 0; i < 5; i++) registrations.push(await worker.park({ email: `lost.${randomUUID()}@example.com` }));
  for (const { request } of registrations) {
    await until('the mails', async () => worker.sent.some(({ to }) => to === request.email));
  }
  for (const { id } of registrations) {
    await until('noted', async () => (await statusOf(`email/${await mailIdOf(id)}`)) === 'COMPLETED');
  }
  worker.mailFails(new Error('away'));
  const unsent = await worker.park();
  await until('its mail is on its way', async () => mailIdOf(unsent.id));

  const { port } = temporal;
  await temporal.stop(); // in memory: all of its data is gone
  temporal = await startTestTemporal({ port });
  worker.mailFails(null);

  for (const { id } of [...registrations, unsent]) {
    await until('it runs again', async () => (await statusOf(`registration/${id}`)) === 'RUNNING');
  }
  await until('the mail that had not been sent', async () => worker.sent.some(({ to }) => to === unsent.request.email));
  for (const { id, request } of [...registrations, unsent]) {
    expect(await confirm(id)).toMatchObject({ userId: expect.any(String) });
    expect(worker.sent.filter(({ to }) => to === request.email).map(({ name }) => name)).toEqual([
      'registration-verification',
    ]);
  }
});
