import { randomUUID } from 'node:crypto';
import { DomainError } from '../../src/domain/errors.js';
import { startAllLater, startLater } from '../../src/domain/outbox.js';
import { freePort } from '../../src/platform/embedded/ports.js';
import { startOutboxRelay } from '../../src/temporal/outbox-relay.js';
import { createProcesses, type Processes } from '../../src/temporal/processes.js';
import { newDatabase, rowsAsOwner, type TestDatabase } from '../support/database.js';
import { patience } from '../support/patience.js';
import { namespace, startTestTemporal } from '../support/temporal.js';
import { until } from '../support/until.js';

let database: TestDatabase;
beforeEach(async () => {
  database = await newDatabase();
});
afterEach(() => database.close());

const log = { warn: () => {}, info: () => {} };
const outbox = () => rowsAsOwner(database.ownerUrl, 'select process, attempts, last_error from outbox');
const relayTo = (processes: Pick<Processes, 'start'>, pollMs = 12 * patience) =>
  startOutboxRelay({ db: database.db, databaseUrl: database.url, processes, log, pollMs });
const ask = (emailId: string = randomUUID()) =>
  database.db.transaction('system', (tx) => startLater(tx, 'emailDelivery', { emailId })).then(() => emailId);

const empty = async () => (await outbox()).length === 0;

test('without Temporal changes are accepted; when it is back, each requested workflow runs once', async () => {
  const port = await freePort(17_233);
  const processes = createProcesses({ address: `127.0.0.1:${port}`, namespace, apiKey: null });
  const relay = relayTo(processes, 300);
  const ids = await Promise.all([ask(), ask(), ask()]);
  await until('each has failed', async () =>
    (await outbox()).every((message) => message.last_error === 'Temporal does not answer: UNAVAILABLE'),
  );
  expect(await outbox()).toHaveLength(3);

  const temporal = await startTestTemporal({ port });
  try {
    await until('the outbox is empty', empty);
    for (const id of ids) {
      const description = await temporal.client.workflow.getHandle(`email/${id}`).describe();
      expect(description).toMatchObject({ type: 'emailDelivery', taskQueue: 'email', status: { name: 'RUNNING' } });
      expect(await description.staticSummary()).toMatch(/email/);
    }
  } finally {
    await relay.stop();
    await processes.close();
    await temporal.stop();
  }
});

test('a message is processed at once, by its notification', async () => {
  const started: unknown[] = [];
  const relay = relayTo({ start: async (_name, input) => started.push(input) > 0 });
  await new Promise((resolve) => setTimeout(resolve, 300)); // the relay has looked, and sleeps for an hour
  const emailId = await ask();
  await until('it is started', () => started.length === 1);
  expect(started).toEqual([{ emailId }]);
  await until('the outbox is empty', empty);
  await relay.stop();
});

test('a message that cannot be started waits by itself and delays no other', async () => {
  const started: string[] = [];
  const relay = relayTo(
    {
      async start(_name, input) {
        const { emailId } = input as { emailId: string };
        if (emailId === 'poison') throw new TypeError(`secret ana@example.com`);
        started.push(emailId);
        return true;
      },
    },
    100,
  );
  await ask('poison');
  await rowsAsOwner(
    database.ownerUrl,
    `insert into outbox (id, process, input, created_at, due_at, attempts) values (gen_random_uuid(), 'ofANewerVersion', '{}', now(), now(), 0)`,
  );
  const good = await Promise.all([ask(), ask()]);
  await until('two are started', async () => started.length === 2 && (await outbox()).length === 2);
  expect(started.sort()).toEqual(good.sort());
  expect((await outbox()).map(({ last_error }) => last_error).sort()).toEqual(['TypeError', 'unknown process']);
  await relay.stop();
});

test('a message that Temporal cannot accept now delays no others', async () => {
  const started: string[] = [];
  let tried = 0;
  let release = () => {};
  const answered = new Promise<void>((resolve) => {
    release = resolve;
  });
  const lost = Array.from({ length: 30 }, (_, i) => `lost ${i}`);
  for (const emailId of lost) await ask(emailId);
  const good = await Promise.all(Array.from({ length: 45 }, () => ask()));
  const relay = relayTo({
    async start(_name, input) {
      const { emailId } = input as { emailId: string };
      if (!emailId.startsWith('lost')) return started.push(emailId) > 0;
      tried++;
      await answered; // for seconds, as the client retries while a part of Temporal is away
      throw new DomainError('service.unavailable');
    },
  });
  await until('all others are started', () => started.length === good.length);
  expect(started.sort()).toEqual(good.sort());
  expect(tried).toBe(lost.length);
  release();
  await until('each of them waits', async () =>
    (await outbox()).every(({ last_error }) => String(last_error).startsWith('Temporal does not answer')),
  );
  expect(await outbox()).toHaveLength(lost.length);
  await relay.stop();
});

test('a start that failed while Temporal was away is retried soon once it is back', async () => {
  const started: string[] = [];
  const held: (() => void)[] = [];
  let isBack = false;
  const relay = relayTo(
    {
      async start(_name, input) {
        const { emailId } = input as { emailId: string };
        if (isBack) return started.push(emailId) > 0;
        if (emailId.startsWith('slow')) await new Promise<void>((resolve) => held.push(resolve));
        throw new DomainError('service.unavailable');
      },
    },
    100,
  );
  for (const emailId of ['slow', 'quick']) await ask(emailId);
  await until('both are on their way', () => held.length === 1);
  await until('it is known to be away', async () => (await outbox()).some(({ last_error }) => last_error !== null));
  // As after a minute of attempts: neither error is caused by the message.
  await rowsAsOwner(database.ownerUrl, 'update outbox set attempts = 12');
  isBack = true;
  await until('the quick one is started', () => started.length === 1);
  for (const resolve of held) resolve();
  const waiting = () =>
    rowsAsOwner(database.ownerUrl, 'select attempts, due_at - now() < $$10 s$$ as soon from outbox');
  await until('the other has failed', async () => (await outbox())[0]?.last_error === 'Temporal does not answer');
  expect(await waiting()).toEqual([{ attempts: 0, soon: true }]);
  await until('it is started, too', () => started.length === 2);
  await relay.stop();
});

test('several relays share the work and start each workflow once', async () => {
  const started: string[] = [];
  const processes: Pick<Processes, 'start'> = {
    async start(_name, input) {
      started.push((input as { emailId: string }).emailId);
      return true;
    },
  };
  const relays = [relayTo(processes, 50), relayTo(processes, 50), relayTo(processes, 50)];
  const ids = await Promise.all(Array.from({ length: 60 }, () => ask()));
  await until('the outbox is empty', empty);
  expect(started.sort()).toEqual(ids.sort());
  await Promise.all(relays.map((relay) => relay.stop()));
});

test('a message for which a caller waits is not behind all earlier ones', async () => {
  await database.db.transaction('system', (tx) =>
    startAllLater(
      tx,
      'emailDelivery',
      Array.from({ length: 200 }, () => ({ emailId: randomUUID() })),
    ),
  );
  const awaited = randomUUID();
  await database.db.transaction('system', (tx) =>
    startLater(tx, 'emailDelivery', { emailId: awaited, isAwaited: true }),
  );
  const started: string[] = [];
  const relay = relayTo({
    async start(_name, input) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      return started.push((input as { emailId: string }).emailId) > 0;
    },
  });
  await until('all are started', () => started.length === 201);
  expect(started.indexOf(awaited)).toBeLessThan(100);
  await relay.stop();
});

test('the relay receives notifications again after its connection was cut', async () => {
  const started: unknown[] = [];
  const relay = relayTo({ start: async () => started.push(1) > 0 });
  await ask();
  await until('the outbox is empty', empty);
  await rowsAsOwner(
    database.ownerUrl,
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
  );
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  await ask().catch(() => ask()); // the pool may still hold a broken connection
  await until('the outbox is empty', empty);
  await relay.stop();
});

test('a change that is rolled back starts nothing', async () => {
  const work = database.db.transaction('system', async (tx) => {
    await startLater(tx, 'emailDelivery', { emailId: randomUUID() });
    throw new Error('no');
  });
  await expect(work).rejects.toThrow('no');
  expect(await outbox()).toEqual([]);
});
