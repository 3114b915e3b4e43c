import type { WorkflowHandle } from '@temporalio/client';
import { hours } from '../../src/platform/clock.js';
import type { ProcessName } from '../../src/platform/process-kinds.js';
import { hasEnded } from '../../src/temporal/errors.js';
import * as workflows from '../../workflows/index.js';
import {
  atRest,
  creatingUpdates,
  happenings,
  messagesOf,
  resetTo,
  resetToEachStep,
  sendUndecodable,
  stepsOf,
  unlessAway,
} from '../support/by-hand.js';
import { accountRuns, inviteRun } from '../support/crash/accounts.js';
import { domainRuns } from '../support/crash/domains.js';
import { emailChangeRuns } from '../support/crash/email-changes.js';
import { mailRuns } from '../support/crash/mails.js';
import { registrationRuns } from '../support/crash/registrations.js';
import { webhookRuns } from '../support/crash/webhooks.js';
import { type Begin, type CrashRun, type CrashWorld, startCrashWorld } from '../support/crash/world.js';
import { asOwner } from '../support/database.js';
import { reconciled } from '../support/test-worker.js';

/**
 * What support can do in the Temporal UI or with Temporal's command line, to a process of every type while it waits. All
 * of it leaves the row that a cancel alone leaves, each event once and each mail once (docs/operations.md, "Cancel and Terminate").
 */
const waiting: Record<ProcessName, Begin> = {
  registrationVerification: registrationRuns['a registration that an operator cancels'],
  accountIntent: registrationRuns['a parked account that an operator cancels'],
  emailChange: emailChangeRuns['a new address that an operator cancels'],
  inviteExpiry: inviteRun([], { afterMs: hours(1) }),
  emailDelivery: mailRuns['a mail that an operator cancels'],
  mfaGrace: accountRuns['a grace that an operator cancels'],
  roleAssignmentWindow: accountRuns['a role for a time whose events an operator cancels'],
  ssoDomainVerification: domainRuns['a claim of a domain that an operator cancels'],
  webhookDelivery: webhookRuns['a delivery that an operator cancels'],
  identityErasure: accountRuns['an erasure'],
  environmentRemoval: accountRuns['the removal of an environment'],
};
/** Runs of Schedules: each only does what is due, and the next one does what it has left. */
const scheduled: Record<Exclude<keyof typeof workflows, ProcessName>, object> = {
  eventCounting: {},
  housekeeping: {},
  reconciler: {},
  signingKeyRotation: {},
};
const types = Object.keys(waiting) as ProcessName[];

/** How a row says that support has ended its process. */
const ended: Record<ProcessName, object> = {
  registrationVerification: { status: 'cancelled', ended_reason: 'cancelled_by_operator', email: null },
  accountIntent: { status: 'cancelled', ended_reason: 'cancelled_by_operator', made: false },
  emailChange: { status: 'cancelled', email: null },
  inviteExpiry: { status: 'revoked', ended_reason: 'cancelled_by_operator' },
  emailDelivery: { status: 'cancelled' },
  mfaGrace: { status: 'cancelled', ended_reason: 'cancelled_by_operator' },
  roleAssignmentWindow: { status: 'cancelled', ended_reason: 'cancelled_by_operator' },
  ssoDomainVerification: { status: 'failed', failure_reason: 'cancelled_by_operator' },
  webhookDelivery: { status: 'cancelled', ended_reason: 'cancelled_by_operator' },
  identityErasure: { status: 'cancelled', ended_reason: 'cancelled_by_operator', identity: 'true' },
  environmentRemoval: { status: 'cancelled', ended_reason: 'cancelled_by_operator' },
};

type Act = (handle: WorkflowHandle) => Promise<unknown>;
/** What support does before the cancel with which each process ends. */
const acts: Record<'nothing' | 'messages' | 'terminate' | 'reset', Act> = {
  nothing: async () => undefined,
  messages: sendGarbage,
  async terminate(handle) {
    const { runId } = await unlessAway(() => handle.describe());
    await unlessAway(() => handle.terminate('by mistake').catch(unlessEnded));
    await world.awaits('it runs again', async () => {
      await reconciled(world.processes.client); // requested again: while a run is under way, no other one begins
      const now = await handle.describe();
      return now.runId !== runId && now.status.name === 'RUNNING';
    });
  },
  async reset(handle) {
    const { runId } = await unlessAway(() => handle.describe());
    const [first] = await stepsOf(handle);
    await resetTo(world.temporal.client, handle.workflowId, runId, first!);
  },
};

/** Arguments that a person may enter, or a tool may send. */
const garbage = [
  [null],
  ['x'],
  [{}],
  [{ expiresAt: 'never', reminderAt: 7 }],
  [{ expiresAt: '2999-01-01T00:00:00Z', reminderAt: '2000-01-01T00:00:00Z' }],
  [[1]],
  [1e300, 'and more'],
];

async function sendGarbage(handle: WorkflowHandle): Promise<void> {
  const { signals, updates } = await messagesOf(handle);
  for (const name of [...signals, 'ofAnotherRelease']) {
    for (const args of [[], ...garbage]) await unlessAway(() => handle.signal(name, ...args));
    await sendUndecodable(world.temporal.client, handle.workflowId, name);
  }
  for (const name of updates.filter((update) => update !== 'confirm')) // creates the Account, whatever its argument
    for (const args of garbage) {
      const answer = unlessAway(() => handle.executeUpdate(name, { args: args as [unknown] }));
      if (creatingUpdates.includes(name)) await expect(answer).rejects.toThrow();
      else await answer;
    }
}

let world: CrashWorld;
const begun = new Map<string, CrashRun>();
/** What each of them has left at its end. */
const left = new Map<string, object>();
const keyOf = (act: string, type: string) => `${act} ${type}`;
const handleOf = (workflowId: string) => world.temporal.client.workflow.getHandle(workflowId);
/** A process that has ended needs no end: its earlier request was carried out without an answer, or it was quicker. */
function unlessEnded(error: unknown): void {
  if (!hasEnded(error)) throw error;
}

/** Makes all rows old enough for the reconciler, which leaves the newest ones to the relay. */
const age = () =>
  Promise.all(
    Object.entries({
      pending_registrations: 'created_at',
      account_intents: 'created_at',
      email_changes: 'created_at',
      administrator_invites: 'created_at',
      emails: 'created_at',
      mfa_graces: 'started_at',
      role_assignment_windows: 'created_at',
      sso_domains: 'started_at',
      webhook_deliveries: 'created_at',
      erasures: 'created_at',
      environment_removals: 'created_at',
    }).map(([table, column]) => world.query(`update ${table} set ${column} = ${column} - interval '5 minutes'`)),
  );

/** Runs `work` while no step of an erasure or removal can begin: they wait for nothing else. */
const holdingRemovals = (work: () => Promise<void>) =>
  asOwner(async (client) => {
    await client.query(`begin; set local gatehouse.scope = 'system'`);
    await client.query('select from erasures for update');
    await client.query('select from environment_removals for update');
    await work();
    await client.query('rollback');
  }, world.database.ownerUrl);

/** No mail is on its way, except those whose server is away. */
const mailsAreOut = () =>
  world.awaits('the mails are out', async () => {
    const waits = `select from emails where status = 'pending' and template <> 'account-creation-failed'`;
    const [row] = await world.query(`select exists (${waits}) or exists (select from outbox) as waits`);
    return row?.waits === false;
  });

async function actOnAll(): Promise<void> {
  world.startWorker();
  const ids = [...begun.values()].map(({ workflowId }) => workflowId);
  await Promise.all(ids.map((id) => atRest(world, id)));
  await mailsAreOut();
  await Promise.all(
    Object.entries(acts).flatMap(([name, act]) =>
      types.map(async (type) => {
        const { workflowId } = begun.get(keyOf(name, type))!;
        await act(handleOf(workflowId));
        await atRest(world, workflowId, `waits after ${name}`);
      }),
    ),
  );
  await Promise.all(ids.map((id) => unlessAway(() => handleOf(id).cancel())));
}

beforeAll(async () => {
  world = await startCrashWorld();
  for (const act of Object.keys(acts))
    for (const type of types) begun.set(keyOf(act, type), await waiting[type](world));
  await age();
  await holdingRemovals(actOnAll);
  for (const [key, run] of begun) left.set(key, await run.left());
});
afterAll(() => world?.stop());

/** What a process has left, to compare. How much a removal does before a cancel depends on the speed of the machine. */
function leftBy(act: keyof typeof acts, type: ProcessName): object {
  const all = left.get(keyOf(act, type)) as { status: string; row: Record<string, unknown> };
  if (type !== 'environmentRemoval') return all;
  const { status, row } = all;
  return { status, row: { status: row.status, ended_reason: row.ended_reason } };
}

test('there is a process of every type', () => {
  expect([...types, ...Object.keys(scheduled)].sort()).toEqual(Object.keys(workflows).sort());
});

test.each(types)('%s: after a cancel its row says that support has ended it', (type) => {
  expect(leftBy('nothing', type)).toMatchObject({ status: 'CANCELLED', row: ended[type] });
});

test.each(types)('%s: signals and updates sent by hand, with arguments that make no sense, change nothing', (type) => {
  expect(leftBy('messages', type)).toEqual(leftBy('nothing', type));
});

test.each(types)('%s: it continues after a Terminate, and does nothing twice', (type) => {
  expect(leftBy('terminate', type)).toEqual(leftBy('nothing', type));
});

test.each(types)('%s: it continues after a reset, and does nothing twice', (type) => {
  expect(leftBy('reset', type)).toEqual(leftBy('nothing', type));
});

test('a reset of an ended process to any of its steps changes nothing', async () => {
  const before = await happenings(world);
  const ends = await Promise.all(
    types.map((type) => resetToEachStep(world, begun.get(keyOf('nothing', type))!.workflowId)),
  );
  for (const [n, type] of types.entries()) {
    expect([type, ends[n]!.length > 0]).toEqual([type, true]);
    for (const end of ends[n]!) expect(['COMPLETED', 'CANCELLED']).toContain(end);
  }
  expect(await happenings(world)).toEqual(before);
});

test.each(Object.keys(scheduled))(
  '%s: a run that is cancelled or terminated is done again by the next one',
  async (type) => {
    const start = (n: number) =>
      unlessAway(() =>
        world.temporal.client.workflow.start(type, {
          taskQueue: 'processes',
          workflowId: `${type}-by-hand-${n}`,
          workflowIdConflictPolicy: 'USE_EXISTING',
          args: [scheduled[type as keyof typeof scheduled]],
        }),
      );
    const [cancelled, terminated] = [await start(1), await start(2)];
    await Promise.all([
      unlessAway(() => cancelled.cancel()).catch(unlessEnded),
      unlessAway(() => terminated.terminate('by mistake')).catch(unlessEnded),
    ]);
    const ends = (handle: WorkflowHandle) => atRest(world, handle.workflowId);
    expect(['CANCELLED', 'COMPLETED']).toContain(await ends(cancelled));
    expect(['TERMINATED', 'COMPLETED']).toContain(await ends(terminated));
    expect(await ends(await start(3))).toBe('COMPLETED');
  },
);
