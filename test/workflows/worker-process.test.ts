import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { registrationToken } from '../../src/domain/registration/link.js';
import { createRegistrations } from '../../src/domain/registration/registrations.js';
import { hours } from '../../src/platform/clock.js';
import { createSealing } from '../../src/platform/crypto/sealing.js';
import { freePair, freePort } from '../../src/platform/embedded/ports.js';
import { projectRoot } from '../../src/platform/root.js';
import { createProcesses, type Processes } from '../../src/temporal/processes.js';
import { asOwner, newDatabase, rowsAsOwner, type TestDatabase } from '../support/database.js';
import { endingWith } from '../support/ending-with.js';
import { untoldFields } from '../support/log-fields.js';
import { labelsAsked, labelsShown, namesShown } from '../support/metrics.js';
import { patience, patient } from '../support/patience.js';
import { aRequest } from '../support/registration.js';
import { startSmtpServer, whole } from '../support/smtp-server.js';
import { namespace, startTestTemporal, type TestTemporal } from '../support/temporal.js';
import { until } from '../support/until.js';
import { expressionsWatched, namesWatched } from '../support/watched.js';

const key = randomBytes(32);
const sealing = createSealing([{ id: 'k1', key }]);
let database: TestDatabase;
let temporal: TestTemporal | undefined;
let processes: Processes;
let settings: Record<string, string>;
let smtpPort: number;
let metricsPort: number;
const children: ChildProcess[] = [];

beforeAll(async () => {
  database = await newDatabase();
  const temporalPort = await freePort(18_233);
  smtpPort = await freePort(18_025);
  metricsPort = await freePair(18_464);
  processes = createProcesses({ address: `127.0.0.1:${temporalPort}`, namespace, apiKey: null }, patient);
  settings = {
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: `127.0.0.1:${temporalPort}`,
    SMTP_URL: `smtp://127.0.0.1:${smtpPort}`,
    MASTER_KEYS: `k1:${key.toString('base64')}`,
    METRICS_PORT: String(metricsPort),
    BASE_URL: 'http://localhost:3000',
    NODE_ENV: 'development',
  };
});
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await processes.close();
  await temporal?.stop();
  await database.close();
});

function startWorker(changes: Record<string, string> = {}) {
  const child = spawn(process.execPath, [...endingWith(process.pid), join(projectRoot, 'dist/src/worker.js')], {
    env: { PATH: process.env.PATH, ...settings, ...changes },
  });
  children.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data));
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  return { kill: (signal: NodeJS.Signals) => child.kill(signal), exited, output: () => output };
}

const readiness = async () => {
  const answer = await fetch(`http://localhost:${metricsPort + 1}/readyz`).catch(() => null);
  return answer ? ((await answer.json()) as { status: string; checks: Record<string, string> }) : null;
};
test('a worker without a schema does not start, and says so in one line', async () => {
  const url = new URL(database.ownerUrl);
  await asOwner((client) => client.query('create database empty_of_this_test'), database.ownerUrl);
  url.pathname = '/empty_of_this_test';
  const worker = startWorker({ DATABASE_URL: url.href });
  expect(await worker.exited).toBe(1);
  expect(worker.output()).toMatch(
    /^gatehouse worker: there is no schema in the database empty_of_this_test .*: run npm run migrate, .*\n$/,
  );
  await asOwner((client) => client.query('drop database empty_of_this_test with (force)'), database.ownerUrl);
});

test('a registration survives outages of Temporal and SMTP and a killed worker', async () => {
  const registrations = createRegistrations({
    db: database.db,
    sealing,
    now: () => new Date(),
    ttlMs: hours(1),
    reminderAfterMs: hours(1),
    intentTtlMs: hours(1),
  });
  const request = aRequest();
  await registrations.park(request); // without a worker or Temporal
  const [row] = await rowsAsOwner(database.ownerUrl, 'select id from pending_registrations where email = $1', [
    request.email,
  ]);
  const id = row?.id as string;

  const first = startWorker();
  // On a busy machine the first check of the database may take longer than a check is allowed.
  const away = await until('Temporal is seen to be away', async () => {
    const seen = await readiness();
    return seen?.checks.database === 'ok' && seen.checks.temporal === 'unavailable' && seen;
  });
  expect(away.status).toBe('unavailable');
  temporal = await startTestTemporal({ port: Number(settings.TEMPORAL_ADDRESS?.split(':')[1]) });
  await until('it is ready', async () => (await readiness())?.status === 'ok');

  const handle = temporal.client.workflow.getHandle(`registration/${id}`);
  await until('its process answers', () => handle.query<string>('state'));
  first.kill('SIGKILL');
  await first.exited;
  const mails: string[] = [];
  const smtp = await startSmtpServer({ port: smtpPort, onData: whole((raw) => mails.push(raw)) }); // only now does the mail server start
  const second = startWorker();
  const mail = await until('it is mailed', () => mails[0]);
  const { token } = registrationToken(sealing, { id });
  expect(mail.replace(/=\r?\n/g, '').replaceAll('=3D', '=')).toContain(token);

  const found = await registrations.find(token);
  const made = await processes.confirmRegistration(found!.process); // once: a lost answer is not repeated
  expect(await rowsAsOwner(database.ownerUrl, 'select id from users where email = $1', [request.email])).toEqual([
    { id: made.userId },
  ]);
  // One address serves the metrics of the service and of Temporal's SDK, except the SDK's failures until there are any.
  const shown = await fetch(`http://localhost:${metricsPort + 1}/metrics`).then((answer) => answer.text());
  const missing = (await namesWatched()).filter((name) => name.startsWith('temporal_') && !shown.includes(name));
  expect(missing.filter((name) => !/_fail(ed|ure)_total$/.test(name))).toEqual([]);
  const labels = labelsShown(shown);
  const gone = (await expressionsWatched()).flatMap(labelsAsked).filter(([name]) => /^temporal_/.test(name));
  expect(gone.filter(([name, label]) => labels.has(name) && !labels.get(name)?.has(label))).toEqual([]);
  expect(namesShown(shown)).toContain('gatehouse_activity_seconds');
  expect(shown).toMatch(
    /^temporal_worker_task_slots_available\{(?=.*task_queue="email").*worker_type="ActivityWorker"/m,
  );
  for (const secret of [request.email, id]) expect(shown).not.toContain(secret);

  const asked = Date.now();
  second.kill('SIGTERM');
  expect(await second.exited).toBe(0);
  expect(Date.now() - asked).toBeLessThan(patience);
  expect(await untoldFields(first.output() + second.output())).toEqual([]);
  for (const secret of [request.email, token, request.accountName, request.passwordHash]) {
    expect(first.output() + second.output()).not.toContain(secret);
  }
  await smtp.stop();
});
