import { once } from 'node:events';
import { Agent } from 'node:http';
import { connect } from 'node:net';
import { signInAdmin } from '../support/chaos/client.js';
import { call, statusOf } from '../support/chaos/load.js';
import { livingIn } from '../support/chaos/processes.js';
import { mailStatus, register } from '../support/chaos/registration.js';
import { startSlowSmtp } from '../support/chaos/smtp.js';
import type { Part } from '../support/parts.js';
import { type Seed, seed } from '../support/seed.js';
import { type Service, startService } from '../support/service.js';
import { until } from '../support/until.js';

let service: Service;
let data: Seed;
let smtp: Awaited<ReturnType<typeof startSlowSmtp>>;
beforeAll(async () => {
  smtp = await startSlowSmtp({ acceptsAfterMs: 1_500 });
  service = await startService({ env: { SMTP_URL: smtp.url, SHUTDOWN_DELAY: '1s' } });
  data = await seed(service.databaseUrl);
});
afterAll(async () => {
  await service?.stop();
  await smtp?.stop();
});

/**
 * Asks a process to end, and returns how it ended.
 * @param onceAway asks again after it has begun to end, which this address shows by answering no more successes
 */
async function ended(part: Part, { onceAway = '' } = {}) {
  const { pid } = part;
  const ending = part.kill('SIGTERM');
  if (onceAway) {
    await until('it has begun to end', async () => statusOf(await call(onceAway)) !== 200, { everyMs: 5 });
    try {
      process.kill(pid, 'SIGTERM');
    } catch {
      // it has ended already
    }
  }
  const exit = await ending;
  return { code: exit?.code, signal: exit?.signal, left: livingIn(pid) };
}
/** Within its grace: a process that is still there afterwards exits with another code. */
const cleanly = { code: 0, signal: null, left: [] };

/** Starts many sign-ins, each hashing for a while; resolves when the api has accepted all and answered few. */
async function startSignIns(count: number, agent?: Agent) {
  let sent = 0;
  const answers = Promise.all(
    Array.from({ length: count }, () =>
      signInAdmin(service, data, agent, () => {
        sent += 1;
      }),
    ),
  );
  await until('every request was sent', () => sent === count);
  // Connections are accepted in order: after this answer, all earlier ones have been.
  expect(statusOf(await call(`${service.baseUrl}/healthz`))).toBe(200);
  return async () => (await answers).map(statusOf);
}
const allOk = (count: number) => Array.from({ length: count }, () => 200);

describe('an api that is asked to end while it answers', () => {
  afterEach(() => service.api.start());

  test('answers every request that it accepted, and exits cleanly', async () => {
    const answers = await startSignIns(10);
    expect(await ended(service.api)).toEqual(cleanly);
    expect(await answers()).toEqual(allOk(10));
  });

  test('reports it first, and answers later callers until load balancers have noticed, on no connection twice', async () => {
    const ready = () => call(`${service.baseUrl}/readyz`);
    const ending = ended(service.api);
    await until('it says that it is not ready', async () => statusOf(await ready()) === 503, { everyMs: 5 });
    expect(await ready()).toMatchObject({
      body: expect.stringContaining('"stopping"'),
      headers: { connection: 'close' },
    });
    expect(statusOf(await signInAdmin(service, data))).toBe(200);
    expect(await ending).toEqual(cleanly);
  });

  test('does not wait for idle connections that could carry another request', async () => {
    const agent = new Agent({ keepAlive: true });
    const answers = await startSignIns(10, agent);
    expect(await ended(service.api)).toEqual(cleanly);
    expect(await answers()).toEqual(allOk(10));
    agent.destroy();
  });

  test('does not wait for clients that have sent nothing yet, or half a request', async () => {
    const { port } = new URL(service.baseUrl);
    const lazy = ['', 'POST /v1/auth/login HTTP/1.1\r\nHost: x\r\nContent-Le'].map((text) => {
      const socket = connect(Number(port), 'localhost');
      socket.on('error', () => {});
      socket.write(text);
      return socket;
    });
    await Promise.all(lazy.map((socket) => once(socket, 'connect')));
    expect(statusOf(await call(`${service.baseUrl}/healthz`))).toBe(200);
    expect(await ended(service.api)).toEqual(cleanly);
    for (const socket of lazy) socket.destroy();
  });

  test('answers them even if it is asked twice, as npm does at Ctrl-C', async () => {
    const answers = await startSignIns(10);
    expect(await ended(service.api, { onceAway: `${service.baseUrl}/healthz` })).toEqual(cleanly);
    expect(await answers()).toEqual(allOk(10));
  });
});

describe('a worker that is asked to end', () => {
  test.each([
    ['once', false],
    ['twice', true],
  ])('while it sends a mail, %s: it finishes and records the mail, which is sent once', async (_, again) => {
    const before = { ...smtp.counts };
    const person = await register(service);
    await until('the mail is on its way', () => smtp.counts.begun > before.begun);
    const onceAway = again ? `${service.worker.healthUrl}/readyz` : '';
    expect(await ended(service.worker, { onceAway })).toEqual(cleanly);
    expect(await mailStatus(service, person)).toBe('sent');
    await service.worker.start();
    const later = await register(service); // its mail would come after a second one for the first
    await until('the next mail is sent', async () => (await mailStatus(service, later)) === 'sent');
    expect(smtp.counts.accepted - before.accepted).toBe(2);
  });

  test('ends in time while Temporal does not answer', async () => {
    await service.temporal.kill('SIGSTOP');
    try {
      const { code, ...rest } = await ended(service.worker);
      expect(rest).toEqual({ signal: null, left: [] });
      expect([0, 1]).toContain(code); // 1: it aborted what waited for Temporal
    } finally {
      await service.temporal.kill('SIGCONT');
    }
    await service.worker.start();
  });
});
