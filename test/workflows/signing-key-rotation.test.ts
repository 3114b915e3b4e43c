import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import type { TypedSearchAttributes } from '@temporalio/common';
import { ensureSchedules, findSchedules } from '../../src/temporal/schedules.js';
import { housekeepingId, reconcilerId, signingKeyRotationId } from '../../workflows/ids.js';
import { stateKey } from '../../workflows/search-attributes.js';
import { recordHistory } from '../support/histories.js';
import { startTestTemporal, type TestTemporal } from '../support/temporal.js';
import { until } from '../support/until.js';

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
});
afterAll(() => temporal.stop());

test('many workers create one schedule, and it rotates the keys', async () => {
  await Promise.all([1, 2, 3].map(() => ensureSchedules(temporal.client, 'http://localhost')));
  const schedule = temporal.client.schedule.getHandle(signingKeyRotationId);
  const rotateSigningKeys = jest.fn(async () => ({ created: 'kid-2' }));
  await temporal.runWorker({ rotateSigningKeys }, 'processes');
  await schedule.pause('only by hand'); // the test may run at the hour of its daily run
  await schedule.trigger();
  const { workflowId } = await until('its run', async () => {
    const [action] = (await schedule.describe()).info.recentActions;
    return action?.action.type === 'startWorkflow' && action.action.workflow;
  });
  const handle = temporal.client.workflow.getHandle(workflowId);
  expect(await handle.result()).toBe('kid-2');
  expect(rotateSigningKeys).toHaveBeenCalledTimes(1);
  await recordHistory('signing-key-rotation', handle);
});

test('a schedule that differs is updated, and stays paused if it was', async () => {
  await ensureSchedules(temporal.client, 'http://localhost');
  const schedule = temporal.client.schedule.getHandle(signingKeyRotationId);
  await schedule.update((current) => ({ ...current, spec: { intervals: [{ every: '5 days' }] } }));
  await schedule.pause('maintenance');
  await ensureSchedules(temporal.client, 'http://localhost');
  const { spec, state } = await schedule.describe();
  expect(spec.intervals ?? []).toEqual([]);
  expect(spec.calendars?.[0]?.hour).toEqual([{ start: 3, end: 3, step: 1 }]);
  expect(state.paused).toBe(true);
});

test('a rotation that is cancelled while no key can be created stops', async () => {
  const rotateSigningKeys = jest.fn(async (): Promise<{ created: string | null }> => {
    throw new Error('away');
  });
  const { taskQueue } = await temporal.runWorker({ rotateSigningKeys });
  const handle = await temporal.client.workflow.start('signingKeyRotation', {
    workflowId: 'signing-key-rotation-cancelled',
    taskQueue,
  });
  while (rotateSigningKeys.mock.calls.length === 0) await sleep(20);
  expect(await handle.query('__temporal_workflow_metadata')).toMatchObject({
    currentDetails: expect.stringContaining('Cancelling ends this run'),
  });
  await handle.cancel();
  await expect(handle.result()).rejects.toThrow();
  expect((await handle.describe()).status.name).toBe('CANCELLED');
  await recordHistory('signing-key-rotation-cancelled', handle);
});

test('the schedules name the installation they belong to', async () => {
  await ensureSchedules(temporal.client, 'https://id.example.com');
  expect(await findSchedules(temporal.client)).toEqual({ issuer: 'https://id.example.com' });
  await ensureSchedules(temporal.client, 'https://id.example.org');
  expect(await findSchedules(temporal.client)).toEqual({ issuer: 'https://id.example.org' });
  await temporal.client.schedule.getHandle(signingKeyRotationId).delete();
  expect(await findSchedules(temporal.client)).toBeNull();
});

test('a schedule with a limited number of runs counts as lost, and is made unlimited again', async () => {
  await ensureSchedules(temporal.client, 'https://id.example.org');
  const schedule = temporal.client.schedule.getHandle(signingKeyRotationId);
  await schedule.update(({ state, ...current }) => ({ ...current, state: { ...state, remainingActions: 1 } }));
  expect(await findSchedules(temporal.client)).toBeNull();
  await ensureSchedules(temporal.client, 'https://id.example.org');
  expect(await findSchedules(temporal.client)).not.toBeNull();
});

test('runs of workflows with states can be found by state from the start', async () => {
  await ensureSchedules(temporal.client, 'https://id.example.org');
  const states = [housekeepingId, reconcilerId].map(async (id) => {
    const { action } = await temporal.client.schedule.getHandle(id).describe();
    return (action.typedSearchAttributes as TypedSearchAttributes).get(stateKey);
  });
  expect(await Promise.all(states)).toEqual(['sweeping', 'looking']);
});
