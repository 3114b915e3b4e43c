import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import type { EmailChangeStatus } from '../../entities/email-change.js';
import { hours } from '../../src/platform/clock.js';
import type { emailChange } from '../../workflows/email-change.js';
import { recordHistory } from '../support/histories.js';
import { startTestTemporal, type TestTemporal } from '../support/temporal.js';

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
});
afterAll(() => temporal.stop());

/** Starts the process of a change whose row has these states, look by look; the last one is repeated. */
async function startChange(expiresInMs: number, looks: EmailChangeStatus[]) {
  let next = 0;
  const activities = {
    expireEmailChange: jest.fn(async (_id: string) => looks[Math.min(next++, looks.length - 1)] as EmailChangeStatus),
    cancelEmailChange: jest.fn(async (_id: string): Promise<EmailChangeStatus> => 'cancelled'),
  };
  const { taskQueue } = await temporal.runWorker(activities);
  const changeId = randomUUID();
  const handle = await temporal.client.workflow.start<typeof emailChange>('emailChange', {
    workflowId: `email-change/${changeId}`,
    taskQueue,
    args: [{ changeId, expiresAt: new Date(Date.now() + expiresInMs).toISOString() }],
  });
  return { handle, activities, changeId };
}

test('a change that nobody confirms expires at its time', async () => {
  const { handle, activities, changeId } = await startChange(1_000, ['pending', 'expired']);
  expect(await handle.query('state')).toBe('waiting');
  expect(await handle.result()).toBe('expired');
  expect(activities.expireEmailChange.mock.calls).toEqual([[changeId], [changeId]]);
  await recordHistory('email-change-read-first-expired', handle);
});

test('a change whose row is not over yet, by its own clock, is looked at again after a while', async () => {
  const { handle, activities } = await startChange(-1_000, ['pending', 'expired']);
  const started = Date.now();
  expect(await handle.result()).toBe('expired');
  expect(activities.expireEmailChange).toHaveBeenCalledTimes(2);
  expect(Date.now() - started).toBeGreaterThan(900);
});

test.each(['confirmed', 'withdrawn'] as const)('a change that is %s ends at once, as the row says', async (status) => {
  const { handle } = await startChange(hours(24), ['pending', status]);
  await sleep(200);
  await handle.signal('ended');
  expect(await handle.result()).toBe(status);
  await recordHistory(`email-change-read-first-${status}`, handle);
});

test('a change that had ended before its process was started ends at once, as the row says', async () => {
  const { handle } = await startChange(hours(24), ['withdrawn']);
  expect(await handle.result()).toBe('withdrawn');
  await recordHistory('email-change-read-first-ended-before', handle);
});

test('a signal that is sent by hand ends nothing', async () => {
  const { handle, activities } = await startChange(hours(24), ['pending', 'pending', 'confirmed']);
  await handle.signal('ended');
  while (activities.expireEmailChange.mock.calls.length < 2) await sleep(20);
  await sleep(200);
  expect(await handle.query('state')).toBe('waiting');
  await handle.signal('ended');
  expect(await handle.result()).toBe('confirmed');
});

test('a change that an operator cancels ends its row', async () => {
  const { handle, activities, changeId } = await startChange(hours(24), ['pending']);
  expect(await handle.query('state')).toBe('waiting');
  await handle.cancel();
  await expect(handle.result()).rejects.toThrow();
  expect((await handle.describe()).status.name).toBe('CANCELLED');
  expect(activities.cancelEmailChange.mock.calls).toEqual([[changeId]]);
  expect(await handle.query('state')).toBe('cancelled');
  await recordHistory('email-change-read-first-cancelled', handle);
});

test('a change that is cancelled too late reports how it had ended', async () => {
  const { handle, activities } = await startChange(hours(24), ['pending']);
  activities.cancelEmailChange.mockResolvedValue('confirmed');
  expect(await handle.query('state')).toBe('waiting');
  await handle.cancel();
  expect(await handle.result()).toBe('confirmed');
  await recordHistory('email-change-read-first-cancelled-too-late', handle);
});
