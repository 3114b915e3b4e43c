import { randomBytes, randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import type { EntityManager } from 'typeorm';
import { createApplications } from '../../../src/domain/applications/applications.js';
import { createEmails } from '../../../src/domain/emails/emails.js';
import type { EmailSubjects } from '../../../src/domain/emails/subjects.js';
import { createEnvironmentRemovals } from '../../../src/domain/environment-removals/removals.js';
import { createMfaGraces } from '../../../src/domain/mfa/grace/grace.js';
import { mfaMails } from '../../../src/domain/mfa/mails.js';
import { days } from '../../../src/platform/clock.js';
import { dbWithin } from '../../../src/platform/database/db-within.js';
import { ScopedRunner } from '../../../src/platform/database/scoped-runner.js';
import { outcomeOf } from '../../support/answers.js';
import { baseUrl, newAccount, send, type TestAccount, type TestApi } from '../../support/api.js';
import { startApiBesideTemporal } from '../../support/api-beside-temporal.js';
import { type Call, callsOf } from '../../support/calls.js';
import { finishRemovals } from '../../support/finish-removals.js';
import { rowsOf } from '../../support/rows.js';
import { comingUpon } from '../../support/uncommitted.js';

/** What a deleted Environment leaves to its process, and what of it ends before that. */

let api: TestApi;
let account: TestAccount;
let owner: Call;
let application: string;
let environment: string;
beforeAll(async () => {
  api = await startApiBesideTemporal();
});
beforeEach(async () => {
  account = await newAccount(api);
  owner = callsOf(api, account.accountSlug, await account.as('owner'));
  application = `/applications/${account.applicationSlug}`;
  environment = `${application}/environments/development`;
});
afterAll(() => api.stop());

const query = <Row = Record<string, unknown>>(text: string, values: unknown[] = []) => rowsOf<Row>(api, text, values);
const outbox = (process: string) =>
  query<{ input: Record<string, string> }>('select input from outbox where process = $1 order by created_at, id', [
    process,
  ]);
const removalOf = async (environmentId: string) =>
  (
    await query<{ id: string; status: string }>('select * from environment_removals where environment_id = $1', [
      environmentId,
    ])
  )[0]!;
const deleted = async () => expect(outcomeOf(await owner('DELETE', `${environment}?confirm=development`))).toBe('204');

/** Creates people, each with two sessions, a grace, a role at a node and a membership of an organization. */
async function inhabit(count: number): Promise<string[]> {
  const { accountId, environmentId } = account.scope;
  const place = [accountId, environmentId];
  const ids = Array.from({ length: count }, () => randomUUID());
  const organization = await owner('POST', `${environment}/organizations`, { name: 'Acme' });
  const nodeId = organization.json().data.id;
  const role = await owner('POST', `${environment}/roles`, { name: 'Reader', permission_keys: ['identity.view'] });
  await query(
    `insert into identities (id, account_id, email, metadata, created_at, updated_at)
     select id, $1, id || '@people.example', '{}', now(), now() from unnest($2::uuid[]) id`,
    [accountId, ids],
  );
  await query(
    `insert into environment_memberships (id, account_id, environment_id, identity_id, is_active, created_at)
     select gen_random_uuid(), $1, $2, id, true, now() from unnest($3::uuid[]) id`,
    [...place, ids],
  );
  await query(
    `insert into sessions (id, account_id, environment_id, identity_id, browser_hash, authenticated_at, amr, acr, created_at, expires_at)
     select gen_random_uuid(), $1, $2, id, sha256((id::text || n::text || $4::text)::bytea), now(), '{pwd}', 'x', now(), now() + interval '1 day'
     from unnest($3::uuid[]) id, generate_series(1, 2) n`,
    [...place, ids, randomBytes(8).toString('hex')],
  );
  await query(
    `insert into mfa_graces (id, account_id, environment_id, identity_id, status, round, started_at, expires_at)
     select gen_random_uuid(), $1, $2, id, 'running', 1, now(), now() + interval '7 days' from unnest($3::uuid[]) id`,
    [...place, ids],
  );
  for (const id of ids.slice(0, 3)) {
    const assigned = { role_id: role.json().data.id, node_id: nodeId, effective_to: '2999-01-01T00:00:00.000Z' };
    expect(outcomeOf(await owner('POST', `${environment}/identities/${id}/role-assignments`, assigned))).toMatch(/^20/);
    const member = { identity_id: id, role_ids: [] };
    expect(outcomeOf(await owner('POST', `${environment}/organizations/${nodeId}/members`, member))).toMatch(/^20/);
  }
  return ids;
}

const countsIn = async (environmentId: string) =>
  (
    await query<Record<string, number>>(
      `select (select count(*)::int from environment_memberships where environment_id = $1) as people,
         (select count(*)::int from sessions where environment_id = $1) as sessions,
         (select count(*)::int from nodes where environment_id = $1) as nodes,
         (select count(*)::int from environments where id = $1) as environments`,
      [environmentId],
    )
  )[0];

test('a person who is left in nothing else is erased, however long the process takes; and is not in production any more', async () => {
  const people = account.portalPath('/identities').slice(`/portal/v1/accounts/${account.accountSlug}`.length);
  const inProduction = people.replace('development', 'production');
  const email = `${randomUUID()}@people.example`;
  const { id } = (await owner('POST', inProduction, { email })).json().data;
  expect(outcomeOf(await owner('POST', people, { email }))).toBe('201');
  const key = await account.apiKey();
  const url = `/api/v1/identities/${id}/password`;
  const set = () =>
    api.app.inject({ method: 'PUT', url, headers: key, payload: { password: 'lantern orchard seven' } });
  expect(outcomeOf(await set())).toBe('403 identity.in_production');
  expect(outcomeOf(await owner('DELETE', `${application}/environments/production?confirm=production`))).toBe('204');
  expect(outcomeOf(await set())).toMatch(/^20/);
  expect(outcomeOf(await owner('DELETE', `${people}/${id}`))).toBe('204');
  expect(await query('select status from erasures where identity_id = $1', [id])).toEqual([{ status: 'running' }]);
});

test('an environment is gone for everybody with the answer, whatever its process still has to delete', async () => {
  const key = await account.apiKey();
  const { environmentId, accountId } = account.scope;
  await inhabit(5);
  const invite = { email: 'ivy@people.example', first_name: 'Ivy' };
  expect(outcomeOf(await owner('POST', `${environment}/identity-invites`, invite))).toBe('201');
  await deleted();

  expect(await countsIn(environmentId)).toMatchObject({ people: 5, sessions: 10, environments: 1 });
  expect(outcomeOf(await owner('GET', `${environment}/identities`))).toBe('404 environment.not_found');
  expect((await owner('GET', `${application}/environments`)).json().items).toHaveLength(1);
  expect((await owner('GET', '/identity-invites')).json().items).toEqual([]);
  const { items } = (await owner('GET', '/processes')).json();
  expect(items).toMatchObject([
    { kind: 'environment_removal', subject_type: 'environment', subject_id: environmentId, state: 'running' },
  ]);
  // A key that was created during the deletion does not work, though its row exists.
  const { id: again } = await removalOf(environmentId);
  expect(again).toBeDefined();
  await query('update environments set account_id = $2, application_id = $3 where id = $1', [
    environmentId,
    accountId,
    account.scope.applicationId,
  ]);
  const late = await account.apiKey();
  await send(api.app, 200, { url: '/api/v1/identities', headers: late });
  await query('update environments set account_id = null, application_id = null where id = $1', [environmentId]);
  api.clock.advance(2000); // a process caches a key for a second
  await send(api.app, 401, { url: '/api/v1/identities', headers: late });
  await send(api.app, 401, { url: '/api/v1/identities', headers: key });

  // Its name is free, and a new Environment of that name is another one.
  const made = await owner('POST', `${application}/environments`, { name: 'Development', type: 'development' });
  expect(made.json().data).toMatchObject({ slug: 'development' });
  await finishRemovals(api, accountId);
  expect(outcomeOf(await owner('GET', `${environment}/identities`))).toBe('200');
});

test('an environment is deleted batch by batch, and its waiting processes are told', async () => {
  const { environmentId, accountId } = account.scope;
  const people = await inhabit(7);
  const elsewhere = `${application}/environments/production`;
  const stays = people[0] as string;
  const email = `${stays}@people.example`;
  expect(outcomeOf(await owner('POST', `${elsewhere}/identities`, { email }))).toBe('201');
  for (let i = 0; i < 6; i++) {
    const parent = (await owner('GET', `${environment}/nodes?take=100`)).json().items.at(i % 2).id;
    await owner('POST', `${environment}/nodes`, { name: `N${i}`, node_type: 'unit', parent_node_id: parent });
  }
  // A person with more sessions than fit in one step, and domain claims: one that is being checked, one that has
  // failed.
  await query(
    `insert into sessions (id, account_id, environment_id, identity_id, browser_hash, authenticated_at, amr, acr, created_at, expires_at)
     select gen_random_uuid(), $1, $2, $3::uuid, sha256(($3::uuid::text || n::text)::bytea), now(), '{pwd}', 'x', now(), now() + interval '1 day'
     from generate_series(3, 14) n`,
    [accountId, environmentId, people[1]],
  );
  // And somebody who has left the Environment, with the sessions that they had there.
  const gone = { email: `${randomUUID()}@people.example` };
  const former = (await owner('POST', `${elsewhere}/identities`, gone)).json().data.id;
  await query(
    `insert into sessions (id, account_id, environment_id, identity_id, browser_hash, authenticated_at, amr, acr, created_at, expires_at, revoked_at)
     select gen_random_uuid(), $1, $2, $3::uuid, sha256(($3::uuid::text || n::text)::bytea), now(), '{pwd}', 'x', now(), now() + interval '1 day', now()
     from generate_series(1, 4) n`,
    [accountId, environmentId, former],
  );
  const claims = await query<{ id: string; status: string }>(
    `insert into sso_domains (id, account_id, environment_id, organization_id, domain, token, status, claimed_by_type, claimed_by, created_at, started_at)
     select gen_random_uuid(), $1, $2, (select id from organizations where environment_id = $2), status || '.example', 'token', status,
       'api_key', gen_random_uuid(), now(), now() from unnest(array['pending', 'failed']) status returning id, status`,
    [accountId, environmentId],
  );
  await deleted();
  const removal = await removalOf(environmentId);
  expect((await outbox('environmentRemoval')).at(-1)).toEqual({
    input: { removalId: removal.id, accountId, environmentId },
  });

  const removals = createEnvironmentRemovals({ db: api.database.db, now: () => new Date(), batchSize: 3, stepMs: 0 });
  let steps = 0;
  expect(await removals.complete(removal.id)).toBe('more'); // people are still there
  while ((await removals.advance(removal.id)) === 'more') steps++;
  expect(steps).toBeGreaterThan(10);
  expect(await countsIn(environmentId)).toEqual({ people: 0, sessions: 0, nodes: 0, environments: 1 });
  expect(await removals.complete(removal.id)).toBe('done');
  expect(await countsIn(environmentId)).toMatchObject({ environments: 0 });
  expect(await removals.complete(removal.id)).toBe('ended');
  expect(await removals.cancel(removal.id, 'too late')).toBe('completed');
  expect(await removals.cancel(randomUUID(), 'of nothing')).toBe('completed');

  const left = await query<{ id: string }>('select id from identities where account_id = $1', [accountId]);
  expect(left.map(({ id }) => id).sort()).toEqual([stays, former].sort());
  const told = (await outbox('mfaGrace')).filter(({ input }) => input.environmentId === environmentId);
  expect(told.map(({ input }) => [input.identityId, input.news]).sort()).toEqual(
    people.map((id) => [id, 'policyChanged']).sort(),
  );
  const released = (await outbox('ssoDomainVerification')).filter(({ input }) => input.news === 'released');
  expect(released.map(({ input }) => input.claimId)).toEqual([claims.find(({ status }) => status === 'pending')?.id]);
  const windows = (await outbox('roleAssignmentWindow')).filter(({ input }) => input.news === 'changed');
  expect(windows.filter(({ input }) => people.includes(input.identityId as string))).toHaveLength(3);
  const events = `select metadata, actor_id from events where account_id = $1 and action = 'environment.erased'`;
  expect(await query(events, [accountId])).toEqual([{ metadata: { identities_deleted: 6 }, actor_id: account.userId }]);
});

/** Carries out a removal in small steps, and calls `onQuery` before each of its statements. Returns the number of steps. */
async function removeInSteps(id: string, onQuery: (text: string) => unknown): Promise<number> {
  const run = ScopedRunner.prototype.query;
  const spy = jest.spyOn(ScopedRunner.prototype, 'query').mockImplementation(async function (
    this: ScopedRunner,
    text,
    ...rest
  ) {
    await onQuery(text);
    return run.call(this, text, ...rest);
  });
  const removals = createEnvironmentRemovals({ db: api.database.db, now: () => new Date(), batchSize: 2, stepMs: 0 });
  let steps = 0;
  while ((await removals.advance(id)) === 'more') steps++;
  spy.mockRestore();
  return steps;
}

test('everybody of the account is looked at once, and not again at each step of a removal', async () => {
  await inhabit(2);
  for (let i = 0; i < 6; i++) await owner('POST', `${environment}/nodes`, { name: `N${i}`, node_type: 'unit' });
  await deleted();
  const { id } = await removalOf(account.scope.environmentId);
  let looks = 0;
  const steps = await removeInSteps(id, (text) => {
    if (text.includes('from identities i')) looks++;
  });
  expect(steps).toBeGreaterThan(5);
  expect(looks).toBe(1);
});

test('sessions of former members are deleted before the connection of an organization through which they began', async () => {
  const { accountId, environmentId } = account.scope;
  await inhabit(2);
  const [connection] = await query<{ id: string }>(
    `insert into sso_connections (id, account_id, environment_id, organization_id, scope, type, name, status, owned_by_organization,
       oidc_scopes, created_at, updated_at)
     select gen_random_uuid(), $1, $2, id, 'organization', 'oidc', 'Acme', 'configuring', true, '{}', now(), now()
     from organizations where environment_id = $2 returning id`,
    [accountId, environmentId],
  );
  const elsewhere = `${application}/environments/production/identities`;
  const former = (await owner('POST', elsewhere, { email: `${randomUUID()}@people.example` })).json().data.id;
  await query(
    `insert into sessions (id, account_id, environment_id, identity_id, browser_hash, authenticated_at, amr, acr, created_at, expires_at,
       revoked_at, sso_connection_id)
     select gen_random_uuid(), $1, $2, $3::uuid, sha256(($3::uuid::text || n::text)::bytea), now(), '{}', 'x', now(), now() + interval '1 day',
       now(), $4
     from generate_series(1, 5) n`,
    [accountId, environmentId, former, connection?.id],
  );
  await deleted();
  const { id } = await removalOf(environmentId);
  const through = 'select id from sessions where sso_connection_id = $1';
  const left: number[] = [];
  await removeInSteps(id, async (text) => {
    if (text.includes('delete from organizations ')) left.push((await query(through, [connection?.id])).length);
  });
  expect([left.length > 0, Math.max(...left)]).toEqual([true, 0]); // deleting a connection changes each of its sessions
  expect(await query('select id from identities where id = $1', [former])).toHaveLength(1);
});

test('an operator can halt a removal, which reopens nothing, and resume it', async () => {
  const { environmentId, accountId } = account.scope;
  await inhabit(4);
  await deleted();
  const { id } = await removalOf(environmentId);
  const cancelled = await owner('POST', `/processes/${id}/cancel`, { reason: 'the database is busy' });
  expect(cancelled.json().data).toMatchObject({ state: 'cancelled', subject_id: environmentId, verbs: ['retry'] });
  expect(await query('select rest from environment_removals where id = $1', [id])).toEqual([
    { rest: { identities: 4, nodes: 2 } },
  ]);
  await finishRemovals(api, accountId);
  const removals = createEnvironmentRemovals({ db: api.database.db, now: () => new Date() });
  expect(await removals.cancel(id, 'once more')).toBe('cancelled');
  await removals.resume({ accountId: randomUUID() }, id); // another Account cannot resume it
  expect(await removalOf(environmentId)).toMatchObject({ status: 'cancelled', ended_reason: 'cancelled_by_operator' });
  expect(await countsIn(environmentId)).toMatchObject({ people: 4, environments: 1 });
  expect(outcomeOf(await owner('GET', environment))).toBe('404 environment.not_found');

  const retried = await owner('POST', `/processes/${id}/retry`);
  expect(retried.json().data).toMatchObject({ state: 'running', waits_for: 'its_next_step' });
  await finishRemovals(api, accountId);
  expect(await countsIn(environmentId)).toMatchObject({ people: 0, environments: 0 });
  const shown = await owner('GET', `/processes/${id}`);
  expect(shown.json().data).toMatchObject({ state: 'completed', verbs: [] });
  const log = await owner('GET', `/audit-log?resource_id=${environmentId}`);
  expect(log.json().items.map(({ action }: { action: string }) => action)).toEqual([
    ...['environment.erased', 'environment.removal_cancelled', 'environment.deleted', 'environment.created'],
  ]);
});

test('an application is deleted with its last environment, whichever that is', async () => {
  const { accountId, applicationId } = account.scope;
  await owner('DELETE', `${environment}?confirm=development`);
  const first = await removalOf(account.scope.environmentId);
  await owner('POST', `/processes/${first.id}/cancel`, { reason: 'later' });
  expect(outcomeOf(await owner('DELETE', `${application}?confirm=${account.applicationSlug}`))).toBe('204');
  const there = async () => (await query('select from applications where id = $1', [applicationId])).length;
  await finishRemovals(api, accountId);
  expect(await there()).toBe(1); // the rest of the first one refers to it
  // Its slug is free meanwhile.
  const other = await owner('POST', '/applications', { name: 'Next', slug: account.applicationSlug });
  expect(outcomeOf(other)).toBe('201');
  await owner('POST', `/processes/${first.id}/retry`);
  await finishRemovals(api, accountId);
  expect(await there()).toBe(0);
  expect((await owner('GET', '/applications')).json().items).toMatchObject([{ id: other.json().data.id }]);
});

test('two removals that end at once leave no application behind', async () => {
  const { accountId, applicationId } = account.scope;
  expect(outcomeOf(await owner('DELETE', `${application}?confirm=${account.applicationSlug}`))).toBe('204');
  await Promise.all([1, 2, 3].map(() => finishRemovals(api, accountId, 5)));
  expect(await query('select from applications where id = $1', [applicationId])).toEqual([]);
});

describe('an application that is deleted while its last environment’s removal ends', () => {
  const there = () => query('select from applications where id = $1', [account.scope.applicationId]);
  const inTime = (tx: EntityManager) => ({ db: dbWithin(tx), now: () => new Date() });

  /** Lets an Account's Environments be removed except for one. @returns the removal of that one */
  async function lastOne(): Promise<string> {
    for (const slug of ['production', 'development'])
      expect(outcomeOf(await owner('DELETE', `${application}/environments/${slug}?confirm=${slug}`))).toBe('204');
    const [first, last] = await query<{ id: string }>(
      'select id from environment_removals where application_id = $1 order by id',
      [account.scope.applicationId],
    );
    const removals = createEnvironmentRemovals({ db: api.database.db, now: () => new Date() });
    for (const { id } of [first!, last!]) expect(await removals.advance(id)).toBe('done');
    expect(await removals.complete(first!.id)).toBe('done');
    return last!.id;
  }

  test('is deleted by its deletion, if the environment was first', async () => {
    const last = await lastOne();
    const removed = await comingUpon(
      api.database,
      (tx) => createEnvironmentRemovals(inTime(tx)).complete(last),
      () => owner('DELETE', `${application}?confirm=${account.applicationSlug}`),
    );
    expect(outcomeOf(removed)).toBe('204');
    expect(await there()).toEqual([]);
  });

  test('is deleted with the environment, if that was last', async () => {
    const last = await lastOne();
    const completed = await comingUpon(
      api.database,
      (tx) => createApplications(inTime(tx)).remove(account.scope, account.applicationSlug),
      () => createEnvironmentRemovals({ db: api.database.db, now: () => new Date() }).complete(last),
    );
    expect(completed).toBe('done');
    expect(await there()).toEqual([]);
  });
});

test('mails of an environment’s processes after its end are not sent, and are no outage', async () => {
  const { environmentId, accountId } = account.scope;
  const [who] = await inhabit(1);
  await deleted();
  const { db } = api.database;
  const [grace] = await query<{ id: string }>('select id from mfa_graces where identity_id = $1', [who]);
  await query(`update environment_settings set mfa_policy = 'required' where environment_id = $1`, [environmentId]);
  const soon = new Date(Date.now() + days(6.5));
  const graces = createMfaGraces({ db, now: () => soon, reminders: [days(1)] });
  await graces.advance(grace!.id);
  const mails = `select id, status, failure from emails where account_id = $1 and environment_id = $2`;
  const [mail] = await query<{ id: string }>(mails, [accountId, environmentId]);
  expect(mail).toMatchObject({ status: 'pending' });
  const subjects = mfaMails({ now: () => soon, baseUrl }) as unknown as EmailSubjects;
  const mailer = { send: async () => ({ messageId: '' }) };
  const emails = createEmails({ db, mailer, subjects, now: () => soon });
  const ended = { status: 'cancelled', failure: 'the environment was deleted' };
  expect(await emails.send(mail!.id)).toBe('cancelled');
  expect(await query(mails, [accountId, environmentId])).toEqual([{ id: mail!.id, ...ended }]);
  // Nor when nothing is left of it.
  await query(`update emails set status = 'pending', failure = null, ended_at = null where id = $1`, [mail!.id]);
  await finishRemovals(api, accountId);
  expect(await emails.send(mail!.id)).toBe('cancelled');
  expect(await query(mails, [accountId, environmentId])).toEqual([{ id: mail!.id, ...ended }]);
  expect(await query(`select from events where account_id = $1 and action = 'email.failed'`, [accountId])).toEqual([]);
});

/** Tables with few rows for an Environment, or rows that are deleted before: they are deleted with its own row. */
const few = [
  ...['api_keys', 'counter_stripes', 'counters', 'daily_sign_ups', 'environment_settings', 'node_type_schemas'],
  ...['scim_group_mappings', 'scim_groups', 'scim_tokens'],
  ...[
    'oauth_clients',
    'permissions',
    'removed_clients',
    'roles',
    'sso_connections',
    'sso_recovery_codes',
    'user_application_states',
    'waymarked_environments',
    'webhook_stops',
    'webhooks',
  ],
];
/** Tables whose rows are deleted with people, sessions, or the rows that they belong to. */
const withOthers = [
  ...['scim_assignments', 'scim_group_members', 'scim_users'],
  ...[
    'authorization_codes',
    'consents',
    'environment_memberships',
    'grants',
    'mfa_graces',
    'pending_sign_ins',
    'sessions',
  ],
  ...['role_assignment_windows', 'trusted_devices'],
];
const inBatches = [
  ...['emailed_codes', 'identity_invites', 'identity_links', 'nodes', 'organization_members', 'organizations'],
  ...['role_assignments', 'role_permissions', 'sso_domains', 'sso_requests', 'sso_tests', 'webhook_deliveries'],
];

/** Tables that outlive the Environment, or whose rows are deleted by triggers or with their delivery. */
const notOfIt = [
  ...['emails', 'environment_removals', 'event_counts', 'events', 'feed_readers', 'member_shifts', 'member_waymarks'],
  ...['row_counts', 'webhook_attempts'],
];

test('every table that belongs to an environment has a rule for its deletion', async () => {
  const tables = await query<{ name: string }>(
    `select attrelid::regclass::text as name from pg_attribute join pg_class on pg_class.oid = attrelid
     where attname = 'environment_id' and relkind in ('r', 'p') and not relispartition order by 1`,
  );
  const thoughtOf = new Set([...few, ...withOthers, ...inBatches, ...notOfIt]);
  expect(tables.map(({ name }) => name).filter((name) => !thoughtOf.has(name))).toEqual([]);
  expect(tables.length).toBeGreaterThan(30);
});
