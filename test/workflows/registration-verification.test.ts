import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import type { WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure, WorkflowNotFoundError } from '@temporalio/common';
import type { PendingRegistrationStatus } from '../../entities/pending-registration.js';
import { hours } from '../../src/platform/clock.js';
import type { registrationVerification } from '../../workflows/registration-verification.js';
import { recordHistory } from '../support/histories.js';
import { inTime } from '../support/in-time.js';
import { patience } from '../support/patience.js';
import { startTestTemporal, statusOf, type TestTemporal } from '../support/temporal.js';

let temporal: TestTemporal;
/** Milliseconds in which a workflow has usually started to wait. */
const soon = 1_500;
beforeAll(async () => {
  temporal = await startTestTemporal();
});
afterAll(() => temporal.stop());

const ids = { userId: randomUUID(), accountId: randomUUID(), applicationId: randomUUID() };
/** Replaces the row, which decides. */
function fakeActivities(expiresAt: () => number, row: PendingRegistrationStatus) {
  let status = row;
  const status$ = async (_id: string) => status;
  return {
    queueVerificationEmail: jest.fn(status$),
    queueReminderEmail: jest.fn(status$),
    provisionRegistration: jest.fn(async (_id: string) => {
      if (status !== 'pending') throw ApplicationFailure.nonRetryable('refused', 'registration.link_invalid');
      status = 'confirmed';
      return { ...ids, discardedIds: [] as string[] };
    }),
    expireRegistration: jest.fn(async (_id: string) => {
      if (status === 'pending' && Date.now() >= expiresAt()) status = 'expired';
      return status;
    }),
    cancelRegistration: jest.fn(async (_id: string) => {
      if (status === 'pending') status = 'cancelled';
      return status;
    }),
    /** Changes the row as another process would. */
    becomes(next: PendingRegistrationStatus) {
      status = next;
    },
  };
}

type Activities = Omit<ReturnType<typeof fakeActivities>, 'becomes'>;
interface Start {
  ttlMs?: number;
  reminderAfterMs?: number;
  row?: PendingRegistrationStatus;
  /** Changes what its activities do, before it runs. */
  before?(activities: Activities): void;
}

async function startRegistration({ ttlMs = hours(2), reminderAfterMs = 0, row = 'pending', before }: Start = {}) {
  const id = randomUUID();
  let expiresAt = 0;
  const fakes = fakeActivities(() => expiresAt, row);
  const { becomes, ...activities } = fakes;
  before?.(activities);
  const { taskQueue, stop } = await temporal.runWorker(activities);
  const now = Date.now();
  expiresAt = now + ttlMs;
  const handle = await temporal.client.workflow.start<typeof registrationVerification>('registrationVerification', {
    workflowId: `registration/${id}`,
    taskQueue,
    args: [
      {
        pendingRegistrationId: id,
        expiresAt: new Date(now + ttlMs).toISOString(),
        reminderAt: reminderAfterMs ? new Date(now + reminderAfterMs).toISOString() : null,
      },
    ],
  });
  const confirm = () => handle.executeUpdate<typeof ids, []>('confirm');
  const untilCalled = async (name: keyof typeof activities) => {
    for (let waited = 0; activities[name].mock.calls.length === 0; waited += 20) {
      if (waited > patience) throw new Error(`${name} was not called`);
      await sleep(20);
    }
  };
  return { id, handle, activities, becomes, confirm, untilCalled, stop };
}

/** Starts a registration that waits for its reminder, which is due soon. @param more depends on when it is due */
const startReminded = (more: (ms: number) => Start = () => ({})) =>
  inTime((ms) => startRegistration({ reminderAfterMs: ms, ...more(ms) }), soon);

/** Returns the code of a refusal; a call after the end finds no workflow, which callers see as the same refusal. */
const codeOf = (error: unknown) =>
  error instanceof WorkflowNotFoundError
    ? 'registration.link_invalid'
    : ((error as WorkflowUpdateFailedError).cause as ApplicationFailure).type;
test('a confirmed link provisions, and the process ends', async () => {
  const { id, handle, activities, confirm } = await startRegistration();
  expect(await confirm()).toEqual(ids);
  expect(await handle.result()).toBe('confirmed');
  expect(activities.queueVerificationEmail.mock.calls).toEqual([[id]]);
  expect(activities.expireRegistration).not.toHaveBeenCalled();
  expect(await handle.query('state')).toBe('confirmed');
  const { searchAttributes } = await handle.describe();
  expect(searchAttributes).toMatchObject({ GatehouseState: ['confirmed'], GatehouseAccountId: [ids.accountId] });
  await recordHistory('registration-confirmed-found-by-account', handle);
});

test('a registration that nobody confirms expires at its time', async () => {
  const { handle, activities } = await startRegistration({ ttlMs: 700 });
  expect(await handle.result()).toBe('expired');
  expect(activities.queueReminderEmail).not.toHaveBeenCalled();
});

test('a registration is reminded of once before its end', async () => {
  const { handle, activities } = await startReminded((ms) => ({ ttlMs: 2 * ms }));
  expect(await handle.result()).toBe('expired');
  expect(activities.queueReminderEmail).toHaveBeenCalledTimes(1);
  await recordHistory('registration-reminded-expired', handle);
});

test('a registration can still be confirmed after the reminder', async () => {
  const { handle, untilCalled, confirm } = await startReminded();
  await untilCalled('queueReminderEmail');
  expect(await confirm()).toEqual(ids);
  expect(await handle.result()).toBe('confirmed');
});

test('two confirmations at once provision once; the other one is refused', async () => {
  const { handle, activities, confirm } = await startRegistration();
  const both = await Promise.allSettled([confirm(), confirm()]);
  expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  const refused = both.find((result) => result.status === 'rejected');
  expect(codeOf(refused?.reason)).toBe('registration.link_invalid');
  expect(await handle.result()).toBe('confirmed');
  expect(activities.provisionRegistration).toHaveBeenCalledTimes(1);
});

test('a registration survives an outage during provisioning', async () => {
  const { activities, confirm } = await startRegistration();
  activities.provisionRegistration.mockRejectedValueOnce(ApplicationFailure.retryable('away', 'outage'));
  expect(await confirm()).toEqual(ids);
  expect(activities.provisionRegistration).toHaveBeenCalledTimes(2);
});

test('a confirmation that was given up has its row read, since it may have succeeded without an answer', async () => {
  const { handle, activities, becomes, confirm } = await startRegistration({ reminderAfterMs: hours(1) });
  activities.provisionRegistration.mockImplementationOnce(async () => {
    becomes('confirmed');
    throw ApplicationFailure.nonRetryable('no answer', 'service.unavailable'); // as after a minute of outage
  });
  expect(codeOf(await confirm().catch((error) => error))).toBe('service.unavailable');
  expect(await handle.result()).toBe('confirmed');
  await recordHistory('registration-confirmed-without-an-answer', handle);
});

test('a confirmation that was given up without effect can be repeated', async () => {
  const { handle, activities, confirm, untilCalled } = await startRegistration({ reminderAfterMs: hours(1) });
  activities.provisionRegistration.mockRejectedValueOnce(
    ApplicationFailure.nonRetryable('away', 'service.unavailable'),
  );
  expect(codeOf(await confirm().catch((error) => error))).toBe('service.unavailable');
  await untilCalled('expireRegistration');
  expect(await confirm()).toEqual(ids);
  expect(await handle.result()).toBe('confirmed');
  await recordHistory('registration-confirmed-after-an-outage', handle);
});

test('a refused confirmation ends a process whose row has ended', async () => {
  const { handle, becomes, untilCalled, confirm } = await startRegistration({ reminderAfterMs: hours(1) });
  await untilCalled('queueVerificationEmail');
  becomes('discarded');
  expect(codeOf(await confirm().catch((error) => error))).toBe('registration.link_invalid');
  expect(await handle.result()).toBe('discarded');
});

test('a row that ended before the process began ends it at once', async () => {
  const { handle } = await startRegistration({ row: 'cancelled' });
  expect(await handle.result()).toBe('cancelled');
});

test('the first confirmed registration of an address ends the waiting of the others', async () => {
  const rival = await startRegistration();
  const winner = await startRegistration();
  winner.activities.provisionRegistration.mockImplementationOnce(async () => {
    rival.becomes('discarded');
    return { ...ids, discardedIds: [rival.id, randomUUID()] };
  });
  await winner.confirm();
  expect(await rival.handle.result()).toBe('discarded');
  expect(await winner.handle.result()).toBe('confirmed');
  await recordHistory('registration-discarded-as-the-row-says', rival.handle);
  await recordHistory('registration-confirmed-with-rivals-found-by-account', winner.handle);
});

test('a signal that it was discarded only makes the workflow read the row: the reminder is still sent', async () => {
  const { handle, activities, untilCalled, confirm } = await startReminded();
  await handle.signal('discarded');
  await untilCalled('queueReminderEmail');
  expect(activities.expireRegistration).toHaveBeenCalledTimes(1);
  expect(await handle.query('state')).toBe('waiting');
  expect(await confirm()).toEqual(ids);
});

describe('a registration that an operator cancels', () => {
  const cases = {
    'before the reminder': {
      start: () => startRegistration({ reminderAfterMs: hours(1) }),
      after: 'queueVerificationEmail',
    },
    'after the reminder': { start: () => startReminded(), after: 'queueReminderEmail' },
    'with no reminder to come': { start: () => startRegistration(), after: 'queueVerificationEmail' },
  } as const;
  test.each(Object.entries(cases))('is cancelled in its row and in Temporal %s', async (name, { start, after }) => {
    const { handle, activities, untilCalled } = await start();
    await untilCalled(after);
    await sleep(100);
    await handle.cancel();
    await expect(handle.result()).rejects.toThrow(/cancelled/);
    expect(await statusOf(handle)).toBe('CANCELLED');
    expect(activities.cancelRegistration).toHaveBeenCalledTimes(1);
    expect(await handle.query('state')).toBe('cancelled');
    await recordHistory(`registration-cancelled-${name.replaceAll(' ', '-')}`, handle);
  });

  const steps = {
    queueVerificationEmail: (before: Start['before']) => startRegistration({ before }),
    queueReminderEmail: (before: Start['before']) => startReminded(() => ({ before })),
    expireRegistration: (before: Start['before']) => startRegistration({ ttlMs: soon, before }),
  };
  test.each(Object.entries(steps))(
    'is cancelled all the same, even while the activity %s keeps failing',
    async (step, start) => {
      const name = step as keyof typeof steps;
      const { handle, activities, untilCalled } = await start((fakes) => {
        fakes[name].mockRejectedValue(ApplicationFailure.retryable('away', 'outage'));
      });
      await untilCalled(name);
      await handle.cancel();
      await expect(handle.result()).rejects.toThrow(/cancelled/);
      expect(await statusOf(handle)).toBe('CANCELLED');
      expect(activities.cancelRegistration).toHaveBeenCalledTimes(1);
    },
  );

  test('ends as its row did, if the row ended before without it', async () => {
    const { handle, becomes, untilCalled } = await startRegistration();
    await untilCalled('queueVerificationEmail');
    becomes('discarded');
    await handle.cancel();
    expect(await handle.result()).toBe('discarded');
  });

  test('creates the account first, if it is being provisioned', async () => {
    const { handle, activities, untilCalled, confirm } = await startRegistration();
    let finish = (_: unknown) => {};
    const provision = activities.provisionRegistration.getMockImplementation()!;
    activities.provisionRegistration.mockImplementationOnce(async (id) => {
      await new Promise((resolve) => {
        finish = resolve;
      });
      return provision(id);
    });
    const confirmed = confirm();
    await untilCalled('provisionRegistration');
    await handle.cancel();
    await sleep(300);
    finish(null);
    expect(await confirmed).toEqual(ids);
    expect(await handle.result()).toBe('confirmed');
    expect(activities.cancelRegistration).not.toHaveBeenCalled();
    await recordHistory('registration-cancelled-too-late', handle);
  });
});

test('cannot be confirmed any more', async () => {
  const { handle, untilCalled, confirm } = await startRegistration();
  await untilCalled('queueVerificationEmail');
  await handle.cancel();
  await handle.result().catch(() => undefined);
  await expect(confirm()).rejects.toThrow();
});
