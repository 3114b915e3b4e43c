import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { provisionAccount } from '../../src/domain/accounts/provisioning.js';
import { createDomainChecks } from '../../src/domain/sso-domains/checks.js';
import { createSsoDomains, type SsoDomainsDeps } from '../../src/domain/sso-domains/domains.js';
import { hours, seconds } from '../../src/platform/clock.js';
import { createDns } from '../../src/platform/dns.js';
import { createProcesses, type Processes } from '../../src/temporal/processes.js';
import { resetTo, stepsOf } from '../support/by-hand.js';
import { newDatabase, rowsAsOwner, type TestDatabase } from '../support/database.js';
import { startDnsServer, type TestDnsServer } from '../support/dns-server.js';
import { recordHistory } from '../support/histories.js';
import { patient } from '../support/patience.js';
import { historyText, namespace, startTestTemporal, type TestTemporal } from '../support/temporal.js';
import { reconciled, startTestWorker } from '../support/test-worker.js';
import { until } from '../support/until.js';

// The whole way: the row and its message, the relay, Temporal, the worker, and its name server.
let temporal: TestTemporal;
let database: TestDatabase;
let dns: TestDnsServer;
let processes: Processes;
let worker: ReturnType<typeof startTestWorker>;
let domains: ReturnType<typeof createSsoDomains>;
let rules: Omit<SsoDomainsDeps, 'processes'>;
const now = () => new Date();
const pauses = Array<number>(600).fill(seconds(1)); // longer than any test takes
const schedule = { pauses, recheckMs: seconds(2), lapseAfterMs: seconds(4) };
const startWorker = (recheckMs = schedule.recheckMs) =>
  startTestWorker(database, temporal, processes, { domains: { ...schedule, recheckMs, servers: [dns.server] } });

beforeAll(async () => {
  [temporal, database, dns] = await Promise.all([startTestTemporal(), newDatabase({ poolSize: 10 }), startDnsServer()]);
  processes = createProcesses({ address: temporal.address, namespace, apiKey: null }, patient);
  const { db } = database;
  const checks = createDomainChecks({ db, now, dns: createDns({ servers: [dns.server] }), schedule });
  rules = { db, now, schedule, checks };
  domains = createSsoDomains({ ...rules, processes });
  worker = startWorker();
});
afterAll(async () => {
  await worker.stop();
  await processes.close();
  await temporal.stop();
  await database.close();
  await dns.stop();
});

/** Claims a new domain, as the Portal does. */
async function newClaim(text = `d-${randomUUID()}.private.example`) {
  const userId = randomUUID();
  await rowsAsOwner(
    database.ownerUrl,
    `insert into users (id, email, first_name, last_name, created_at, updated_at) values ($1, $2, 'Rosalind', 'O', now(), now())`,
    [userId, `${userId}@example.com`],
  );
  const names = { accountName: `Northwind ${randomBytes(4).toString('hex')}`, applicationName: 'Shop' };
  const { account } = await database.db.transaction('system', (tx) =>
    provisionAccount(tx, { userId, ...names, now: now() }),
  );
  const of = { scope: { accountId: account.id }, organizationId: null } as const;
  const caller = { type: 'platform_admin', userId, sessionId: '', capabilities: [], roles: [] } as const;
  const claim = await domains.claim(of, caller, text);
  const handle = processes.client.workflow.getHandle(`sso-domain/${claim.id}`);
  const name = `_svc-verification.${claim.domain}`;
  return {
    claim,
    handle,
    name,
    of,
    userId,
    publish: () => dns.set(name, { txt: [`svc-domain-verification=${claim.token}`] }),
    claimAgain: () => domains.claim(of, caller, claim.domain),
    verify: () => domains.verify(of, claim.domain),
    row: async () => (await rowsAsOwner(database.ownerUrl, 'select * from sso_domains where id = $1', [claim.id]))[0],
    status: async () =>
      (await rowsAsOwner(database.ownerUrl, 'select status from sso_domains where id = $1', [claim.id]))[0]?.status,
    process: async () => (await handle.describe().catch(() => null))?.status.name ?? 'NOT_FOUND',
    actions: async () =>
      (
        await rowsAsOwner(
          database.ownerUrl,
          'select action from events where resource_id = $1 order by created_at, id',
          [claim.id],
        )
      ).map(({ action }) => String(action).replace('sso.domain.', '')),
  };
}
type Claimed = Awaited<ReturnType<typeof newClaim>>;
const becomes = ({ status }: Claimed, wanted: string) => until(`${wanted}`, async () => (await status()) === wanted);
const ends = ({ process }: Claimed, wanted: string) => until(`${wanted}`, async () => (await process()) === wanted);

// Each test has its own claim, and most tests wait: they wait together.
test.concurrent('a claim is checked until its record exists, and its history names neither domain, token nor person', async () => {
  const one = await newClaim();
  await until('it was asked for twice', async () => dns.asked(one.name) >= 2);
  expect(await one.handle.query('state')).toBe('pending');
  const { searchAttributes } = await one.handle.describe();
  expect(searchAttributes).toMatchObject({
    GatehouseState: ['pending'],
    GatehouseSubjectId: [one.claim.id],
    GatehouseAccountId: [one.claim.accountId],
  });
  one.publish();
  await becomes(one, 'verified');
  await until('its state', async () => (await one.handle.query('state')) === 'verified');
  expect(await one.actions()).toEqual(['claimed', 'verified']);
  const history = await historyText(one.handle);
  expect(history).toContain(one.claim.id);
  for (const secret of [one.claim.domain, 'private.example', one.claim.token, 'Rosalind'])
    expect(history).not.toContain(secret);
  const asked = dns.asked(one.name);
  await until('it is looked at again', async () => dns.asked(one.name) > asked);
  await domains.remove(one.of, one.claim.domain);
  await ends(one, 'COMPLETED');
  expect(await one.handle.result()).toBe('released');
  await recordHistory('sso-domain-verified-and-released', one.handle);
});

test.concurrent('a check on request returns the claim’s state at once', async () => {
  const one = await newClaim();
  one.publish();
  expect(await one.verify()).toMatchObject({ status: 'verified', failureReason: null });
  dns.remove(one.name);
  expect(await one.verify()).toMatchObject({ failureReason: 'record_not_found' });
  await becomes(one, 'lapsed');
  await until('its mail', async () => worker.sent.some(({ to }) => to === `${one.userId}@example.com`));
  one.publish();
  await becomes(one, 'verified');
  expect(await one.actions()).toEqual(['claimed', 'verified', 'lapsed', 'verified']);
  expect(worker.sent.filter(({ to }) => to === `${one.userId}@example.com`).map((mail) => mail.name)).toEqual([
    'sso-domain-lapsed',
  ]);
});

test.concurrent('a cancelled claim has failed in its row; a check on request or a new claim resumes it', async () => {
  const one = await newClaim();
  await until('it was asked for', async () => dns.asked(one.name) >= 1);
  await one.handle.cancel();
  await ends(one, 'CANCELLED');
  expect(await one.row()).toMatchObject({ status: 'failed', failure_reason: 'cancelled_by_operator' });
  expect(await one.handle.query('state')).toBe('failed');
  await recordHistory('sso-domain-cancelled', one.handle);
  expect(await one.verify()).toMatchObject({ status: 'failed', failureReason: 'record_not_found' });
  await ends(one, 'COMPLETED');
  await recordHistory('sso-domain-looked-for-once-more', one.handle);
  expect(await one.claimAgain()).toMatchObject({ status: 'pending', token: one.claim.token });
  await ends(one, 'RUNNING');
  one.publish();
  await becomes(one, 'verified');
  await one.handle.cancel();
  await ends(one, 'CANCELLED');
  expect(await one.row()).toMatchObject({ status: 'failed', failure_reason: 'cancelled_by_operator' });
  expect(await one.verify()).toMatchObject({ status: 'verified', failureReason: null });
  await ends(one, 'RUNNING'); // a process checks it again
  expect(await one.actions()).toEqual(['claimed', 'failed', 'claimed', 'verified', 'failed', 'verified']);
});

test.concurrent('a cancelled claim stays ended when its process is reset, although a check on request is repeated', async () => {
  const one = await newClaim();
  await ends(one, 'RUNNING');
  one.publish();
  expect(await one.verify()).toMatchObject({ status: 'verified' });
  await one.handle.cancel();
  await ends(one, 'CANCELLED');
  const { runId } = await one.handle.describe();
  const [first] = await stepsOf(one.handle);
  const again = await resetTo(temporal.client, one.handle.workflowId, runId, first!);
  await until('the new run has ended', async () => {
    const now = await one.handle.describe();
    return now.runId === again && now.status.name !== 'RUNNING';
  });
  expect(await one.row()).toMatchObject({ status: 'failed', failure_reason: 'cancelled_by_operator' });
  expect(await one.actions()).toEqual(['claimed', 'verified', 'failed']);
});

test.concurrent('a claim fails with its reason at the end of the schedule', async () => {
  const one = await newClaim();
  dns.set(one.name, { txt: ['something else'] });
  await until('it runs', async () => dns.asked(one.name) >= 1);
  await rowsAsOwner(database.ownerUrl, 'update sso_domains set fails_at = now() where id = $1', [one.claim.id]);
  await ends(one, 'COMPLETED');
  expect(await one.handle.result()).toBe('failed');
  expect(await one.row()).toMatchObject({ status: 'failed', failure_reason: 'record_mismatch', next_check_at: null });
  await recordHistory('sso-domain-failed', one.handle);
});

test.concurrent('a claim continues with a fresh history after some checks, and can be checked on request all the while', async () => {
  const one = await newClaim();
  const { firstExecutionRunId } = await until('it runs', async () =>
    one.handle.describe().then(
      ({ runId }) => ({ firstExecutionRunId: runId }),
      () => null,
    ),
  );
  for (let i = 0; i < 25; i++) await one.verify();
  const runId = await until('another run', async () => {
    const described = await one.handle.describe();
    return described.runId !== firstExecutionRunId && described.runId;
  });
  await recordHistory(
    'sso-domain-continued',
    processes.client.workflow.getHandle(one.handle.workflowId, firstExecutionRunId),
  );
  expect(runId).not.toBe(firstExecutionRunId);
  one.publish();
  await becomes(one, 'verified');
  expect(await one.actions()).toEqual(['claimed', 'verified']);
});

test.concurrent('a claim whose process was terminated by mistake is checked again', async () => {
  const one = await newClaim();
  await until('it was asked for', async () => dns.asked(one.name) >= 1);
  await one.handle.terminate('by mistake');
  one.publish();
  await until('it runs again', async () => {
    await reconciled(processes.client);
    await sleep(1500);
    return (await one.status()) === 'verified';
  });
  expect(await one.process()).toBe('RUNNING');
});

// These tests need the worker for themselves.
test.concurrent.each([
  ['cancelled', (claim: Claimed) => claim.handle.cancel()],
  ['terminated', (claim: Claimed) => claim.handle.terminate()],
])('%s during a check on request: the caller gets the claim’s state, or a “try again”', async (_how, stop) => {
  const claim = await newClaim();
  await ends(claim, 'RUNNING');
  dns.set(claim.name, { silent: true });
  const asked = claim.verify().then(
    ({ status }) => status,
    (error: { code?: string }) => error.code ?? error,
  );
  await until('it is being looked for', async () => {
    const { raw } = await claim.handle.describe();
    return raw.pendingActivities?.some(({ activityType }) => activityType?.name === 'checkDomain');
  });
  await stop(claim);
  dns.set(claim.name, { absent: 'nxdomain', ttl: 0 });
  expect(['pending', 'failed', 'service.unavailable']).toContain(await asked);
});

test('without a worker between two checks, the api answers a check on request, and the next worker goes on', async () => {
  const [one, other] = [await newClaim(), await newClaim()];
  for (const { name } of [one, other]) await until('it was asked for', async () => dns.asked(name) >= 1);
  await worker.stop();
  one.publish();
  const hurried = createProcesses({ address: temporal.address, namespace, apiKey: null }); // as an api is
  expect(await createSsoDomains({ ...rules, processes: hurried }).verify(one.of, one.claim.domain)).toMatchObject({
    status: 'verified',
  });
  await hurried.close();
  other.publish();
  worker = startWorker();
  await becomes(other, 'verified');
  for (const { actions, process } of [one, other])
    expect([await actions(), await process()]).toEqual([['claimed', 'verified'], 'RUNNING']);
  const asked = dns.asked(one.name);
  await until('it is looked at again', async () => dns.asked(one.name) > asked);
});

test('a check that was done when its worker died has its event once', async () => {
  const one = await newClaim();
  one.publish();
  await becomes(one, 'verified');
  await worker.stop();
  worker = startWorker(hours(24));
  const asked = dns.asked(one.name);
  await until('it is looked at', async () => dns.asked(one.name) > asked);
  expect(await one.actions()).toEqual(['claimed', 'verified']);
});
