import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import type { ErasureStatus } from '../../entities/erasure.js';
import type { StepOutcome } from '../../src/domain/erasures/erasures.js';
import type { identityErasure } from '../../workflows/identity-erasure.js';
import { recordHistory } from '../support/histories.js';
import { startTestTemporal, type TestTemporal } from '../support/temporal.js';

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
});
afterAll(() => temporal.stop());

async function startErasure() {
  const erasureId = randomUUID();
  const order: string[] = [];
  const step = (name: string) =>
    jest.fn(async (_id: string): Promise<StepOutcome> => {
      order.push(name);
      return 'done';
    });
  const activities = {
    endErasedSessions: step('sessions'),
    removeErasedMemberships: step('memberships'),
    completeErasure: step('profile'),
    cancelErasure: jest.fn(async (_id: string, _onlyLook?: boolean): Promise<ErasureStatus> => 'cancelled'),
  };
  const { taskQueue } = await temporal.runWorker(activities);
  const start = () =>
    temporal.client.workflow.start<typeof identityErasure>('identityErasure', {
      workflowId: `identity-erasure/${erasureId}`,
      taskQueue,
      args: [{ erasureId, accountId: randomUUID(), identityId: randomUUID() }],
    });
  return { order, activities, start };
}

test('an erasure repeats a step until nothing is left for it, and then does the next one', async () => {
  const { order, activities, start } = await startErasure();
  activities.endErasedSessions.mockResolvedValueOnce('more').mockResolvedValueOnce('more');
  activities.removeErasedMemberships.mockResolvedValueOnce('more');
  const handle = await start();
  expect(await handle.result()).toBe('completed');
  expect(order).toEqual(['sessions', 'memberships', 'profile']);
  expect(activities.endErasedSessions).toHaveBeenCalledTimes(3);
  await recordHistory('identity-erasure', handle);
});

test('an erasure also removes a membership that was created meanwhile', async () => {
  const { order, activities, start } = await startErasure();
  activities.completeErasure.mockResolvedValueOnce('more');
  expect(await (await start()).result()).toBe('completed');
  expect(order).toEqual(['sessions', 'memberships', 'sessions', 'memberships', 'profile']);
});

test('a cancelled erasure finishes its step and stops before the next one', async () => {
  const { order, activities, start } = await startErasure();
  let finish = (_: StepOutcome) => {};
  activities.endErasedSessions.mockImplementationOnce(
    () =>
      new Promise((resolve) => {
        finish = resolve;
      }),
  );
  const handle = await start();
  while (activities.endErasedSessions.mock.calls.length === 0) await sleep(20);
  await handle.cancel();
  await sleep(300);
  finish('done');
  await expect(handle.result()).rejects.toThrow();
  expect((await handle.describe()).status.name).toBe('CANCELLED');
  expect(order).toEqual([]);
  expect(activities.cancelErasure).toHaveBeenCalledTimes(1);
  expect(await handle.query('state')).toBe('cancelled');
  await recordHistory('identity-erasure-cancelled', handle);
});

test.each([
  ['before its first step', null, []],
  ['in its second step', 'removeErasedMemberships', ['sessions']],
] as const)('an erasure cancelled %s begins no other step', async (_when, during, done) => {
  const { order, activities, start } = await startErasure();
  let finish = (_: StepOutcome) => {};
  if (during) {
    activities[during].mockImplementationOnce(
      () =>
        new Promise((resolve) => {
          finish = resolve;
        }),
    );
  } else activities.endErasedSessions.mockRejectedValue(new Error('away'));
  const handle = await start();
  while (activities[during ?? 'endErasedSessions'].mock.calls.length === 0) await sleep(20);
  await handle.cancel();
  if (!during) activities.endErasedSessions.mockResolvedValue('more');
  await sleep(300);
  finish('more');
  await expect(handle.result()).rejects.toThrow();
  expect((await handle.describe()).status.name).toBe('CANCELLED');
  expect(order).toEqual(done);
  expect(activities.cancelErasure).toHaveBeenCalledTimes(1);
});

test('an erasure that is cancelled in its last step is done', async () => {
  const { activities, start } = await startErasure();
  let finish = (_: StepOutcome) => {};
  activities.completeErasure.mockImplementationOnce(
    () =>
      new Promise((resolve) => {
        finish = resolve;
      }),
  );
  const handle = await start();
  while (activities.completeErasure.mock.calls.length === 0) await sleep(20);
  await handle.cancel();
  await sleep(300);
  finish('done');
  expect(await handle.result()).toBe('completed');
  expect(activities.cancelErasure).not.toHaveBeenCalled();
});

test('an erasure whose row has ended otherwise ends with the row’s status', async () => {
  const { activities, start } = await startErasure();
  activities.removeErasedMemberships.mockResolvedValueOnce('ended');
  expect(await (await start()).result()).toBe('cancelled');
  expect(activities.completeErasure).not.toHaveBeenCalled();
});

test('an erasure that was resumed after its step found it ended goes on', async () => {
  const { order, activities, start } = await startErasure();
  activities.removeErasedMemberships.mockResolvedValueOnce('ended');
  activities.cancelErasure.mockResolvedValueOnce('running');
  expect(await (await start()).result()).toBe('completed');
  expect(order).toEqual(['sessions', 'sessions', 'memberships', 'profile']);
  expect(activities.cancelErasure.mock.calls).toEqual([[expect.any(String), true]]);
});
