import { createActivities } from '../../activities/index.js';
import * as workflows from '../../workflows/index.js';
import { happenings, resetToEachStep } from '../support/by-hand.js';
import { accountRuns } from '../support/crash/accounts.js';
import { domainRuns } from '../support/crash/domains.js';
import { emailChangeRuns } from '../support/crash/email-changes.js';
import { logoutRuns } from '../support/crash/logout-tokens.js';
import { dieUnheard, mailRuns } from '../support/crash/mails.js';
import type { Death } from '../support/crash/plan.js';
import { registrationRuns } from '../support/crash/registrations.js';
import { scheduledRuns } from '../support/crash/schedules.js';
import { webhookRuns } from '../support/crash/webhooks.js';
import { type CrashRun, type CrashWorld, startCrashWorld, TooLate } from '../support/crash/world.js';
import { patience } from '../support/patience.js';
import { historyText } from '../support/temporal.js';

/**
 * Kills workers after the activities of every workflow, when these have taken effect, and lets other workers take over.
 * Each run has to leave what an undisturbed one leaves: the same rows, each event once and each mail as one message.
 */
const runs = {
  ...registrationRuns,
  ...emailChangeRuns,
  ...accountRuns,
  ...mailRuns,
  ...scheduledRuns,
  ...webhookRuns,
  ...logoutRuns,
  ...domainRuns,
};
/** What an undisturbed run leaves, in short; the rest is compared. */
const leaves: Record<keyof typeof runs, object> = {
  'a registration, reminded of and confirmed': { result: 'confirmed', delivered: 2, memberships: 1, accounts: 1 },
  'a registration that expires': { result: 'expired', delivered: 1, accounts: 0, row: { email: null } },
  'a registration that an operator cancels': { status: 'CANCELLED', delivered: 1, row: { status: 'cancelled' } },
  'a parked account that is resumed': { result: 'consumed', delivered: 1, accounts: 1 },
  'a parked account whose short name was taken': { status: 'FAILED', delivered: 2, row: { status: 'failed' } },
  'a parked account that expires': { result: 'expired', delivered: 1, accounts: 0 },
  'a parked account that an operator cancels': { status: 'CANCELLED', delivered: 1, row: { status: 'cancelled' } },
  'a new address that nobody confirms': { result: 'expired', delivered: 1, row: { status: 'expired', email: null } },
  'a new address that an operator cancels': { status: 'CANCELLED', delivered: 1, row: { status: 'cancelled' } },
  'an invite, reminded of and cancelled': { status: 'CANCELLED', delivered: 2, row: { status: 'revoked' } },
  'an invite that expires': { result: 'expired', delivered: 1, row: { status: 'expired' } },
  'an invite of an end user that expires': { result: 'expired', delivered: 1, row: { status: 'expired' } },
  'a grace, reminded of and over': { result: 'expired', delivered: 1, row: { status: 'expired' } },
  'a grace that an operator cancels': { status: 'CANCELLED', delivered: 0, row: { status: 'cancelled' } },
  'a role for a time, announced and over': {
    result: 'completed',
    row: { status: 'completed' },
    events: { 'role_assignment.expiring': 1, 'role_assignment.expired': 1 },
  },
  'a role for a time whose events an operator cancels': { status: 'CANCELLED', row: { status: 'cancelled' } },
  'an erasure': { result: 'completed', identities: 0, memberships: 0, sessions: 0 },
  'an erasure that an operator cancels': { status: 'CANCELLED', identities: 1, memberships: 1, sessions: 1 },
  'the removal of an environment': { result: 'completed', environments: 0, identities: 0, sessions: 0 },
  'the removal of an environment that an operator cancels': {
    status: 'CANCELLED',
    environments: 1,
    identities: 1,
    sessions: 1,
  },
  'a mail that is sent': { result: 'sent', delivered: 1, row: { status: 'sent' } },
  'a mail that is given up': {
    status: 'FAILED',
    delivered: 0,
    events: { 'email.failed': 1 },
    row: { status: 'failed' },
  },
  'a mail that an operator cancels': { status: 'CANCELLED', delivered: 0, row: { status: 'cancelled' } },
  'a run that counts events': { status: 'COMPLETED', events: 7 },
  'a run of housekeeping': { status: 'COMPLETED', rows: [{ status: 'failed' }] },
  'a run of the reconciler': { status: 'COMPLETED', lost: 'RUNNING', delivered: 1 },
  'a rotation of the signing keys': { status: 'COMPLETED', keys: 1, events: 1 },
  'a delivery that its receiver takes at the second attempt': {
    result: 'succeeded',
    messages: 1,
    row: { status: 'succeeded' },
  },
  'a logout token that its client accepts at the second attempt': {
    result: 'succeeded',
    messages: 1,
    isRepeated: false,
    row: { status: 'succeeded' },
  },
  'a claim of a domain whose record never comes': {
    result: 'failed',
    row: { status: 'failed', failure_reason: 'record_not_found', next_check_at: null },
    events: { 'sso.domain.claimed': 1, 'sso.domain.failed': 1 },
  },
  'a claim of a domain that an operator cancels': {
    status: 'CANCELLED',
    row: { status: 'failed', failure_reason: 'cancelled_by_operator' },
  },
  'a delivery that an operator cancels': { status: 'CANCELLED', messages: 1, row: { status: 'cancelled' } },
};
const names = Object.keys(leaves);

let world: CrashWorld;
/** Nothing happens to the worker here: a separate world, so that its runs wait while those of the other one do. */
let undisturbed: CrashWorld;
let undisturbedIds: string[];
let deaths: Death[];
let unheard: Awaited<ReturnType<typeof dieUnheard>>;
const left = { crashed: new Map<string, unknown>(), undisturbed: new Map<string, unknown>() };
const deathsOf = new Map<string, { expected: readonly string[]; workflowId: string }>();

async function beginAll(where: CrashWorld): Promise<Map<string, CrashRun>> {
  const begun = new Map<string, CrashRun>();
  for (const [name, begin] of Object.entries(runs)) begun.set(name, await begin(where));
  return begun;
}
/** Collects what each run leaves, or why it does not end. */
const finish = (begun: Map<string, CrashRun>, into: Map<string, unknown>) =>
  Promise.all(
    [...begun].map(async ([name, run]) => {
      into.set(name, await run.left().catch((error: unknown) => ({ error: String(error) })));
    }),
  );
/** Stops at the first act that fails. */
const act = (begun: Map<string, CrashRun>) => Promise.all([...begun.values()].map((run) => run.act?.()));

/** Runs that met a deadline before their workers died are repeated in another round, with more time for everything. */
async function crashAll(rounds = 3): Promise<Map<string, CrashRun>> {
  const begun = await beginAll(world);
  for (const [name, { workflowId, deaths: expected }] of begun) deathsOf.set(name, { workflowId, expected });
  const acted = act(begun);
  acted.catch(() => undefined); // nothing waits for a round that is given up
  try {
    deaths = await world.killAtEachStep([...begun.values()]);
  } catch (error) {
    if (!(error instanceof TooLate) || rounds === 1) throw error;
    world.slower();
    return crashAll(rounds - 1);
  }
  await acted;
  return begun;
}

async function runThroughDeaths(): Promise<void> {
  const begun = await crashAll();
  world.startWorker();
  await finish(begun, left.crashed);
}
/**
 * Takes twice the time, as it has no second round and the other world's workers start meanwhile: reminders must not
 * come early.
 */
async function runUndisturbed(): Promise<void> {
  undisturbed = await startCrashWorld(2 * world.slowness());
  const begun = await beginAll(undisturbed);
  undisturbedIds = [...begun.values()].map(({ workflowId }) => workflowId);
  undisturbed.startWorker();
  await Promise.all([act(begun), finish(begun, left.undisturbed)]);
}

beforeAll(async () => {
  world = await startCrashWorld();
  unheard = await dieUnheard(world);
  await Promise.all([runThroughDeaths(), runUndisturbed()]);
}, 12 * patience);
afterAll(() => Promise.all([world?.stop(), undisturbed?.stop()]));

test('a worker dies after every activity, and a run of every workflow survives it', () => {
  // Only a running activity uses the services, and none runs.
  const queues = createActivities({} as Parameters<typeof createActivities>[0]);
  const all = [...new Set(Object.values(queues).flatMap(Object.keys))].sort(); // those of mails are on two queues
  expect([...new Set(deaths.map(({ activity }) => activity))].sort()).toEqual(all);
  expect([...new Set(deaths.map(({ workflow }) => workflow))].sort()).toEqual(Object.keys(workflows).sort());
});

test.each(names)('%s: its workers died at these steps, and it left what an undisturbed run leaves', (name) => {
  const { workflowId, expected } = deathsOf.get(name)!;
  expect(deaths.filter((death) => death.workflowId === workflowId).map(({ activity }) => activity)).toEqual(expected);
  expect(left.undisturbed.get(name)).toMatchObject(leaves[name as keyof typeof leaves]);
  expect(left.crashed.get(name)).toEqual(left.undisturbed.get(name));
});

/** How every JWT with our header begins, a logout token among them. */
const signed = Buffer.from('{"alg":').toString('base64url').slice(0, 9);

/** Returns personal data and secrets: from the rows that are left, and from all mails. */
async function secrets(): Promise<string[]> {
  const { addresses, tokens } = world.mails.told();
  const rows = await world.query(
    `select email::text as text from users union select last_name from users union select name::text from accounts
     union select email::text from identities union select email::text from administrator_invites
     union select last_name from administrator_invites union select email::text from identity_invites
     union select domain::text from sso_domains union select token from sso_domains union select secret from webhooks
     union select backchannel_logout_uri from oauth_clients`,
  );
  expect([addresses.length, tokens.length, rows.length].every((count) => count > 5)).toBe(true);
  const texts = rows.map(({ text }) => String(text ?? '')).filter((text) => text.length > 5); // shorter ones occur everywhere
  return [...addresses, ...tokens, ...texts, 'private.example', signed];
}

test('no history of any process holds an address, a name, a token or a secret, whatever its workers died of', async () => {
  const forbidden = await secrets();
  const { workflow } = world.temporal.client;
  const seen = new Set<string>();
  for await (const { workflowId, runId, type } of workflow.list()) {
    const text = await historyText(workflow.getHandle(workflowId, runId));
    expect([workflowId, forbidden.filter((secret) => text.includes(secret))]).toEqual([workflowId, []]);
    seen.add(type);
  }
  expect([...seen].sort()).toEqual(Object.keys(workflows).sort());
});

test('a mail whose worker dies between the mail server’s answer and the row’s update is sent twice, as the same message', async () => {
  expect(unheard.statusThen).toBe('pending');
  const { status, result, delivered } = await unheard.left();
  expect([status, result]).toEqual(['COMPLETED', 'sent']);
  expect(delivered).toHaveLength(2);
  expect(new Set(delivered.map(({ messageId }) => messageId)).size).toBe(1);
});

test('no other mail is sent twice, except one whose attempt timed out on a busy machine', () => {
  expect(world.mails.repeats()).toBeLessThanOrEqual(2); // one is the mail of the previous test
  expect(undisturbed.mails.repeats()).toBeLessThanOrEqual(1);
});

test('a run that support resets to any of its steps, after its end, does nothing twice', async () => {
  const before = await happenings(undisturbed);
  const ends = await Promise.all(undisturbedIds.map((workflowId) => resetToEachStep(undisturbed, workflowId)));
  expect(ends.flat().length).toBeGreaterThan(names.length); // most have several steps
  expect(await happenings(undisturbed)).toEqual(before);
});
