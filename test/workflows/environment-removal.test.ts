import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import type { EnvironmentRemovalStatus } from '../../entities/environment-removal.js';
import type { RemovalOutcome } from '../../src/domain/environment-removals/removals.js';
import type { environmentRemoval } from '../../workflows/environment-removal.js';
import { recordHistory } from '../support/histories.js';
import { startTestTemporal, type TestTemporal } from '../support/temporal.js';

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
});
afterAll(() => temporal.stop());

/** Returns a promise that the test settles, so that a step lasts as long as needed. */
function held<T>() {
  let settle = (_: T) => {};
  const promise = new Promise<T>((resolve) => {
    settle = resolve;
  });
  return { promise, settle };
}

async function startRemoval() {
  const removalId = randomUUID();
  const step = () => jest.fn(async (_id: string): Promise<RemovalOutcome> => 'done');
  const activities = {
    removeEnvironmentContents: step(),
    completeEnvironmentRemoval: step(),
    cancelEnvironmentRemoval: jest.fn(
      async (_id: string, _onlyLook?: boolean): Promise<EnvironmentRemovalStatus> => 'cancelled',
    ),
  };
  const { taskQueue } = await temporal.runWorker(activities);
  const start = () =>
    temporal.client.workflow.start<typeof environmentRemoval>('environmentRemoval', {
      workflowId: `environment-removal/${removalId}`,
      taskQueue,
      args: [{ removalId, accountId: randomUUID(), environmentId: randomUUID() }],
    });
  const until = async (look: () => boolean) => {
    while (!look()) await sleep(20);
  };
  return { activities, start, until };
}

test('a removal deletes until nothing is left, rows created meanwhile included, and then the environment', async () => {
  const { activities, start } = await startRemoval();
  activities.removeEnvironmentContents.mockResolvedValueOnce('more').mockResolvedValueOnce('more');
  activities.completeEnvironmentRemoval.mockResolvedValueOnce('more');
  const handle = await start();
  expect(await handle.result()).toBe('completed');
  expect(activities.removeEnvironmentContents).toHaveBeenCalledTimes(4);
  expect(activities.completeEnvironmentRemoval).toHaveBeenCalledTimes(2);
  expect(activities.cancelEnvironmentRemoval).not.toHaveBeenCalled();
  await recordHistory('environment-removal', handle);
});

test('a cancelled removal finishes its step and begins no other', async () => {
  const { activities, start, until } = await startRemoval();
  const step = held<RemovalOutcome>();
  activities.removeEnvironmentContents.mockImplementation(() => step.promise);
  const handle = await start();
  await until(() => activities.removeEnvironmentContents.mock.calls.length > 0);
  await handle.cancel(); // the cancel is in the history once this is answered
  step.settle('more');
  await expect(handle.result()).rejects.toThrow();
  expect((await handle.describe()).status.name).toBe('CANCELLED');
  // The steps, and not their attempts: a worker that was stalled counts as dead, and its step is tried again.
  const { events } = await handle.fetchHistory();
  const begun = events?.map((event) => event.activityTaskScheduledEventAttributes?.activityType?.name).filter(Boolean);
  expect(begun).toEqual(['removeEnvironmentContents', 'cancelEnvironmentRemoval']);
  expect(await handle.query('state')).toBe('cancelled');
  await recordHistory('environment-removal-cancelled', handle);
});

test('a removal that is cancelled in its last step is done', async () => {
  const { activities, start, until } = await startRemoval();
  const step = held<RemovalOutcome>();
  activities.completeEnvironmentRemoval.mockImplementation(() => step.promise);
  const handle = await start();
  await until(() => activities.completeEnvironmentRemoval.mock.calls.length > 0);
  await handle.cancel();
  step.settle('done');
  expect(await handle.result()).toBe('completed');
  expect(activities.cancelEnvironmentRemoval).not.toHaveBeenCalled();
});

test('a removal whose row has ended otherwise ends with the row’s status', async () => {
  const { activities, start } = await startRemoval();
  activities.removeEnvironmentContents.mockResolvedValueOnce('ended');
  expect(await (await start()).result()).toBe('cancelled');
  expect(activities.completeEnvironmentRemoval).not.toHaveBeenCalled();
});

test('a removal that was resumed after its step found it ended goes on', async () => {
  const { activities, start } = await startRemoval();
  activities.removeEnvironmentContents.mockResolvedValueOnce('ended');
  activities.cancelEnvironmentRemoval.mockResolvedValueOnce('running');
  expect(await (await start()).result()).toBe('completed');
  expect(activities.cancelEnvironmentRemoval.mock.calls).toEqual([[expect.any(String), true]]);
});
