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

/** The text says what else there was, when it is not exactly one mail. */
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

test('a worker that is killed right after the registration: another one sends the one mail, and the link works', async () => {
  const person = await register(service);
  await service.worker.kill('SIGKILL');
  await service.worker.start();
  const mail = await verificationMail(service, person);
  await confirmed(person, mail);
  expect(await madeFor(service, person)).toEqual(one);
  // Killed between the mail server's word and the row's, it comes again, as the same message: no other one is made.
  const texts = (await mailsTo(service.inboxUrl, person.email)).map(({ text }) => text);
  expect(new Set(texts).size).toBe(1);
});

test('a worker that is killed while the person reads the mail: another one confirms, once', async () => {
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

test('without any worker a confirmation is 503 with Retry-After, and the same link works once one is back', async () => {
  const person = await register(service);
  const mail = await verificationMail(service, person);
  await service.worker.kill('SIGKILL');
  const refused = await confirm(service, person, mail);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)]);
  expect(await madeFor(service, person)).toEqual(nothing);
  await service.worker.start();
  // Temporal may hand the first, unanswered try to the new worker: then ours meets it at work, and is told to come back.
  const answer = await until('the confirmation is answered', async () => {
    const tried = await confirm(service, person, mail);
    return tried.status === 503 ? null : tried;
  });
  expect([answer.status, await answer.text()]).toEqual([201, expect.stringContaining('access_token')]);
  expect(await madeFor(service, person)).toEqual(one);
});

test('everything is killed and started again: the link that was mailed before works', async () => {
  const person = await register(service);
  const mail = await verificationMail(service, person);
  await until('the mail is noted as sent', async () => (await mailStatus(service, person)) === 'sent');
  const { api, worker, temporal, postgres } = service;
  await Promise.all([api, worker, temporal, postgres].map((part) => part.kill('SIGKILL')));
  await postgres.start();
  await temporal.start(); // one that is no dev server keeps its own rows in there
  await Promise.all([api.start(), worker.start()]);
  await confirmed(person, mail);
  expect(await madeFor(service, person)).toEqual(one);
  expect((await signIn(service, person)).status).toBe(200);
  await expectOneMail(person);
});

test('with Temporal away a registration is accepted and its mail waits; a confirmation is 503 and its link stays good', async () => {
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

test('with the mail server away a registration is accepted, its mail is pending, and it comes once afterwards', async () => {
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
