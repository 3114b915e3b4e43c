import { randomUUID } from 'node:crypto';
import { DomainError } from '../../src/domain/errors.js';
import { openKinds } from '../../src/domain/processes/open.js';
import { createReconciler, type ReconcilerPlace } from '../../src/domain/processes/reconciler.js';
import { hours, minutes } from '../../src/platform/clock.js';
import type { ProcessName } from '../../src/platform/process-kinds.js';
import { newDatabase, rowsAsOwner, type TestDatabase } from '../support/database.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await newDatabase();
});
afterAll(() => database.close());

/** Replaces Temporal: knows which workflows run, and records which ones it was asked to start. */
function fakeTemporal(running: string[] = []) {
  const started: string[] = [];
  const asked: number[] = [];
  const idOf = (input: object) => {
    const {
      pendingRegistrationId,
      intentId,
      changeId,
      inviteId,
      emailId,
      graceId,
      erasureId,
      removalId,
      assignmentId,
      claimId,
      deliveryId,
    } = input as Record<string, string>;
    return (pendingRegistrationId ??
      intentId ??
      changeId ??
      inviteId ??
      emailId ??
      graceId ??
      erasureId ??
      removalId ??
      assignmentId ??
      claimId ??
      deliveryId) as string;
  };
  return {
    started,
    asked,
    async notSeenRunning<I extends object>(_: ProcessName, inputs: readonly I[]) {
      asked.push(inputs.length);
      return new Set(inputs.filter((input) => !running.includes(idOf(input))));
    },
    async startAgain(name: ProcessName, input: object) {
      started.push(`${name} ${idOf(input)}`);
      return true;
    },
  };
}
const now = () => new Date();
const kinds = openKinds({ reminderAfterMs: hours(20), now });

async function run(processes: ReturnType<typeof fakeTemporal>, { pageSize = 100, settledMs = minutes(1) } = {}) {
  const reconciler = createReconciler({ db: database.db, now, kinds, processes, settledMs });
  const total = { looked: 0, restarted: 0 };
  let place: ReconcilerPlace | null = null;
  do {
    const page = await reconciler.reconcile(place, pageSize);
    total.looked += page.looked;
    total.restarted += page.restarted;
    place = page.next;
  } while (place);
  return total;
}

/** Creates a waiting and an ended row of each kind, this old. */
async function oneOfEach(age: string) {
  const at = `now() - interval '${age}'`;
  const [user, account, application, environment, identity, role, node] = Array.from({ length: 7 }, () => randomUUID());
  const open = Object.fromEntries(Object.keys(kinds).map((name) => [name, randomUUID()])) as Record<
    ProcessName,
    string
  >;
  const statements = [
    `insert into users (id, email, first_name, last_name, created_at, updated_at) values ('${user}', '${user}@example.com', 'a', 'b', now(), now())`,
    `insert into accounts (id, name, slug, created_at, updated_at) values ('${account}', 'a', '${account}', now(), now())`,
    `insert into applications (id, account_id, name, slug, created_at, updated_at) values ('${application}', '${account}', 'a', 'a', now(), now())`,
    `insert into environments (id, account_id, application_id, name, slug, type, created_at, updated_at) values ('${environment}', '${account}', '${application}', 'e', 'e', 'development', now(), now())`,
    `insert into roles (id, account_id, application_id, environment_id, name, is_active, version, created_at, updated_at)
     values ('${role}', '${account}', '${application}', '${environment}', 'r', true, 1, now(), now())`,
    `insert into nodes (id, account_id, application_id, environment_id, node_type, name, slug, status, metadata, path, version, created_at, updated_at)
     values ('${node}', '${account}', '${application}', '${environment}', 'root', 'r', 'r', 'active', '{}', '{${node}}', 1, now(), now())`,
  ];
  for (const [id, ended] of [
    ['open', false],
    ['ended', true],
  ] as const) {
    const idOf = (kind: ProcessName) => (id === 'open' ? open[kind] : randomUUID());
    const person = ended ? randomUUID() : identity;
    const end = ended ? 'now()' : 'null';
    statements.push(
      `insert into identities (id, account_id, email, metadata, created_at, updated_at) values ('${person}', '${account}', '${person}@example.com', '{}', now(), now())`,
      `insert into pending_registrations (id, locale, token_hash, token_key_id, status, correlation_id, created_at, expires_at, ended_at)
       values ('${idOf('registrationVerification')}', 'en', gen_random_uuid()::text::bytea, 'k', '${ended ? 'expired' : 'pending'}', gen_random_uuid(), ${at}, now(), ${end})`,
      `insert into account_intents (id, user_id, account_name, application_name, locale, status, correlation_id, created_at, expires_at, ended_at)
       values ('${idOf('accountIntent')}', '${user}', 'a', 'b', 'en', '${ended ? 'consumed' : 'claimed'}', gen_random_uuid(), ${at}, now(), ${end})`,
      `insert into email_changes (id, user_id, session_id, locale, token_hash, token_key_id, browser_hash, status, created_at, expires_at, ended_at)
       values ('${idOf('emailChange')}', '${user}', gen_random_uuid(), 'en', gen_random_uuid()::text::bytea, 'k', '', '${ended ? 'expired' : 'pending'}', ${at}, now(), ${end})`,
      `insert into administrator_invites (id, account_id, email, first_name, last_name, locale, token_hash, token_key_id, link_number, status, created_at, expires_at, ended_at)
       values ('${idOf('inviteExpiry')}', '${account}', '${randomUUID()}@example.com', 'a', 'b', 'en', gen_random_uuid()::text::bytea, 'k', 1, '${ended ? 'revoked' : 'pending'}', ${at}, now(), ${end})`,
      `insert into emails (id, template, locale, subject_id, cause, status, created_at, ended_at)
       values ('${idOf('emailDelivery')}', 'x', 'en', gen_random_uuid(), gen_random_uuid(), '${ended ? 'sent' : 'pending'}', ${at}, ${end})`,
      `insert into mfa_graces (id, account_id, environment_id, identity_id, status, round, started_at, expires_at, ended_at)
       values ('${idOf('mfaGrace')}', '${account}', '${environment}', '${person}', '${ended ? 'cancelled' : 'running'}', 1, ${at}, now(), ${end})`,
      `insert into erasures (id, account_id, identity_id, status, actor_type, correlation_id, created_at, ended_at)
       values ('${idOf('identityErasure')}', '${account}', '${person}', '${ended ? 'cancelled' : 'running'}', 'system', gen_random_uuid(), ${at}, ${end})`,
      `insert into environment_removals (id, account_id, application_id, environment_id, name, status, identities_deleted, actor_type, correlation_id, created_at, ended_at)
       values ('${idOf('environmentRemoval')}', '${account}', '${application}', '${randomUUID()}', 'e', '${ended ? 'completed' : 'running'}', 0, 'system', gen_random_uuid(), ${at}, ${end})`,
      `with assignment as (
         insert into role_assignments (id, account_id, environment_id, identity_id, role_id, node_id, created_at)
         values ('${idOf('roleAssignmentWindow')}', '${account}', '${environment}', '${person}', '${role}', '${node}', ${at}) returning *)
       insert into role_assignment_windows (id, account_id, environment_id, status, told_until, created_at, ended_at)
       select id, account_id, environment_id, '${ended ? 'completed' : 'running'}', ${at}, ${at}, ${end} from assignment`,
      `insert into sso_domains (id, account_id, domain, token, status, claimed_by_type, claimed_by, created_at, started_at, ended_at)
       values ('${idOf('ssoDomainVerification')}', '${account}', '${randomUUID()}.example', 't', '${ended ? 'failed' : 'pending'}', 'platform_admin', '${user}', ${at}, ${at}, ${end})`,
      `insert into webhook_deliveries (id, account_id, webhook_id, event_id, event_type, body, status, attempt_count, created_at, settled_at)
       values ('${idOf('webhookDelivery')}', '${account}', gen_random_uuid(), gen_random_uuid(), 'x', '{}', '${ended ? 'succeeded' : 'pending'}', 0, ${at}, ${end})`,
    );
  }
  for (const statement of statements) await rowsAsOwner(database.ownerUrl, statement);
  return open;
}

test('whatever waits without a process gets one, of every kind, but not what has ended or is new', async () => {
  await oneOfEach('5 seconds'); // still the relay's
  const open = await oneOfEach('5 minutes');
  const temporal = fakeTemporal();
  const names = Object.keys(open);
  expect(await run(temporal)).toEqual({ looked: names.length, restarted: names.length });
  expect(temporal.started.sort()).toEqual(
    Object.entries(open)
      .map(([name, id]) => `${name} ${id}`)
      .sort(),
  );
});

test('running processes are left alone, and pages are read one after the other', async () => {
  const running = [await oneOfEach('5 minutes'), await oneOfEach('5 minutes')].flatMap(Object.values<string>);
  const [{ count } = {}] = await rowsAsOwner(
    database.ownerUrl,
    `select count(*)::int from emails where status = 'pending'`,
  );
  const before = fakeTemporal(running);
  await run(before, { settledMs: 0 });
  expect(before.started.some((one) => running.some((id) => one.includes(id)))).toBe(false);
  const paged = fakeTemporal(running);
  await run(paged, { settledMs: 0, pageSize: 1 });
  expect(paged.started.sort()).toEqual(before.started.sort());
  expect(paged.asked).toEqual(paged.asked.map(() => 1));
  expect(paged.asked.length).toBe(before.asked.reduce((sum, asked) => sum + asked, 0));
  expect(count).toBe(4);
});

test('invites of both kinds are one sequence, whatever the page', async () => {
  const places = [await oneOfEach('5 minutes'), await oneOfEach('5 minutes')];
  const [{ account, environment } = {}] = await rowsAsOwner(
    database.ownerUrl,
    `select id as environment, account_id as account from environments order by created_at desc limit 1`,
  );
  const ids = Array.from({ length: 5 }, () => randomUUID());
  for (const id of ids)
    await rowsAsOwner(
      database.ownerUrl,
      `insert into identity_invites (id, account_id, environment_id, intent, email, role_ids, locale, token_hash, token_key_id, link_number, status, invited_by_type, invited_by, created_at, expires_at)
       values ($1, $2, $3, 'activate', $4, '{}', 'en', gen_random_uuid()::text::bytea, 'k', 1, 'pending', 'api_key', gen_random_uuid(), now() - interval '5 minutes', now())`,
      [id, account, environment, `${id}@example.com`],
    );
  const all = [...ids, ...places.map(({ inviteExpiry }) => inviteExpiry)];
  for (const pageSize of [1, 2, 100]) {
    const temporal = fakeTemporal();
    await run(temporal, { pageSize });
    for (const id of all) expect(temporal.started.filter((one) => one === `inviteExpiry ${id}`)).toHaveLength(1);
  }
  await rowsAsOwner(database.ownerUrl, `update identity_invites set status = 'revoked', ended_at = now()`);
});

test('a row that ends between the two looks is not started', async () => {
  const open = await oneOfEach('5 minutes');
  const temporal = fakeTemporal();
  const { notSeenRunning } = temporal;
  temporal.notSeenRunning = async (name, inputs) => {
    await rowsAsOwner(database.ownerUrl, `update emails set status = 'sent', ended_at = now() where id = $1`, [
      open.emailDelivery,
    ]);
    return notSeenRunning(name, inputs);
  };
  await run(temporal);
  expect(temporal.started.join()).not.toContain(open.emailDelivery);
  expect(temporal.started.join()).toContain(open.registrationVerification);
});

test('a process that Temporal cannot look up prevents no other, until so many fail that Temporal counts as away', async () => {
  const open = await oneOfEach('5 minutes');
  const reconciled = async (isLost: (id: string) => boolean) => {
    const temporal = fakeTemporal();
    const { startAgain } = temporal;
    temporal.startAgain = async (name, input) => {
      if (isLost((input as { emailId: string }).emailId)) throw new DomainError('service.unavailable');
      return startAgain(name, input);
    };
    const reconciler = createReconciler({ db: database.db, now, kinds, processes: temporal });
    const { failed } = await reconciler.reconcile(
      { kind: 'emailDelivery', after: '00000000-0000-0000-0000-000000000000' },
      100,
    );
    return { failed, started: temporal.started };
  };
  const others = await Promise.all([oneOfEach('5 minutes'), oneOfEach('5 minutes')]);
  const { failed, started } = await reconciled((id) => id === open.emailDelivery);
  expect(failed).toEqual([`email/${open.emailDelivery}`]);
  for (const other of others) expect(started).toContain(`emailDelivery ${other.emailDelivery}`);
  // A start that was only not answered in time is no failure: the second look finds it.
  const silent = new Set([open.emailDelivery]);
  expect((await reconciled((id) => silent.delete(id))).failed).toEqual([]);
  for (let i = 0; i < 20; i++) await oneOfEach('5 minutes');
  await expect(reconciled(() => true)).rejects.toMatchObject({ code: 'service.unavailable' });
});

test('a planned mail waits for its link, which its intent creates', async () => {
  const open = await oneOfEach('5 minutes');
  const [{ id: intent, user_id: user } = {}] = await rowsAsOwner(
    database.ownerUrl,
    `update account_intents set status = 'parked', claim_id = null, claimed_at = null where id = $1 returning id, user_id`,
    [open.accountIntent],
  );
  const planned = `update emails set template = 'set-password', subject_id = $2 where id = $1`;
  await rowsAsOwner(database.ownerUrl, planned, [open.emailDelivery, intent]);
  const before = fakeTemporal();
  await run(before);
  expect(before.started).toContain(`accountIntent ${intent}`);
  expect(before.started).not.toContain(`emailDelivery ${open.emailDelivery}`);
  await rowsAsOwner(
    database.ownerUrl,
    `insert into password_links (id, user_id, purpose, locale, token_hash, token_key_id, created_at, expires_at)
     values ($1, $2, 'set', 'en', '\\x00', 'k', now(), now() + interval '1 day')`,
    [intent, user],
  );
  const after = fakeTemporal();
  await run(after);
  expect(after.started).toContain(`emailDelivery ${open.emailDelivery}`);
});
