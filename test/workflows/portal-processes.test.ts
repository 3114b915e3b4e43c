import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { loadConfig } from '../../src/config.js';
import type { Mailer } from '../../src/platform/mail/mailer.js';
import { createOutbound } from '../../src/platform/outbound/fetch.js';
import { startOutboxRelay } from '../../src/temporal/outbox-relay.js';
import { createProcesses, type Processes } from '../../src/temporal/processes.js';
import { composeWorker } from '../../src/worker/compose.js';
import { startTemporalWorkers } from '../../src/worker/temporal-workers.js';
import { invite, rolesByKey } from '../support/administrators.js';
import { outcomeOf } from '../support/answers.js';
import { baseUrl, newAccount, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { type Call, callsOf } from '../support/calls.js';
import { newPublicClient, signedInAt } from '../support/public-client.js';
import { rowsOf } from '../support/rows.js';
import { namespace, startTestTemporal, type TestTemporal } from '../support/temporal.js';
import { until } from '../support/until.js';

// The whole api, a worker and a real Temporal server; only the mail server is replaced.
let temporal: TestTemporal;
let api: TestApi;
let processes: Processes;
let owner: Call;
let roleId: string;
let development: string;
let scope: TestAccount['scope'];
let mailServer: 'away' | 'there' = 'there';
/** While set, the mail server has received a mail and does not answer yet. */
let thinking: { heard(): void; answer: Promise<void> } | undefined;
const log = pino({ level: 'silent' });
const stops: (() => Promise<unknown>)[] = [];
let startWorkers: () => ReturnType<typeof startTemporalWorkers>;
let workers: ReturnType<typeof startTemporalWorkers>;
const address = 'ivo.private@example.com';

const mailer: Pick<Mailer, 'send'> = {
  async send(_name, { messageId }) {
    // As libraries do, the error quotes the address.
    if (mailServer === 'away')
      throw Object.assign(new Error(`could not deliver to ${address}`), { code: 'ECONNREFUSED' });
    thinking?.heard();
    await thinking?.answer;
    return { messageId };
  },
};

beforeAll(async () => {
  temporal = await startTestTemporal();
  const settings = { TEMPORAL_ADDRESS: temporal.address, TEMPORAL_UI_URL: 'http://temporal.example.com/' };
  api = await startApi(settings);
  const { url } = api.database;
  const config = loadConfig('worker', {
    ...settings,
    NODE_ENV: 'test',
    BASE_URL: baseUrl,
    DATABASE_URL: url,
    SMTP_URL: 'smtp://127.0.0.1:1',
    MASTER_KEYS: `test:${Buffer.alloc(32, 7).toString('base64')}`,
  });
  const server = { address: temporal.address, namespace, apiKey: null };
  processes = createProcesses(server);
  const { db } = api.database;
  const activities = composeWorker({
    config,
    db,
    log,
    mailer: mailer as Mailer,
    outbound: createOutbound(),
    processes,
  });
  startWorkers = () =>
    startTemporalWorkers({
      server,
      processes,
      issuer: 'http://localhost',
      activities,
      codePath: temporal.codePath,
      log,
      giveUp: () => undefined,
    });
  workers = startWorkers();
  const relay = startOutboxRelay({ db, databaseUrl: url, processes, log, pollMs: 200 });
  stops.push(relay.stop, () => workers.stop());
  const account = await newAccount(api);
  owner = callsOf(api, account.accountSlug, await account.as('owner'));
  scope = account.scope;
  development = `/applications/${account.applicationSlug}/environments/development`;
  roleId = (await rolesByKey(owner)).viewer as string;
});
afterAll(async () => {
  for (const stop of stops) await stop();
  await processes.close();
  await api.stop();
  await temporal.stop();
});

/** Reads once Temporal answers, which on a busy machine takes longer than the api waits. */
const read = (id: string) =>
  until('Temporal answers', async () => {
    const { data } = (await owner('GET', `/processes/${id}`)).json();
    return data.temporal_state !== 'unavailable' && data;
  });
const handleOf = (workflowId: string) => temporal.client.workflow.getHandle(workflowId);
/** The workflow is asked to end, or finds its row ended at its next step if asking takes too long. */
const askedToEnd = expect.stringMatching(/^(cancel_requested|temporal_unavailable)$/);
const ended = (workflowId: string) =>
  until('it ends', async () => {
    const { status } = await handleOf(workflowId).describe();
    return status.name !== 'RUNNING' && status.name;
  });

test('an invite shows its state with a link to the Temporal UI; a cancel ends the row and the workflow', async () => {
  const { id } = await invite(owner, { role_id: roleId });
  const seen = await until('it waits', async () => {
    const process = await read(id);
    return process.temporal?.pending.length === 0 && process;
  });
  expect(seen).toMatchObject({
    state: 'pending',
    temporal_state: 'available',
    temporal: {
      workflow_id: `invite/${id}`,
      run_id: expect.any(String),
      status: 'running',
      history_length: expect.any(Number),
      started_at: expect.stringMatching(/Z$/),
      pending: [],
      url: `http://temporal.example.com/namespaces/${namespace}/workflows/invite%2F${id}/${seen.temporal.run_id}/history`,
    },
  });
  const cancelled = await owner('POST', `/processes/${id}/cancel`, { reason: 'not any more' });
  expect(cancelled.json().data.state).toBe('revoked');
  expect(['cancel_requested', 'not_running', 'temporal_unavailable']).toContain(cancelled.json().data.workflow_end);
  // Two things end it: the outbox message that the invite was revoked, and the cancel.
  expect(['CANCELLED', 'COMPLETED']).toContain(await ended(`invite/${id}`));
  expect(await handleOf(`invite/${id}`).query('state')).toBe('revoked');
  expect(await read(id)).toMatchObject({ state: 'revoked', temporal_state: 'available' });
});

test('a mail that cannot be sent shows its attempt and its error, but not its recipient', async () => {
  mailServer = 'away';
  const { id } = await invite(owner, { role_id: roleId, email: address });
  const [mail] = (await owner('GET', `/processes?kind=email&subject_id=${id}`)).json().items;
  const stuck = await until('it is stuck', async () => {
    const process = await read(mail.id);
    const [step] = process.temporal?.pending ?? [];
    return step?.last_failure && step.next_attempt_at && process; // between two attempts
  });
  expect(stuck.temporal.pending).toEqual([
    {
      activity: 'sendEmail',
      attempt: expect.any(Number),
      last_failure: 'Error ECONNREFUSED',
      next_attempt_at: expect.stringMatching(/Z$/),
    },
  ]);
  expect(JSON.stringify(stuck)).not.toContain('private');

  const cancelled = await owner('POST', `/processes/${mail.id}/cancel`, { reason: 'wrong address' });
  expect(cancelled.json().data).toMatchObject({ state: 'cancelled', workflow_end: askedToEnd });
  expect(['CANCELLED', 'COMPLETED']).toContain(await ended(`email/${mail.id}`));
  expect(outcomeOf(await owner('POST', `/processes/${mail.id}/cancel`, { reason: 'again' }))).toBe(
    '409 process.not_running',
  );
  mailServer = 'there';
});

test('a mail that is cancelled while the mail server accepts it is shown as sent, in the audit log too', async () => {
  let answer = () => {};
  const heard = new Promise<void>((resolve) => {
    thinking = {
      heard: resolve,
      answer: new Promise((go) => {
        answer = go;
      }),
    };
  });
  const { id } = await invite(owner, { role_id: roleId, email: `late.${randomUUID()}@example.com` });
  const [mail] = (await owner('GET', `/processes?kind=email&subject_id=${id}`)).json().items;
  await heard;
  const cancelled = await owner('POST', `/processes/${mail.id}/cancel`, { reason: 'wrong address' });
  expect(cancelled.json().data).toMatchObject({ state: 'cancelled', workflow_end: askedToEnd });
  thinking = undefined;
  answer();
  expect(await ended(`email/${mail.id}`)).toBe('COMPLETED');
  expect(await handleOf(`email/${mail.id}`).query('state')).toBe('sent');
  expect(await read(mail.id)).toMatchObject({ state: 'sent', ended_reason: null });
  const events = await rowsOf(api, `select action, metadata from events where resource_id = '${mail.id}' order by id`);
  expect(events).toMatchObject([
    { action: 'process.cancelled' },
    { action: 'email.sent_after_all', metadata: { ended_as: 'cancelled', template: 'administrator-invite' } },
  ]);
});

test('a retry delivers a mail that has failed for good', async () => {
  mailServer = 'away';
  const { id } = await invite(owner, { role_id: roleId });
  const [mail] = (await owner('GET', `/processes?kind=email&subject_id=${id}`)).json().items;
  await until('Temporal has it', async () => (await read(mail.id)).temporal);
  // As after 24 hours: the row has failed, and the workflow fails at its next look.
  await rowsOf(api, `update emails set status = 'failed', failure = 'too late', ended_at = now() where id = $1`, [
    mail.id,
  ]);
  expect(await ended(`email/${mail.id}`)).toBe('FAILED');
  mailServer = 'there';
  expect(outcomeOf(await owner('POST', `/processes/${mail.id}/retry`))).toBe('200');
  const sent = await until('it is sent', async () => {
    const process = await read(mail.id);
    return process.state === 'sent' && process.temporal.status === 'completed' && process;
  });
  expect(sent).toMatchObject({ ended_reason: null, waits_for: null, verbs: [] });
});

test('a process that Temporal has forgotten is still shown by its row, and can be cancelled', async () => {
  const { id } = await invite(owner, { role_id: roleId });
  const [mail] = (await owner('GET', `/processes?kind=email&subject_id=${id}`)).json().items;
  const other = randomUUID();
  await rowsOf(
    api,
    `insert into emails select (jsonb_populate_record(e, jsonb_build_object('id', $2::text, 'cause', $2::text, 'status', 'pending',
       'ended_at', null))).* from emails e where id = $1`,
    [mail.id, other],
  );
  expect(await read(other)).toMatchObject({ state: 'pending', temporal_state: 'unknown', temporal: null });
  const cancelled = await owner('POST', `/processes/${other}/cancel`, { reason: 'lost' });
  expect(cancelled.json().data).toMatchObject({
    state: 'cancelled',
    workflow_end: expect.stringMatching(/^(not_running|temporal_unavailable)$/),
  });
});

/** Has Temporal delete a workflow with its history, as it does by itself when its retention has run out. */
async function forgotten(workflowId: string): Promise<void> {
  const { status } = await until('Temporal has it', () => handleOf(workflowId).describe());
  if (status.name === 'RUNNING') await handleOf(workflowId).terminate();
  await processes.connection.workflowService.deleteWorkflowExecution({ namespace, workflowExecution: { workflowId } });
  await until('it is gone', async () => (await processes.describe(workflowId)) === null);
}

test('what can be done by hand with a process works after Temporal has deleted its history', async () => {
  mailServer = 'away';
  const { id } = await invite(owner, { role_id: roleId });
  const mailId = await processOf('email', id);
  await until('it is tried', async () => (await read(mailId)).temporal?.pending.length > 0);
  await owner('POST', `/processes/${mailId}/cancel`, { reason: 'a mistake' });
  await rowsOf(api, `update emails set status = 'failed', failure = 'too late' where id = $1`, [mailId]);
  mailServer = 'there';
  const domain = `${randomUUID()}.example`;
  const { id: claimId } = (await owner('POST', '/sso/domains', { domain })).json().data.process;
  const person = { email: `${randomUUID()}@example.com` };
  const { id: identityId } = (await owner('POST', `${development}/identities`, person)).json().data;
  await workers.stop();
  expect(outcomeOf(await owner('DELETE', `/identities/${identityId}`))).toBe('204');
  const erasureId = await processOf('identity_erasure', identityId);
  const cancelled = [
    [claimId, `sso-domain/${claimId}`],
    [erasureId, `identity-erasure/${erasureId}`],
  ] as const;
  for (const [processId, workflowId] of cancelled) {
    await until('Temporal has it', () => handleOf(workflowId).describe());
    await owner('POST', `/processes/${processId}/cancel`, { reason: 'a mistake' });
    await forgotten(workflowId);
  }
  await forgotten(`email/${mailId}`);
  await forgotten(`invite/${id}`);
  workers = startWorkers();

  for (const processId of [mailId, claimId, erasureId]) {
    expect(await read(processId)).toMatchObject({ temporal_state: 'unknown', verbs: ['retry'] });
    expect(outcomeOf(await owner('POST', `/processes/${processId}/retry`))).toBe('200');
  }
  expect(outcomeOf(await owner('POST', `/processes/${id}/extend`, { expires_in: '20d' }))).toBe('200');
  await until('the mail is sent', async () => (await read(mailId)).state === 'sent');
  await until('the identity is erased', async () => (await read(erasureId)).state === 'completed');
  for (const processId of [claimId, id])
    await until('it waits', async () => (await read(processId)).temporal?.status === 'running');
});

test('cancelling a terminated process reports that it did not run', async () => {
  const { id } = await invite(owner, { role_id: roleId });
  await until('it runs', async () => (await read(id)).temporal?.status === 'running');
  await handleOf(`invite/${id}`).terminate('by a test');
  expect((await owner('POST', `/processes/${id}/cancel`, { reason: 'lost' })).json().data).toMatchObject({
    state: 'revoked',
    workflow_end: expect.stringMatching(/^(not_running|temporal_unavailable)$/),
  });
});

test('a workflow whose own code fails is shown as stuck', async () => {
  const { id } = await invite(owner, { role_id: roleId });
  await until('it runs', async () => (await read(id)).temporal?.status === 'running');
  const { taskQueue } = await handleOf(`invite/${id}`).describe();
  const workflowId = `unknown/${randomUUID()}`;
  const stuck = await temporal.client.workflow.start('ofALaterRelease', { taskQueue, workflowId });
  const pending = await until('it was tried twice', async () => {
    const look = await processes.describe(workflowId).catch(() => null); // Temporal is busy
    return look !== null && look.pending.length > 0 && look.pending;
  });
  expect(pending).toMatchObject([{ activity: 'workflow_task', lastFailure: 'workflow_task_failed' }]);
  await stuck.terminate();
});

test('an extended invite wakes up later, in the same workflow', async () => {
  const { id } = await invite(owner, { role_id: roleId });
  const { temporal: before } = await until('Temporal has it', async () => {
    const process = await read(id);
    return process.temporal && process;
  });
  const extended = await owner('POST', `/processes/${id}/extend`, { expires_in: '20d' });
  const { deadline } = extended.json().data;
  await until('its workflow is told', async () =>
    JSON.stringify(await handleOf(`invite/${id}`).fetchHistory()).includes('"signalName":"resent"'),
  );
  expect(await read(id)).toMatchObject({ deadline, temporal: { status: 'running', run_id: before.run_id } });
});

test('a process that is retried before its cancelled run has stopped is not ended by that run', async () => {
  const domain = `${randomUUID()}.example`;
  const { id } = (await owner('POST', '/sso/domains', { domain })).json().data.process;
  const { temporal: before } = await until('it waits', async () => {
    const process = await read(id);
    return process.temporal?.pending.length === 0 && process;
  });
  await workers.stop(); // no worker carries the cancel out
  const cancelled = await owner('POST', `/processes/${id}/cancel`, { reason: 'another one was meant' });
  expect(cancelled.json().data).toMatchObject({ state: 'failed', workflow_end: askedToEnd });
  await until('it is asked to stop', async () =>
    JSON.stringify(await handleOf(`sso-domain/${id}`).fetchHistory()).includes('CancelRequested'),
  );
  expect(outcomeOf(await owner('POST', `/processes/${id}/retry`))).toBe('503 service.unavailable');
  expect(outcomeOf(await owner('POST', '/sso/domains', { domain }))).toBe('503 service.unavailable'); // this operation meets the same running workflow
  expect(outcomeOf(await owner('POST', `/sso/domains/${domain}/verify`))).toBe('503 service.unavailable');
  expect(await read(id)).toMatchObject({ state: 'failed', verbs: ['retry'] });
  workers = startWorkers();
  await until('its run before has stopped', async () => {
    const outcome = outcomeOf(await owner('POST', `/processes/${id}/retry`));
    return outcome === '200';
  });
  const again = await until('another run waits', async () => {
    const process = await read(id);
    return process.temporal?.run_id !== before.run_id && process.temporal?.pending.length === 0 && process;
  });
  expect(again).toMatchObject({ state: 'pending', ended_reason: null, temporal: { status: 'running' } });
});

/** Cancels a process while no worker could end its run. */
async function cancelUnheard(id: string, workflowId: string): Promise<void> {
  await workers.stop();
  await until('Temporal has it', () => handleOf(workflowId).describe());
  const cancelled = await owner('POST', `/processes/${id}/cancel`, { reason: 'a mistake' });
  expect(cancelled.json().data).toMatchObject({ state: 'cancelled', workflow_end: askedToEnd });
  await until('it is asked to stop', async () =>
    JSON.stringify(await handleOf(workflowId).fetchHistory()).includes('CancelRequested'),
  );
}
const processOf = (kind: string, subjectId: string) =>
  until('its row is there', async () => {
    const [process] = (await owner('GET', `/processes?kind=${kind}&subject_id=${subjectId}`)).json().items;
    return process?.id as string | undefined;
  });

test('an erasure that is requested again before the cancelled one has stopped is carried out', async () => {
  const body = { email: `${randomUUID()}@example.com`, first_name: 'Ada' };
  const { id } = (await owner('POST', `${development}/identities`, body)).json().data;
  await workers.stop();
  const remove = async () => outcomeOf(await owner('DELETE', `/identities/${id}`));
  expect(await remove()).toBe('204');
  const erasureId = await processOf('identity_erasure', id);
  await cancelUnheard(erasureId, `identity-erasure/${erasureId}`);
  expect(await remove()).toBe('503 service.unavailable');
  expect(outcomeOf(await owner('DELETE', `${development}/identities/${id}`))).toBe('503 service.unavailable');
  workers = startWorkers();
  await until('its run before has stopped', async () => (await remove()) === '204');
  await until('it is erased', async () => (await read(erasureId)).state === 'completed');
});

test('an MFA reset before the cancelled grace has stopped starts a grace with the new time', async () => {
  await rowsOf(api, `update environment_settings set mfa_policy = 'required', mfa_grace_period_days = 7`);
  const { id } = (await owner('POST', `${development}/identities`, { email: `${randomUUID()}@example.com` })).json()
    .data;
  const reset = async () => outcomeOf(await owner('POST', `${development}/identities/${id}/mfa/reset`));
  expect(await reset()).toBe('200');
  const graceId = await processOf('mfa_grace', id);
  const { workflow_id: workflowId } = await read(graceId);
  await cancelUnheard(graceId, workflowId);
  const { run_id: before } = (await read(graceId)).temporal;
  expect(await reset()).toBe('503 service.unavailable');
  workers = startWorkers();
  await until('its run before has stopped', async () => (await reset()) === '200');
  const again = await until('another run waits', async () => {
    const process = await read(graceId);
    return process.temporal?.run_id !== before && process.temporal?.pending.length === 0 && process;
  });
  expect(again).toMatchObject({ state: 'running', temporal: { status: 'running' } });
});

test('a person whose grace begins again at a sign-in before the cancelled one has stopped is let in, with all of its time', async () => {
  await rowsOf(api, `update environment_settings set mfa_policy = 'required', mfa_grace_period_days = 7`);
  const password = 'correct horse battery staple';
  const person = { email: `${randomUUID()}@example.com`, password, email_verified: true };
  const { id } = (await owner('POST', `${development}/identities`, person)).json().data;
  const { clientId } = await newPublicClient(api, scope);
  const signIn = () => signedInAt(api, { clientId }, { email: person.email, password });
  const statusOf = async () =>
    (await rowsOf<{ status: string }>(api, 'select status from mfa_graces where identity_id = $1', [id]))[0]?.status;
  await signIn();
  const graceId = await processOf('mfa_grace', id);
  const { workflow_id: workflowId } = await read(graceId);
  await cancelUnheard(graceId, workflowId);
  const { run_id: before } = (await read(graceId)).temporal;
  // For a while no policy required a factor.
  await rowsOf(api, `update mfa_graces set status = 'reset' where identity_id = $1`, [id]);
  await signIn();
  expect(await statusOf()).toBe('reset');
  workers = startWorkers();
  await until('its run before has stopped', async () => {
    await signIn();
    return (await statusOf()) === 'running';
  });
  const again = await until('another run waits', async () => {
    const process = await read(graceId);
    return process.temporal?.run_id !== before && process.temporal?.pending.length === 0 && process;
  });
  expect(again).toMatchObject({ state: 'running', temporal: { status: 'running' } });
});
