import { randomUUID } from 'node:crypto';
import { createAccountIntentActivities } from '../../activities/account-intents.js';
import { DomainError } from '../../src/domain/errors.js';
import { minutes, seconds } from '../../src/platform/clock.js';
import { createProcesses, type Processes } from '../../src/temporal/processes.js';
import { newDatabase, rowsAsOwner, type TestDatabase } from '../support/database.js';
import { patient } from '../support/patience.js';
import { aRequest, registrationServices } from '../support/registration.js';
import { historyText, namespace, startTestTemporal, type TestTemporal } from '../support/temporal.js';
import { startWorkerParts } from '../support/test-worker.js';
import { until } from '../support/until.js';

let temporal: TestTemporal;
let database: TestDatabase;
let processes: Processes;
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
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()));
});

type Services = ReturnType<typeof registrationServices>;

/** Starts the worker process's parts on real PostgreSQL and Temporal; only the mail server is replaced. */
function startWorker(services: Services) {
  stops.push(startWorkerParts({ database, temporal, processes }, services).stop);
}

const newServices = (intentTtlMs = minutes(5)) =>
  registrationServices(database, { ttlMs: minutes(5), reminderAfterMs: minutes(4), intentTtlMs });

const insertUser = `insert into users (id, email, first_name, last_name, password_hash, created_at, updated_at)
  values ($1, $2, 'Zdenka', 'Kovač', $3, now(), now())`;

/** Creates a user for whose address a second registration is parked. */
async function parked(services: Services, { hasPassword = true } = {}) {
  const user = { id: randomUUID(), email: `zdenka.${randomUUID()}@private.example` };
  await select(insertUser, user.id, user.email, hasPassword ? 'hash' : null);
  const request = aRequest({ email: user.email });
  await services.registrations.park(request);
  const id = (await select('select id from account_intents where user_id = $1', user.id))[0]?.id as string;
  return { id, user, request };
}

const select = (text: string, ...values: unknown[]) => rowsAsOwner(database.ownerUrl, text, values);
const row = async (id: string) => (await select('select * from account_intents where id = $1', id))[0]!;
const accountsOf = (userId: string) => select('select account_id from memberships where user_id = $1', userId);
const handleOf = (id: string) => temporal.client.workflow.getHandle(`account-intent/${id}`);
const resume = async (services: Services, userId: string, claimId: string = randomUUID()) => {
  const found = await services.accountIntents.findFor(userId, claimId);
  if (found?.status !== 'parked' && found?.status !== 'claimed') throw new Error('nothing to resume');
  return processes.resumeAccountIntent(found.process, claimId);
};
const notFound = { code: 'account_intent.not_found' };
/** Repeats one request while the outcome is unknown, as a client does. */
async function resumeInTheEnd(services: Services, userId: string) {
  const claimId = randomUUID();
  for (;;) {
    const found = await services.accountIntents.findFor(userId, claimId);
    if (!found) throw new DomainError('account_intent.not_found');
    if (found.status === 'consumed') return found;
    try {
      return await processes.resumeAccountIntent(found.process, claimId);
    } catch (error) {
      if (!(error instanceof DomainError && error.code === 'service.unavailable')) throw error;
    }
  }
}

test('an intent leads from the form to the Account, with no personal data or secret in any history', async () => {
  const services = newServices();
  startWorker(services);
  const { id, user, request } = await parked(services, { hasPassword: false });
  const mail = await until('it is mailed', async () => services.sent.find(({ to }) => to === user.email));
  expect(mail.name).toBe('set-password');
  const token = new URL(mail.values.link as string).searchParams.get('token') as string;
  expect(token).toMatch(/^[\w-]{43}$/);
  const claimId = randomUUID();
  // Refused until its owner has set a password, after which the process still waits.
  await expect(resume(services, user.id, claimId)).rejects.toMatchObject({ code: 'account.password_required' });
  const asked = { intentId: id, expiresAt: ((await row(id)).expires_at as Date).toISOString() };
  await expect(processes.resumeAccountIntent(asked, randomUUID())).rejects.toMatchObject(notFound);
  await select(`update users set password_hash = 'hash' where id = $1`, user.id);
  const made = await resume(services, user.id, claimId);
  expect(await handleOf(id).result()).toBe('consumed');
  expect(await accountsOf(user.id)).toEqual([{ account_id: made.accountId }]);
  expect(await services.accountIntents.findFor(user.id, claimId)).toEqual({ status: 'consumed', ...made });
  await expect(processes.resumeAccountIntent({ intentId: id, expiresAt: '' }, randomUUID())).rejects.toMatchObject(
    notFound,
  );

  const emails = await select('select id from emails where subject_id = $1', id);
  expect(emails).toHaveLength(1);
  const handles = [handleOf(id), ...emails.map((email) => temporal.client.workflow.getHandle(`email/${email.id}`))];
  for (const text of await Promise.all(handles.map(historyText))) {
    expect(text).toContain(id);
    for (const secret of [user.email, 'private.example', 'Zdenka', 'Kovač', request.accountName, token]) {
      expect(text).not.toContain(secret);
    }
  }
});

test('twenty resumes at once create one Account', async () => {
  const services = newServices();
  startWorker(services);
  const { user } = await parked(services);
  const results = await Promise.allSettled(Array.from({ length: 20 }, () => resumeInTheEnd(services, user.id)));
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  for (const result of results) if (result.status === 'rejected') expect(result.reason).toMatchObject(notFound);
  expect(await accountsOf(user.id)).toHaveLength(1);
});

test('a worker that dies between claim and provisioning has created nothing, and the next one creates the Account once', async () => {
  const services = newServices();
  const { id, user } = await parked(services);
  const real = createAccountIntentActivities(services);
  // The first worker claims; the rest of its attempt gets no answer until long after, as with a killed process.
  let died = () => {};
  const dead = new Promise<void>((resolve) => {
    died = resolve;
  });
  let bury = () => {};
  const silence = new Promise<never>((_, reject) => {
    bury = () => reject(new Error('dead'));
  });
  const provisionIntent = () => {
    died();
    return silence;
  };
  const first = await temporal.runWorker({ ...real, provisionIntent }, 'registrations');
  const claimId = randomUUID();
  const asked = resume(services, user.id, claimId).catch((error: unknown) => error);
  await dead;
  expect(await row(id)).toMatchObject({ status: 'claimed', claim_id: claimId });
  expect(await accountsOf(user.id)).toEqual([]);
  const stopped = first.stop(); // accepts no more work
  startWorker(services);
  const answer = await asked; // the Account, unless the machine was too slow for a caller who waits ten seconds
  expect(await handleOf(id).result()).toBe('consumed');
  const made = await services.accountIntents.findFor(user.id, claimId);
  if (made?.status !== 'consumed') throw new Error('it is not consumed');
  const { status: _, ...place } = made;
  if (!(answer instanceof Error)) expect(answer).toEqual(place);
  else expect(answer).toMatchObject({ code: 'service.unavailable' });
  expect(await accountsOf(user.id)).toEqual([{ account_id: place.accountId }]);
  bury();
  await stopped;
});

test('an intent whose process is terminated between claim and provisioning continues where its row stands', async () => {
  const services = newServices();
  startWorker(services);
  const { id, user } = await parked(services);
  await until('it is mailed', async () => services.sent.find(({ to }) => to === user.email));
  const claimId = randomUUID();
  expect(await services.accountIntents.claim(id, claimId)).toMatchObject({ mine: true });
  await handleOf(id).terminate('by mistake');
  await resume(services, user.id, claimId).catch(() => undefined);
  await until('the intent is consumed', async () => (await row(id)).status === 'consumed');
  expect(await handleOf(id).result()).toBe('consumed');
  expect(await accountsOf(user.id)).toHaveLength(1);
});

test('an intent that its owner discards ends at once', async () => {
  const services = newServices();
  startWorker(services);
  const { id, user } = await parked(services);
  await until('it is mailed', async () => services.sent.find(({ to }) => to === user.email));
  const ids = await services.accountIntents.discardAll(user.id);
  expect(ids).toEqual([id]);
  await processes.discardAccountIntents([...ids, randomUUID()]);
  expect(await handleOf(id).result()).toBe('discarded');
});

test('an intent that nobody resumes expires, and so does its row', async () => {
  const services = newServices(seconds(3));
  startWorker(services);
  const { id } = await parked(services);
  await until('the intent is expired', async () => (await row(id)).status === 'expired');
  expect(await handleOf(id).result()).toBe('expired');
});

test('an intent that expires before its process begins is closed by the process, with its event and without its mail', async () => {
  const services = newServices(1);
  const { id, user } = await parked(services);
  startWorker(services);
  await until('the intent is expired', async () => (await row(id)).status === 'expired');
  expect(await handleOf(id).result()).toBe('expired');
  const events = await select('select action from events where resource_id = $1 order by id', id);
  expect(events.at(-1)).toEqual({ action: 'auth.account_intent_expired' });
  expect(services.sent.filter(({ to }) => to === user.email)).toEqual([]);
});

test('an intent that is cancelled in the Temporal UI is cancelled in its row', async () => {
  const services = newServices();
  startWorker(services);
  const { id, user } = await parked(services);
  await until('it is mailed', async () => services.sent.find(({ to }) => to === user.email));
  await handleOf(id).cancel();
  await until('the intent is cancelled', async () => (await row(id)).status === 'cancelled');
  expect(await row(id)).toMatchObject({ ended_reason: 'cancelled_by_operator' });
});

test('an intent whose short name was taken meanwhile fails, mails that, and creates the Account when support retries it', async () => {
  const services = newServices();
  startWorker(services);
  const { id, user } = await parked(services);
  const slug = `taken-${randomUUID().slice(0, 8)}`;
  await select(
    `insert into accounts (id, name, slug, created_at, updated_at) values ($1, 'x', $2, now(), now())`,
    randomUUID(),
    slug,
  );
  await select('update account_intents set account_slug = $2 where id = $1', id, slug);
  await expect(resume(services, user.id)).rejects.toMatchObject({ code: 'account.slug_taken' });
  await expect(handleOf(id).result()).rejects.toThrow();
  expect(await row(id)).toMatchObject({ status: 'failed', ended_reason: 'account.slug_taken' });
  const mail = await until('the failure is mailed', async () =>
    services.sent.find(({ name }) => name === 'account-creation-failed'),
  );
  expect(mail).toMatchObject({ to: user.email, values: { reason: expect.stringContaining('short name') } });

  await services.accountIntents.retry(id); // the relay starts its process again
  await until('the intent is consumed', async () => (await row(id)).status === 'consumed');
  expect(await accountsOf(user.id)).toHaveLength(1);
});
