import { randomUUID } from 'node:crypto';
import { createMfaGraces, type MfaGraces } from '../../../src/domain/mfa/grace/grace.js';
import { mfaMails } from '../../../src/domain/mfa/mails.js';
import { days, hours } from '../../../src/platform/clock.js';
import type { EnvironmentScope } from '../../../src/platform/scope.js';
import { baseUrl, newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { rowsAsOwner } from '../../support/database.js';
import { graceChanges } from '../../support/graces.js';
import { counted, interleaved } from '../../support/interleaving.js';
import { newOrganization, setPolicy } from '../../support/organizations.js';
import { rowsOf } from '../../support/rows.js';

let api: TestApi;
let graces: MfaGraces;
let changes: ReturnType<typeof graceChanges>;
beforeAll(async () => {
  api = await startApi();
  const world = { db: api.database.db, now: () => api.clock.now };
  graces = createMfaGraces({ ...world, reminders: [days(3), days(1)] });
  changes = graceChanges(world);
});
afterAll(() => api.stop());

/** Creates an Account whose Environments require MFA. */
async function newRequiring(): Promise<TestAccount> {
  const account = await newAccount(api);
  await query(`update environment_settings set mfa_policy = 'required' where account_id = $1`, [
    account.scope.accountId,
  ]);
  return account;
}
const query = (text: string, values: unknown[] = []) => rowsAsOwner(api.database.ownerUrl, text, values);
async function newIdentity({ scope }: TestAccount, firstName: string | null = 'Ana') {
  const id = randomUUID();
  await query(
    `insert into identities (id, account_id, email, first_name, metadata, created_at, updated_at) values ($1, $2, $3, $4, '{}', now(), now())`,
    [id, scope.accountId, `ana.${id}@example.com`, firstName],
  );
  return id;
}
const rowOf = async (identityId: string, { environmentId }: EnvironmentScope) =>
  (
    await query('select * from mfa_graces where identity_id = $1 and environment_id = $2', [identityId, environmentId])
  )[0]!;
const messages = async (graceId: unknown) =>
  (
    await query(`select input ->> 'news' as news from outbox where input ->> 'graceId' = $1 order by created_at`, [
      graceId,
    ])
  ).map(({ news }) => news);
const mails = async (graceId: unknown) =>
  (await query('select cause from emails where subject_id = $1 order by created_at', [graceId])).map(
    ({ cause }) => cause,
  );
const events = async (identityId: string) =>
  (await query('select action from events where resource_id = $1 order by id', [identityId])).map(
    ({ action }) => action,
  );
const daysLeft = (expiresAt: Date | string) => (new Date(expiresAt).getTime() - api.clock.now.getTime()) / days(1);

test('a grace begins once; signing in again changes nothing, and the clock alone ends it', async () => {
  const { scope } = await newRequiring();
  const account = { scope } as TestAccount;
  const id = await newIdentity(account);
  expect(await graces.find(scope, id)).toBeNull();
  const first = await graces.start(scope, id, 7);
  expect(daysLeft(first.expiresAt)).toBe(7);
  api.clock.advance(days(6));
  expect(await graces.start(scope, id, 7)).toEqual({ ...first, over: false });
  const grace = await rowOf(id, scope);
  expect(await messages(grace.id)).toEqual(['reset']);
  api.clock.advance(days(2));
  expect(await graces.find(scope, id)).toEqual({ ...first, over: true }); // without any worker
  expect(await graces.start(scope, id, 7)).toEqual({ ...first, over: true });
  expect(await events(id)).toEqual(['auth.mfa_grace_started']);
});

test('a person who leaves the environment ends the grace, and its process is told', async () => {
  const account = await newRequiring();
  const headers = await account.apiKey();
  const email = `${randomUUID()}@example.com`;
  const made = await api.app.inject({ method: 'POST', url: '/api/v1/identities', headers, payload: { email } });
  const { id } = made.json().data;
  await graces.start(account.scope, id, 7);
  const { id: graceId } = await rowOf(id, account.scope);
  expect((await api.app.inject({ method: 'DELETE', url: `/api/v1/identities/${id}`, headers })).statusCode).toBe(204);
  expect(await rowOf(id, account.scope)).toBeUndefined();
  expect(await messages(graceId)).toEqual(['reset', 'policyChanged']);
});

test('many parallel first sign-ins begin one grace', async () => {
  const account = await newRequiring();
  const id = await newIdentity(account);
  const all = await Promise.all(Array.from({ length: 8 }, () => graces.start(account.scope, id, 7)));
  expect(new Set(all.map(({ expiresAt }) => expiresAt.getTime())).size).toBe(1);
  expect(await events(id)).toEqual(['auth.mfa_grace_started']);
});

test('zero days mean neither a grace nor a row', async () => {
  const account = await newRequiring();
  const id = await newIdentity(account);
  expect(await graces.start(account.scope, id, 0)).toMatchObject({ over: true });
  expect(await graces.find(account.scope, id)).toBeNull();
});

test('each reminder is sent once, the newest replaces missed ones, and then the grace is over', async () => {
  const account = await newRequiring();
  const id = await newIdentity(account);
  const { expiresAt } = await graces.start(account.scope, id, 7);
  const grace = await rowOf(id, account.scope);
  const graceId = grace.id as string;
  const at = (beforeMs: number) => new Date(expiresAt.getTime() - beforeMs).toISOString();
  expect(await graces.advance(graceId)).toEqual({ status: 'running', expiresAt: at(0), wakeAt: at(days(3)) });
  expect(await mails(graceId)).toEqual([]);
  api.clock.advance(days(6) + hours(1)); // the worker was away when the first one was due
  for (const _ of [1, 2]) expect(await graces.advance(graceId)).toMatchObject({ status: 'running', wakeAt: at(0) });
  expect(await mails(graceId)).toEqual([`mfa-grace/${graceId}/1/${expiresAt.getTime()}/${days(1)}`]);
  api.clock.advance(days(1));
  for (const _ of [1, 2]) expect(await graces.advance(graceId)).toMatchObject({ status: 'expired', wakeAt: null });
  expect(await events(id)).toEqual(['auth.mfa_grace_started', 'auth.mfa_grace_expired']);
});

test('a grace shorter than a reminder’s lead time has only the later reminder', async () => {
  const account = await newRequiring();
  const id = await newIdentity(account);
  const { expiresAt } = await graces.start(account.scope, id, 2);
  const look = await graces.advance((await rowOf(id, account.scope)).id as string);
  expect(look.wakeAt).toBe(new Date(expiresAt.getTime() - days(1)).toISOString());
});

test('the mail names the application, the end and where to sign in; nothing is sent after the end', async () => {
  const account = await newRequiring();
  const id = await newIdentity(account, null);
  const { accountId, environmentId } = account.scope;
  await rowsOf(
    api,
    'insert into environment_memberships (id, account_id, environment_id, identity_id, is_active, created_at) values ($1, $2, $3, $4, true, now())',
    [randomUUID(), accountId, environmentId, id],
  );
  await graces.start(account.scope, id, 7);
  const { id: graceId } = await rowOf(id, account.scope);
  const content = (locale: 'en' | 'de') =>
    api.database.db.transaction('system', (tx) =>
      mfaMails({ now: () => api.clock.now, baseUrl })['mfa-grace-reminder'](tx, graceId as string, locale),
    );
  expect(await content('en')).toEqual({
    to: `ana.${id}@example.com`,
    values: {
      first_name: `ana.${id}`,
      application_name: 'Portal',
      expires_at_text: expect.stringMatching(/UTC$/),
      link: baseUrl,
    },
  });
  const isActive = (value: boolean) =>
    rowsOf(api, 'update environment_memberships set is_active = $2 where identity_id = $1', [id, value]);
  await isActive(false);
  expect(await content('en')).toBeNull(); // a person who is kept out cannot enroll a factor
  await isActive(true);
  expect(await content('en')).not.toBeNull();
  await changes.enrolled(account.scope, id);
  expect(await content('de')).toBeNull();
});

test('a factor of one Environment is one in all; its removal gives nobody more time', async () => {
  const { scope, productionScope, ...rest } = await newRequiring();
  const id = await newIdentity({ ...rest, scope, productionScope });
  const first = await graces.start(scope, id, 7);
  await graces.start(productionScope, id, 3);
  await changes.enrolled(scope, id);
  expect([(await rowOf(id, scope)).status, (await rowOf(id, productionScope)).status]).toEqual([
    'enrolled',
    'enrolled',
  ]);
  expect(await messages((await rowOf(id, productionScope)).id)).toEqual(['reset', 'enrolled']);
  const enrolled = (await events(id)).filter((action) => action === 'auth.mfa_grace_enrolled');
  expect(enrolled).toHaveLength(2); // one in each Environment
  api.clock.advance(days(5));
  expect(await graces.start(scope, id, 7)).toEqual({ ...first, over: false }); // the grace goes on
  expect(await rowOf(id, scope)).toMatchObject({ status: 'running', round: 1 });
  expect(await graces.start(productionScope, id, 3)).toMatchObject({ over: true }); // its three days are over
});

test("an admin's reset begins the grace again here, and elsewhere with the next sign-in", async () => {
  const { scope, productionScope, ...rest } = await newRequiring();
  const id = await newIdentity({ ...rest, scope, productionScope });
  await graces.start(scope, id, 1);
  await graces.start(productionScope, id, 1);
  api.clock.advance(days(2));
  await graces.advance((await rowOf(id, scope)).id as string);
  await changes.reset(scope, id, 7);
  expect(daysLeft((await graces.find(scope, id))!.expiresAt)).toBe(7);
  expect(await rowOf(id, scope)).toMatchObject({ status: 'running', round: 2, ended_at: null, ended_reason: null });
  expect(await graces.find(productionScope, id)).toBeNull();
  expect(daysLeft((await graces.start(productionScope, id, 7)).expiresAt)).toBe(7);
  await changes.reset(scope, id, 0);
  expect(await graces.find(scope, id)).toBeNull();
});

test('a policy that no longer requires MFA ends all graces; another number of days moves the end, with a warning to everybody', async () => {
  const account = await newRequiring();
  const { scope } = account;
  const ids = await Promise.all([1, 2, 3].map(() => newIdentity(account)));
  for (const id of ids) await graces.start(scope, id, 7);
  const change = (required: boolean, to: number) =>
    api.database.db.transaction({ accountId: scope.accountId }, (tx) =>
      graces.policyChanged(tx, scope, { required, days: to }),
    );
  await change(true, 14);
  expect(daysLeft((await graces.find(scope, ids[0]!))!.expiresAt)).toBe(14);
  await change(true, 14); // unchanged
  expect(await messages((await rowOf(ids[0]!, scope)).id)).toEqual(['reset', 'policyChanged']);
  api.clock.advance(days(5));
  await change(true, 3);
  expect(daysLeft((await graces.find(scope, ids[1]!))!.expiresAt)).toBe(1);
  api.clock.advance(days(2));
  await change(true, 30); // too late: an ended grace stays ended
  expect(await graces.find(scope, ids[1]!)).toMatchObject({ over: true });
  await changes.reset(scope, ids[2]!, 7);
  await change(false, 7);
  expect(await graces.find(scope, ids[2]!)).toBeNull();
});

test('a grace that begins while the settings shorten the time is as short as they say', async () => {
  const account = await newRequiring();
  const { scope } = account;
  const owner = await account.as('owner');
  const set = async (mfa_grace_period_days: number) => {
    const url = account.portalPath('/settings');
    const { version } = (await api.app.inject({ url, headers: owner })).json().data;
    const headers = { ...owner, 'if-match': `"${version}"` };
    const answer = await api.app.inject({ method: 'PATCH', url, headers, payload: { mfa_grace_period_days } });
    expect(answer.statusCode).toBe(200);
  };
  const starting = (id: string) => () => graces.start(scope, id, 14); // as the sign-in has read it
  await set(14);
  const { statements } = await counted(starting(await newIdentity(account)));
  for (let at = 1; at <= statements; at++) {
    await set(14);
    const id = await newIdentity(account);
    await interleaved(api.database.ownerUrl, at, starting(id), () => set(1));
    expect([at, daysLeft((await graces.find(scope, id))!.expiresAt)]).toEqual([at, 1]);
  }
  await set(0);
  expect(await starting(await newIdentity(account))()).toMatchObject({ over: true });
});

test('a grace that an operator cancels keeps its deadline', async () => {
  const account = await newRequiring();
  const id = await newIdentity(account);
  await graces.start(account.scope, id, 2);
  const graceId = (await rowOf(id, account.scope)).id as string;
  for (const _ of [1, 2])
    expect(await graces.cancel(graceId, 'cancelled_by_operator')).toMatchObject({ status: 'cancelled' });
  expect(await events(id)).toEqual(['auth.mfa_grace_started', 'auth.mfa_grace_cancelled']);
  expect(await graces.find(account.scope, id)).toMatchObject({ over: false });
  api.clock.advance(days(3));
  expect(await graces.start(account.scope, id, 7)).toMatchObject({ over: true });
  expect(await mails(graceId)).toEqual([]);
});

test('another Account’s scope reaches no grace', async () => {
  const [mine, other] = [await newRequiring(), await newRequiring()];
  const id = await newIdentity(mine);
  await graces.start(mine.scope, id, 7);
  await changes.enrolled(other.scope, id);
  await changes.reset(other.scope, id, 0);
  expect(await graces.find(other.scope, id)).toBeNull();
  expect(await rowOf(id, mine.scope)).toMatchObject({ status: 'running', round: 1 });
});

test('a person whose organization requires MFA keeps the grace when the Environment does not; it ends when neither does', async () => {
  const account = await newRequiring();
  const { scope } = account;
  const [ana, ben] = [await newIdentity(account), await newIdentity(account)];
  for (const id of [ana, ben]) await graces.start(scope, id, 7);
  const world = { db: api.database.db, now: () => api.clock.now };
  const organization = await newOrganization(world, scope, { policy: { require_mfa: true }, members: [{ id: ana }] });
  await query(`update environment_settings set mfa_policy = 'off' where environment_id = $1`, [scope.environmentId]);
  await api.database.db.transaction({ accountId: scope.accountId }, (tx) =>
    graces.policyChanged(tx, scope, { required: false, days: 14 }),
  );
  expect(await graces.find(scope, ben)).toBeNull();
  expect(daysLeft((await graces.find(scope, ana))!.expiresAt)).toBe(14);
  const { id: graceId } = await rowOf(ana, scope);
  expect(await graces.advance(graceId as string)).toMatchObject({ status: 'running' });

  await setPolicy(world, organization, {});
  api.clock.advance(days(12)); // a reminder would be due
  for (const _ of [1, 2])
    expect(await graces.advance(graceId as string)).toMatchObject({ status: 'reset', wakeAt: null });
  expect(await mails(graceId)).toEqual([]);
  expect(await events(ana)).toEqual(['auth.mfa_grace_started', 'auth.mfa_grace_moved', 'auth.mfa_grace_reset']);
});
