import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { accountIntentId } from '../../workflows/ids.js';
import { confirm, type Registered, register, signIn, verificationMail } from '../support/chaos/registration.js';
import { crashFolder } from '../support/crash/plan.js';
import { startWorkerProcess, type WorkerProcess } from '../support/crash/process.js';
import { rowsAsOwner } from '../support/database.js';
import { type Service, startService } from '../support/service.js';
import { until } from '../support/until.js';

let service: Service;
let folder: string;
let dying: WorkerProcess | undefined;
beforeAll(async () => {
  [service, folder] = await Promise.all([startService(), mkdtemp(join(tmpdir(), 'gatehouse-crash-'))]);
});
afterAll(async () => {
  dying?.kill();
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

const json = { 'content-type': 'application/json' };
const query = (text: string, ...values: unknown[]) => rowsAsOwner(service.ownerUrl, text, values);

/** Signs a person in, for whose address a second registration is parked. */
async function withParked() {
  const person = await register(service);
  expect((await confirm(service, person, await verificationMail(service, person))).status).toBe(201);
  const signedIn = (await (await signIn(service, person)).json()) as { data: { access_token: string } };
  const name = `Wish ${Date.now()}`;
  const wish = { ...person, first_name: 'Ana', last_name: 'Kovač', account_name: name, application_name: 'Shop' };
  const again = { method: 'POST', headers: json, body: JSON.stringify(wish) };
  expect((await fetch(`${service.baseUrl}/v1/auth/register`, again)).status).toBe(201);
  const intent = 'select i.id from account_intents i join users u on u.id = i.user_id where u.email = $1';
  const id = (await query(intent, person.email))[0]?.id as string;
  await until('its notice is sent', async () => {
    const [mail] = await query('select status from emails where subject_id = $1', id);
    return mail?.status === 'sent';
  });
  return { person, id, name, authorization: `Bearer ${signedIn.data.access_token}` };
}

const resume = (authorization: string, key?: string) =>
  fetch(`${service.baseUrl}/v1/auth/accounts/resume`, {
    method: 'POST',
    headers: { authorization, ...(key && { 'idempotency-key': key }) },
  });
const accountsOf = async ({ email }: Registered) =>
  (
    await query(
      `select a.name from accounts a join memberships m on m.account_id = a.id join users u on u.id = m.user_id
       where u.email = $1 order by a.created_at`,
      email,
    )
  ).map(({ name }) => name);

/** Replaces the service's worker by one that dies once it has claimed the intent. */
async function takeOverAndDie(intentId: string) {
  await service.worker.kill('SIGKILL');
  crashFolder(folder).write({ [accountIntentId(intentId)]: ['claimIntent'] });
  const worker = startWorkerProcess('test/support/crash/worker.js', {
    DATABASE_URL: service.databaseUrl,
    TEMPORAL_ADDRESS: service.temporalAddress,
    MASTER_KEYS: service.masterKeys,
    SMTP_URL: 'smtp://127.0.0.1:9', // nothing listens there, and nothing is to be sent
    BASE_URL: service.baseUrl,
    GATEHOUSE_CRASH_FOLDER: folder,
  });
  dying = worker;
  await until('it works', () => worker.output().includes('"working"'));
  return worker;
}

test('after a worker is killed between claim and provisioning, the next one creates the Account once, for the claiming request', async () => {
  const { person, id, name, authorization } = await withParked();
  const before = await accountsOf(person);
  const worker = await takeOverAndDie(id);

  const asked = resume(authorization, 'the-same');
  expect(await worker.exited).toBe('SIGKILL');
  expect(crashFolder(folder).deaths()).toMatchObject([{ activity: 'claimIntent' }]);
  expect(await query('select status from account_intents where id = $1', id)).toEqual([{ status: 'claimed' }]);
  expect(await accountsOf(person)).toEqual(before);
  expect((await resume(authorization)).status).toBe(404); // it is claimed

  await service.worker.start();
  const first = await asked; // the Account, unless the machine was too slow for a caller who waits ten seconds
  expect([201, 503]).toContain(first.status);
  const answer = await until('the retry is answered', async () => {
    const tried = await resume(authorization, 'the-same');
    return tried.status === 503 ? null : tried;
  });
  expect(answer.status).toBe(201);
  const body = await answer.json();
  expect(body).toMatchObject({ data: { account: { name } } });
  if (first.status === 201) expect(body).toEqual(await first.json());
  expect((await resume(authorization)).status).toBe(404);
  expect((await resume(authorization, 'another')).status).toBe(404);
  expect(await accountsOf(person)).toEqual([...before, name]);
});
