import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import type { WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure, WorkflowNotFoundError } from '@temporalio/common';
import type { AccountIntentStatus } from '../../entities/account-intent.js';
import type { accountIntent } from '../../workflows/account-intent.js';
import { recordHistory } from '../support/histories.js';
import { patience } from '../support/patience.js';
import { startTestTemporal, statusOf, type TestTemporal } from '../support/temporal.js';

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
});
afterAll(() => temporal.stop());

type Made = { accountId: string; applicationId: string };
const ids: Made = { accountId: randomUUID(), applicationId: randomUUID() };
const outage = () => ApplicationFailure.retryable('away', 'outage');
const slugTaken = () => ApplicationFailure.nonRetryable('taken', 'account.slug_taken');

/** Replaces the row, which decides. */
function fakeActivities(expiresAt: () => number, row: AccountIntentStatus) {
  let status = row;
  let claimed = '';
  return {
    announceIntent: jest.fn(async (_id: string) => status),
    claimIntent: jest.fn(async (_id: string, claimId: string) => {
      if (status === 'parked') [status, claimed] = ['claimed', claimId];
      return claimed === claimId ? { mine: true, discardedIds: [] as string[] } : { mine: false, status };
    }),
    provisionIntent: jest.fn(async (_id: string) => {
      if (status !== 'claimed') throw ApplicationFailure.nonRetryable('refused', 'account_intent.not_found');
      status = 'consumed';
      return ids;
    }),
    failIntent: jest.fn(async (_id: string, _reason: string): Promise<Made | null> => {
      if (status === 'claimed') status = 'failed';
      return status === 'consumed' ? ids : null;
    }),
    expireIntent: jest.fn(async (_id: string) => {
      if (status === 'parked' && Date.now() >= expiresAt()) status = 'expired';
      return status;
    }),
    cancelIntent: jest.fn(async (_id: string) => {
      if (status === 'parked') status = 'cancelled';
      return status;
    }),
    /** Changes the row as another process would. */
    becomes(next: AccountIntentStatus) {
      status = next;
    },
  };
}

type Activities = Omit<ReturnType<typeof fakeActivities>, 'becomes'>;
interface Start {
  ttlMs?: number;
  row?: AccountIntentStatus;
  /** Changes what its activities do, before it runs. */
  before?(activities: Activities): void;
}

async function startIntent({ ttlMs = 3_600_000, row = 'parked', before }: Start = {}) {
  const id = randomUUID();
  const expiresAt = Date.now() + ttlMs;
  const { becomes, ...activities } = fakeActivities(() => expiresAt, row);
  before?.(activities);
  const { taskQueue } = await temporal.runWorker(activities);
  const handle = await temporal.client.workflow.start<typeof accountIntent>('accountIntent', {
    workflowId: `account-intent/${id}`,
    taskQueue,
    args: [{ intentId: id, expiresAt: new Date(expiresAt).toISOString() }],
  });
  const resume = (claimId: string = randomUUID()) =>
    handle.executeUpdate<Made, [string]>('resume', { args: [claimId], updateId: claimId });
  const untilCalled = async (name: keyof typeof activities, times = 1) => {
    for (let waited = 0; activities[name].mock.calls.length < times; waited += 20) {
      if (waited > patience) throw new Error(`${name} was not called`);
      await sleep(20);
    }
  };
  return { id, handle, activities, becomes, resume, untilCalled };
}

const codeOf = (error: unknown) => ((error as WorkflowUpdateFailedError).cause as ApplicationFailure).type;
/** Returns the code of a refusal; a call after the end finds no workflow, which callers see as the same refusal. */
const refusalOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'none',
    (error: unknown) => (error instanceof WorkflowNotFoundError ? 'account_intent.not_found' : codeOf(error)),
  );
/** Fails with an outage until something has happened. */
const outageUntil = (hasHappened: () => boolean, work: (...args: never[]) => Promise<unknown>) =>
  (async (...args: never[]) => {
    if (!hasHappened()) throw outage();
    return work(...args);
  }) as never;
test('a resumed intent is claimed, then provisioned, and its state names the Account', async () => {
  const { id, handle, activities, resume } = await startIntent();
  const claimId = randomUUID();
  expect(await resume(claimId)).toEqual(ids);
  expect(await handle.result()).toBe('consumed');
  expect(activities.announceIntent.mock.calls).toEqual([[id]]);
  expect(activities.claimIntent.mock.calls).toEqual([[id, claimId]]);
  expect(activities.provisionIntent.mock.calls).toEqual([[id]]);
  expect(await handle.query('state')).toBe('consumed');
  const attributes = JSON.stringify((await handle.describe()).typedSearchAttributes);
  expect(attributes).toContain('consumed');
  expect(attributes).toContain(ids.accountId);
  await recordHistory('account-intent', handle);
});

// As many as a server accepts for one workflow at once; `account-intent-processes` has more.
test('ten resumes at once provision once; the others are refused', async () => {
  const { handle, activities, resume } = await startIntent();
  const outcomes = await Promise.all(Array.from({ length: 10 }, () => refusalOf(resume())));
  expect(outcomes.sort()).toEqual([...Array.from({ length: 9 }, () => 'account_intent.not_found'), 'none']);
  expect(await handle.result()).toBe('consumed');
  expect(activities.claimIntent).toHaveBeenCalledTimes(1);
  expect(activities.provisionIntent).toHaveBeenCalledTimes(1);
});

test('the same resume request gets the same answer again', async () => {
  const { activities, resume } = await startIntent();
  const claimId = randomUUID();
  expect(await Promise.all([resume(claimId), resume(claimId)])).toEqual([ids, ids]);
  expect(activities.provisionIntent).toHaveBeenCalledTimes(1);
});

test('an intent survives a lost answer of any step, and creates one Account', async () => {
  const { handle, activities, resume } = await startIntent();
  for (const activity of [activities.claimIntent, activities.provisionIntent] as jest.Mock<() => Promise<unknown>>[]) {
    const work = activity.getMockImplementation() as (...args: unknown[]) => Promise<unknown>;
    activity.mockImplementationOnce((async (...args: unknown[]) => {
      await work(...args);
      throw outage(); // after its effect was committed
    }) as never);
  }
  // The second run of the provisioning finds it done.
  activities.provisionIntent.mockImplementation(async () => ids);
  expect(await resume()).toEqual(ids);
  expect(await handle.result()).toBe('consumed');
});

test('an intent that nobody resumes expires at its time', async () => {
  const { handle, activities } = await startIntent({ ttlMs: 1_500 });
  expect(await handle.result()).toBe('expired');
  expect(activities.expireIntent).toHaveBeenCalled();
  await recordHistory('account-intent-expired', handle);
});

test('a discarded intent ends, and cannot be resumed', async () => {
  const { handle, untilCalled, becomes, resume, activities } = await startIntent();
  await untilCalled('announceIntent');
  becomes('discarded');
  await handle.signal('discard');
  expect(await handle.result()).toBe('discarded');
  await expect(resume()).rejects.toThrow();
  expect(activities.claimIntent).not.toHaveBeenCalled();
  await recordHistory('account-intent-discarded-as-the-row-says', handle);
});

test('a signal that the intent was discarded only makes the workflow read the row', async () => {
  const { handle, untilCalled, resume } = await startIntent();
  await handle.signal('discard');
  await untilCalled('expireIntent');
  expect(await handle.query('state')).toBe('parked');
  expect(await resume()).toEqual(ids);
});

test('an intent whose row ended before or without its workflow ends the workflow', async () => {
  const early = await startIntent({ row: 'discarded' });
  expect(await early.handle.result()).toBe('discarded');
  const late = await startIntent();
  await late.untilCalled('announceIntent');
  late.becomes('discarded');
  expect(await refusalOf(late.resume())).toBe('account_intent.not_found');
  expect(await late.handle.result()).toBe('discarded');
});

test('a resumed intent ends older intents of the same user', async () => {
  const older = await startIntent();
  const newer = await startIntent();
  newer.activities.claimIntent.mockImplementationOnce(async () => {
    newer.becomes('claimed');
    older.becomes('discarded');
    return { mine: true, discardedIds: [older.id, randomUUID()] };
  });
  expect(await newer.resume()).toEqual(ids);
  expect(await older.handle.result()).toBe('discarded');
  expect(await newer.handle.result()).toBe('consumed');
  await recordHistory('account-intent-with-older-ones', newer.handle);
});

describe('an intent whose Account cannot be created', () => {
  test('fails with the reason, for its caller and in the Temporal UI', async () => {
    const { id, handle, activities, resume } = await startIntent();
    activities.provisionIntent.mockRejectedValue(slugTaken());
    expect(await refusalOf(resume())).toBe('account.slug_taken');
    await expect(handle.result()).rejects.toThrow();
    expect(await statusOf(handle)).toBe('FAILED');
    expect(activities.failIntent.mock.calls).toEqual([[id, 'account.slug_taken']]);
    expect(await handle.query('state')).toBe('failed');
    await recordHistory('account-intent-failed', handle);
  });

  test('is provisioned by a new run when support retries it', async () => {
    const { handle, activities } = await startIntent({ row: 'claimed' });
    expect(await handle.result()).toBe('consumed');
    expect(activities.claimIntent).not.toHaveBeenCalled();
    await recordHistory('account-intent-retried', handle);
  });

  test('was created after all, if the row says so', async () => {
    const { handle, activities, resume } = await startIntent();
    activities.provisionIntent.mockRejectedValue(slugTaken());
    activities.failIntent.mockResolvedValue(ids);
    expect(await resume()).toEqual(ids);
    expect(await handle.result()).toBe('consumed');
  });
});

describe('an intent that an operator cancels', () => {
  test.each([
    ['announceIntent', 3_600_000],
    ['expireIntent', 1_500],
  ] as const)('is cancelled even while %s keeps failing', async (step, ttlMs) => {
    const before = (activities: Activities) => void activities[step].mockRejectedValue(outage());
    const { handle, activities, untilCalled } = await startIntent({ ttlMs, before });
    await untilCalled(step);
    await handle.cancel();
    await expect(handle.result()).rejects.toThrow(/cancelled/);
    expect(await statusOf(handle)).toBe('CANCELLED');
    expect(activities.cancelIntent).toHaveBeenCalledTimes(1);
  });

  test('creates the Account first, while a claim of an earlier run is provisioned', async () => {
    let cancelled = false;
    const before = ({ provisionIntent }: Activities) =>
      void provisionIntent.mockImplementation(outageUntil(() => cancelled, provisionIntent.getMockImplementation()!));
    const { handle, activities, untilCalled } = await startIntent({ row: 'claimed', before });
    await untilCalled('provisionIntent');
    await handle.cancel();
    cancelled = true;
    expect(await handle.result()).toBe('consumed');
    expect(activities.provisionIntent.mock.calls.length).toBeGreaterThanOrEqual(2);
    expect(activities.cancelIntent).not.toHaveBeenCalled();
  });

  test('is cancelled in its row and in Temporal while it waits, and cannot be resumed', async () => {
    const { handle, activities, untilCalled, resume } = await startIntent();
    await untilCalled('announceIntent');
    await sleep(100);
    await handle.cancel();
    await expect(handle.result()).rejects.toThrow(/cancelled/);
    expect(await statusOf(handle)).toBe('CANCELLED');
    expect(activities.cancelIntent).toHaveBeenCalledTimes(1);
    expect(await handle.query('state')).toBe('cancelled');
    await expect(resume()).rejects.toThrow();
    await recordHistory('account-intent-cancelled', handle);
  });

  test.each(['claimIntent', 'provisionIntent'] as const)('creates the Account first during %s', async (step) => {
    const { handle, activities, untilCalled, resume } = await startIntent();
    let finish = (_: unknown) => {};
    const activity = activities[step] as unknown as jest.Mock<(...args: unknown[]) => Promise<unknown>>;
    const work = activity.getMockImplementation()!;
    activity.mockImplementationOnce(async (...args) => {
      await new Promise((resolve) => {
        finish = resolve;
      });
      return work(...args);
    });
    const resumed = resume();
    await untilCalled(step);
    await handle.cancel();
    await sleep(300);
    finish(null);
    expect(await resumed).toEqual(ids);
    expect(await handle.result()).toBe('consumed');
    expect(activities.cancelIntent).not.toHaveBeenCalled();
    await recordHistory(`account-intent-cancelled-during-${step}`, handle);
  });

  test('has failed if it is cancelled while it fails', async () => {
    const { handle, activities, untilCalled, resume } = await startIntent();
    activities.provisionIntent.mockRejectedValue(slugTaken());
    let cancelled = false;
    activities.failIntent.mockImplementation(
      outageUntil(() => cancelled, activities.failIntent.getMockImplementation()!),
    );
    const refused = refusalOf(resume());
    await untilCalled('failIntent');
    await handle.cancel();
    cancelled = true;
    expect(await refused).toBe('account.slug_taken');
    await handle.result().catch(() => undefined);
    expect(await statusOf(handle)).toBe('FAILED');
  });
});

test('a resume by hand with anything but a request id is refused, and the intent goes on waiting', async () => {
  const { handle, activities } = await startIntent();
  for (const wrong of ['please', 7 as never, null as never]) {
    const asked = handle.executeUpdate<Made, [string]>('resume', { args: [wrong] });
    expect(await refusalOf(asked)).toBe('invalid_argument');
  }
  expect(activities.claimIntent).not.toHaveBeenCalled();
  expect(await handle.executeUpdate<Made, []>('resume')).toEqual(ids);
});

test('a claim that fails is given up within a minute, and the workflow then reacts to a cancel', async () => {
  const { handle, activities, resume, untilCalled } = await startIntent({
    before: (its) => its.claimIntent.mockRejectedValue(outage()),
  });
  const asked = refusalOf(resume());
  await untilCalled('claimIntent');
  await handle.cancel();
  expect(await asked).toBe('service.unavailable');
  await expect(handle.result()).rejects.toThrow();
  expect(activities.cancelIntent).toHaveBeenCalledTimes(1);
  expect(await statusOf(handle)).toBe('CANCELLED');
  await recordHistory('account-intent-claim-given-up', handle);
}, 100_000);
