import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { measureEvent } from '../../src/domain/events/metrics.js';
import { recordEvent } from '../../src/domain/events/record.js';
import { createHashing } from '../../src/domain/passwords/hashing.js';
import { countWaitingProcesses } from '../../src/domain/processes/counts.js';
import { kindNames } from '../../src/domain/processes/kind.js';
import { minutes } from '../../src/platform/clock.js';
import {
  eventsRecorded,
  mailDelay,
  mails,
  signIns,
  throttled,
  tokenGrants,
} from '../../src/platform/metrics/metrics.js';
import { projectRoot } from '../../src/platform/root.js';
import { createMetrics } from '../../src/worker/metrics.js';
import { newAccount, startApi, type TestApi } from '../support/api.js';
import { rowsAsOwner } from '../support/database.js';
import { growthOf, labelsAsked, labelsShown, namesShown } from '../support/metrics.js';
import { newProvider, type TestProvider } from '../support/oauth/provider.js';
import { codeFor } from '../support/oauth/sign-in.js';
import { redeem, refresh } from '../support/oauth/tokens.js';
import { registrationServices } from '../support/registration.js';
import { expressionsWatched, namesWatched } from '../support/watched.js';

let world: TestProvider;
let api: TestApi;
beforeAll(async () => {
  [world, api] = await Promise.all([newProvider({ rateLimits: true }), startApi()]);
});
afterAll(() => Promise.all([world.close(), api.stop()]));

const ofIdentity = (method: string, outcome: string) => ({ actor_type: 'identity', method, outcome });

test('a sign-in is counted by method and outcome, a grant by its type', async () => {
  const environment = await world.newEnvironment();
  const client = await environment.newClient({ rotateRefreshTokens: true });
  const { email } = await environment.newIdentity();
  const signIn = () => codeFor(world.browser(), client, email);
  const granted = { grant_type: 'authorization_code', outcome: 'issued' };
  let flow: Awaited<ReturnType<typeof signIn>>;
  expect(await growthOf(signIns, ofIdentity('password', 'succeeded'), async () => (flow = await signIn()))).toBe(1);
  expect(await growthOf(tokenGrants, granted, () => redeem(world.app, client, flow))).toBe(1);
  const again = { ...granted, outcome: 'invalid_grant' };
  const reuse = { action: 'session.code_reuse_detected' };
  expect(
    await growthOf(eventsRecorded, reuse, async () =>
      expect(await growthOf(tokenGrants, again, () => redeem(world.app, client, flow))).toBe(1),
    ),
  ).toBe(1);
  const refused = { grant_type: 'refresh_token', outcome: 'invalid_grant' };
  expect(await growthOf(tokenGrants, refused, () => refresh(world.app, client, 'none'))).toBe(1);
});

test('wrong guesses are counted, and by limit those that it refuses', async () => {
  const environment = await world.newEnvironment();
  const client = await environment.newClient();
  const { email } = await environment.newIdentity({ passwordHash: null });
  const guess = () => codeFor(world.browser(), client, email).catch(() => {});
  expect(await growthOf(signIns, ofIdentity('password', 'failed'), guess)).toBe(1);
  for (let i = 0; i < 9; i++) await guess();
  expect(await growthOf(throttled, { limit: 'sign-in-address' }, guess)).toBe(1);
});

test('an event is counted when it is committed, and only then', async () => {
  const { db } = world;
  const { environmentId: _, ...scope } = await world.newEnvironment();
  const record = (fails: boolean) =>
    db
      .transaction({ accountId: scope.accountId }, async (tx) => {
        await recordEvent(tx, 'account.updated', { ...scope, resourceId: scope.accountId, metadata: { changed: [] } });
        if (fails) throw new Error('not now');
      })
      .catch(() => {});
  expect(await growthOf(eventsRecorded, { action: 'account.updated' }, () => record(true))).toBe(0);
  expect(await growthOf(eventsRecorded, { action: 'account.updated' }, () => record(false))).toBe(1);
});

test('a person who signs up with a known address is no new identity', async () => {
  const environment = await world.newEnvironment({ allowSelfSignup: true });
  const client = await environment.newClient();
  const { email } = await environment.newIdentity();
  const signUp = async (address: string) => {
    const browser = world.browser();
    const page = await browser.get(`/oauth/register?${new URLSearchParams(parametersOf(client.clientId))}`);
    const fields = { email: address, password: 'a long and quiet evening', first_name: 'Ana', last_name: 'Arendt' };
    expect((await browser.submit(page, fields)).statusCode).toBe(200);
  };
  const created = { action: 'identity.created' };
  expect(await growthOf(eventsRecorded, created, () => signUp(email))).toBe(0);
  expect(await growthOf(eventsRecorded, created, () => signUp(`new-${uuidv7()}@example.com`))).toBe(1);
});

test('an unforeseen value creates no series of its own', async () => {
  const failed = () => measureEvent('auth.identity_sign_in_failed', { method: 'a word of whoever asks' });
  expect(await growthOf(signIns, ofIdentity('other', 'failed'), async () => failed())).toBe(1);
});

test('a mail is counted when it was sent, with the time it took', async () => {
  const services = registrationServices(api.database);
  const { id } = await services.park();
  await services.registrations.queueVerificationEmail(id);
  const [email] = await rowsAsOwner(api.database.ownerUrl, 'select id from emails where subject_id = $1', [id]);
  services.moveClock(minutes(1));
  const sumOf = async () =>
    (await mailDelay.get()).values.find(({ metricName }) => metricName?.endsWith('_sum'))?.value;
  const before = (await sumOf()) ?? 0;
  expect(await growthOf(mails, { status: 'sent' }, () => services.emails.send(email?.id as string))).toBe(1);
  expect(((await sumOf()) ?? 0) - before).toBeGreaterThanOrEqual(60);
});

test('waiting work is counted by kind and state over all accounts, and so is overdue work', async () => {
  const services = registrationServices(api.database);
  const waiting = async () => {
    const all = await countWaitingProcesses(api.database.db);
    return all.find(({ kind }) => kind === 'registration');
  };
  const before = await waiting();
  const { id } = await services.park();
  await services.park();
  expect(await waiting()).toMatchObject({ state: 'pending', count: before!.count + 2, overdue: 0 });
  await rowsAsOwner(
    api.database.ownerUrl,
    'update pending_registrations set expires_at = now() - $2::interval where id = $1',
    [id, '6 minutes'],
  );
  expect(await waiting()).toMatchObject({ count: before!.count + 2, overdue: 1 });
});

test('every state of every kind is shown, also with 0', async () => {
  const all = await countWaitingProcesses(api.database.db);
  expect(all.map(({ kind }) => kind)).toEqual(expect.arrayContaining([...kindNames, 'registration', 'email_change']));
  expect(all.filter(({ kind }) => kind === 'sso_domain').map(({ state }) => state)).toEqual([
    'pending',
    'verified',
    'lapsed',
  ]);
});

test('requests that wait for a password to be hashed are counted', async () => {
  const hashing = createHashing({ atOnce: 1 });
  const work = [hashing.hash('one'), hashing.hash('two'), hashing.hash('three')];
  expect(hashing.load()).toEqual({ running: 1, waiting: 2 });
  await Promise.all(work);
  expect(hashing.load()).toEqual({ running: 0, waiting: 0 });
});

test.each(['runbooks', 'operations'])('PostgreSQL understands every statement of docs/%s.md', async (page) => {
  const told = await readFile(join(projectRoot, `docs/${page}.md`), 'utf8');
  const statements = [...told.matchAll(/^ *```sql\n([\s\S]*?)^ *```/gm)].map(([, text]) => text as string);
  expect(statements.length).toBeGreaterThan(3);
  for (const text of statements) await rowsAsOwner(api.database.ownerUrl, `explain ${text}`);
});

describe('the metrics of a process', () => {
  let shown: string;
  beforeAll(async () => {
    const account = await newAccount(api);
    const headers = await account.as('owner');
    const answer = await api.app.inject({ url: account.portalPath('/identities'), headers });
    expect(answer.statusCode).toBe(200);
    const ofWorker = createMetrics(api.database.db);
    ofWorker.showWorking(() => true);
    ofWorker.showReadiness({ migrations: async () => 'outdated', workers: () => Promise.reject(new Error('gone')) });
    shown = `${await api.registry.metrics()}\n${await ofWorker.text()}`;
  });

  test('are all that dashboard and alerts ask for', async () => {
    const names = new Set(namesShown(shown));
    const asked = (await namesWatched()).filter((name) => !name.startsWith('temporal_')); // test/workflows/worker-process tests those
    expect(asked.length).toBeGreaterThan(20);
    expect(asked.filter((name) => !names.has(name))).toEqual([]);
  });

  test('say of each part that the process needs whether it is ready, as its /readyz does', async () => {
    const ready = [...shown.matchAll(/^gatehouse_readiness\{(.*)\} (\d)$/gm)].map(([, labels = '', value]) => {
      const label = (name: string) => new RegExp(`${name}="(\\w+)"`).exec(labels)?.[1];
      return `${label('process')} ${label('check')} ${value}`;
    });
    expect(ready.sort()).toEqual([
      'api database 1',
      'api migrations 1',
      'api temporal 0', // there is none in this test
      'worker migrations 0',
      'worker workers 0',
    ]);
  });

  test('are described, metric by metric, in the reference', async () => {
    const reference = await readFile(join(projectRoot, 'docs/metrics.md'), 'utf8');
    const own = [...new Set(namesShown(shown).filter((name) => name.startsWith('gatehouse_')))].sort();
    const told = [...reference.matchAll(/^\| `(gatehouse_\w+)`/gm)].map(([, name]) => name);
    expect([...told].sort()).toEqual(own);
  });

  test('have the labels of the reference, and dashboard and alerts use no others', async () => {
    const reference = await readFile(join(projectRoot, 'docs/metrics.md'), 'utf8');
    // In `kind`, `state`: `running`, `waiting`; `method`, a label's values follow its colon.
    const labelsIn = (cell: string) =>
      cell.split(';').flatMap((part) => [...(part.split(':')[0] as string).matchAll(/`(\w+)`/g)].map(([, one]) => one));
    const cells = [...reference.matchAll(/^\| `(gatehouse_\w+)` \| ([^|]+) \|/gm)];
    const told = new Map(cells.map(([, name = '', cell = '']) => [name, labelsIn(cell)]));
    const have = [...labelsShown(shown)].filter(([name]) => told.has(name));
    expect(have.length).toBeGreaterThan(15);
    for (const [name, labels] of have) expect([name, [...labels].sort()]).toEqual([name, told.get(name)?.sort()]);
    const asked = (await expressionsWatched()).flatMap(labelsAsked).filter(([name]) => told.has(name));
    expect(asked.length).toBeGreaterThan(30);
    expect(asked.filter(([name, label]) => !told.get(name)?.includes(label))).toEqual([]);
  });

  test('identify nobody: no id, no address, nothing that a caller chose', () => {
    expect(shown).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-/i);
    expect(shown).not.toMatch(/@\w/);
  });

  test('contain its version, its pools, and the age of waiting work', () => {
    expect(shown).toMatch(/^gatehouse_build_info\{version="\d+\.\d+\.\d+",process="api"\} 1$/m);
    expect(shown).toMatch(/^gatehouse_postgres_pool_limit\{pool="statements",process="worker"\} 5$/m);
    expect(shown).toMatch(/^gatehouse_outbox_oldest_seconds\{process="worker"\} \d/m);
    expect(shown).toMatch(/^gatehouse_processes\{kind="email",state="pending",process="worker"\} \d/m);
    expect(shown).toMatch(/^gatehouse_postgres_database_size_bytes\{process="worker"\} \d{6}/m);
  });
});

test('a worker without PostgreSQL still shows its metrics, with the last values', async () => {
  let isAway = false;
  const { db } = api.database;
  const metrics = createMetrics({
    pools: db.pools,
    waiting: db.waiting,
    statement: (statement, values) =>
      isAway ? Promise.reject(new Error('away')) : db.statement(statement as never, values),
  });
  const sizeOf = (text: string) => /^gatehouse_postgres_database_size_bytes.* (\d+)$/m.exec(text)?.[1];
  const before = sizeOf(await metrics.text());
  isAway = true;
  const text = await metrics.text();
  expect(sizeOf(text)).toBe(before);
  expect(text).toContain('nodejs_eventloop_lag_p99_seconds');
});

const parametersOf = (clientId: string) => ({
  client_id: clientId,
  redirect_uri: 'https://app.example.com/callback?tenant=1',
  response_type: 'code',
  scope: 'openid',
  code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  code_challenge_method: 'S256',
});
