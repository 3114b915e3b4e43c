import {
  confirm,
  madeFor,
  mailStatus,
  nothing,
  one,
  register,
  signIn,
  verificationMail,
} from '../support/chaos/registration.js';
import { mailsTo } from '../support/inbox.js';
import { type Service, startService } from '../support/service.js';
import { until } from '../support/until.js';

let service: Service;
beforeAll(async () => {
  service = await startService({ ownPostgres: true, keepHistories: true });
});
afterAll(() => service?.stop());

async function confirmed(person: Parameters<typeof confirm>[1], mail: Parameters<typeof confirm>[2]) {
  const answer = await confirm(service, person, mail);
  const text = await answer.text();
  expect([answer.status, text]).toEqual([201, expect.stringContaining('access_token')]);
}

/** Compares subjects, so that a failure shows the other mails. */
async function expectOneMail({ email }: { email: string }) {
  expect((await mailsTo(service.inboxUrl, email)).map(({ subject }) => subject)).toEqual([expect.any(String)]);
}

const temporalIsAway = async () => {
  const answer = await fetch(`${service.baseUrl}/readyz`);
  const { status, checks } = (await answer.json()) as { status: string; checks: Record<string, string> };
  return answer.ok && status === 'degraded' && checks.temporal === 'unavailable' && checks.database === 'ok';
};
const isReady = async (url: string) => {
  const answer = await fetch(`${url}/readyz`);
  const { checks } = (await answer.json()) as { checks: Record<string, string> };
  return answer.ok && Object.values(checks).every((state) => state === 'ok');
};

test('a worker is killed right after the registration: another sends the one mail, and the link works', async () => {
  const person = await register(service);
  await service.worker.kill('SIGKILL');
  await service.worker.start();
  const mail = await verificationMail(service, person);
  await confirmed(person, mail);
  expect(await madeFor(service, person)).toEqual(one);
  // A worker killed between the mail server's answer and the row's update sends the same message again, and no other.
  const texts = (await mailsTo(service.inboxUrl, person.email)).map(({ text }) => text);
  expect(new Set(texts).size).toBe(1);
});

test('a worker is killed while the person reads the mail: another one confirms, once', async () => {
  const person = await register(service);
  const mail = await verificationMail(service, person);
  await until('the mail is noted as sent', async () => (await mailStatus(service, person)) === 'sent');
  await service.worker.kill('SIGKILL');
  expect(await madeFor(service, person)).toEqual(nothing);
  await service.worker.start();
  await confirmed(person, mail);
  expect(await madeFor(service, person)).toEqual(one);
  expect((await signIn(service, person)).status).toBe(200);
  await expectOneMail(person);
});

test('without a worker a confirmation gets 503 with Retry-After, and the same link works once a worker is back', async () => {
  const person = await register(service);
  const mail = await verificationMail(service, person);
  await service.worker.kill('SIGKILL');
  const refused = await confirm(service, person, mail);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)]);
  expect(await madeFor(service, person)).toEqual(nothing);
  await service.worker.start();
  // Temporal may give the first, unanswered attempt to the new worker: ours then meets it and is told to try again.
  const answer = await until('the confirmation is answered', async () => {
    const tried = await confirm(service, person, mail);
    return tried.status === 503 ? null : tried;
  });
  expect([answer.status, await answer.text()]).toEqual([201, expect.stringContaining('access_token')]);
  expect(await madeFor(service, person)).toEqual(one);
});

test('after everything was killed and started again, a link that was mailed before works', async () => {
  const person = await register(service);
  const mail = await verificationMail(service, person);
  await until('the mail is noted as sent', async () => (await mailStatus(service, person)) === 'sent');
  const { api, worker, temporal, postgres } = service;
  await Promise.all([api, worker, temporal, postgres].map((part) => part.kill('SIGKILL')));
  await postgres.start();
  await temporal.start(); // Temporal on PostgreSQL keeps its own rows in there
  await Promise.all([api.start(), worker.start()]);
  await confirmed(person, mail);
  expect(await madeFor(service, person)).toEqual(one);
  expect((await signIn(service, person)).status).toBe(200);
  await expectOneMail(person);
});

test('without Temporal a registration is accepted and its mail waits; a confirmation gets 503 and its link stays valid', async () => {
  const early = await register(service);
  const earlyMail = await verificationMail(service, early);
  await service.temporal.kill('SIGKILL');
  await until('the api says that Temporal is away', temporalIsAway);

  const late = await register(service); // 201
  const refused = await confirm(service, early, earlyMail);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)]);
  expect(((await refused.json()) as { error: unknown }).error).toMatchObject({ code: 'service.unavailable' });
  expect(await madeFor(service, early)).toEqual(nothing);
  expect(await mailStatus(service, late)).toBe('pending');
  expect(await mailsTo(service.inboxUrl, late.email)).toEqual([]);

  await service.temporal.start();
  const lateMail = await verificationMail(service, late);
  await until('api and worker are ready again', async () =>
    (await Promise.all([isReady(service.baseUrl), isReady(service.worker.healthUrl)])).every(Boolean),
  );
  await confirmed(early, earlyMail);
  await confirmed(late, lateMail);
  for (const person of [early, late]) {
    expect(await madeFor(service, person)).toEqual(one);
    await expectOneMail(person);
  }
});

test('without the mail server a registration is accepted, and its pending mail is sent once afterwards', async () => {
  await service.inbox.kill('SIGKILL');
  const failedBefore = failedAttempts();
  const person = await register(service); // 201
  await until('the worker has tried to send it', () => failedAttempts() > failedBefore);
  expect(await mailStatus(service, person)).toBe('pending');
  await service.inbox.start();
  const mail = await verificationMail(service, person);
  await until('the mail is noted as sent', async () => (await mailStatus(service, person)) === 'sent');
  await expectOneMail(person);
  await confirmed(person, mail);
});

const failedAttempts = () => service.worker.lines.filter((line) => line.includes('activity attempt failed')).length;
