import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import type { Reconciled, ReconcilerPlace } from '../../src/domain/processes/reconciler.js';
import { ensureSchedules } from '../../src/temporal/schedules.js';
import { reconcilerId } from '../../workflows/ids.js';
import type { ReconcilerInput, reconciler } from '../../workflows/reconciler.js';
import { recordHistory } from '../support/histories.js';
import { startTestTemporal, type TestTemporal } from '../support/temporal.js';

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
});
afterAll(() => temporal.stop());

const kinds = ['registrationVerification', 'emailDelivery'] as const;
const pages: Reconciled[] = [
  { kind: kinds[0], looked: 500, restarted: 0, failed: [], next: { kind: kinds[0], after: 'a' } },
  { kind: kinds[0], looked: 20, restarted: 3, failed: [], next: { kind: kinds[1], after: '' } },
  { kind: kinds[1], looked: 2, restarted: 0, failed: [], next: null },
];
function fakePages() {
  let next = 0;
  return jest.fn(async (_place: ReconcilerPlace | null, _pageSize: number) => pages[next++] as Reconciled);
}
async function start(input: ReconcilerInput, reconcilePage = fakePages()) {
  const { taskQueue } = await temporal.runWorker({ reconcilePage });
  const options = { workflowId: `reconciler-${taskQueue}`, taskQueue, args: [input] as [ReconcilerInput] };
  return { reconcilePage, handle: await temporal.client.workflow.start<typeof reconciler>('reconciler', options) };
}

test('the reconciler reads every page of every kind, and returns counts only', async () => {
  const { handle, reconcilePage } = await start({});
  expect(await handle.result()).toEqual({ looked: 522, restarted: { registrationVerification: 3 } });
  expect(reconcilePage.mock.calls.map(([place]) => place)).toEqual([null, pages[0]?.next, pages[1]?.next]);
  expect(await handle.query('state')).toBe('done');
  await recordHistory('reconciler', handle);
});

test('a page that cannot be read stops no other page, and fails the run at its end', async () => {
  let next = 0;
  const reconcilePage = jest.fn(async () => ({
    ...(pages[next++] as Reconciled),
    failed: next === 1 ? ['email/a', 'email/b'] : [],
  }));
  const { handle } = await start({ pagesPerHistory: 2 }, reconcilePage);
  const cause = { type: 'NotAllHealed', message: 'could not be looked at: email/a, email/b' };
  await expect(handle.result()).rejects.toMatchObject({ cause });
  expect(reconcilePage).toHaveBeenCalledTimes(3);
});

test('a long run continues with a fresh history', async () => {
  const { handle } = await start({ pagesPerHistory: 2 });
  const firstRun = temporal.client.workflow.getHandle(handle.workflowId, handle.firstExecutionRunId);
  expect(await handle.result()).toEqual({ looked: 522, restarted: { registrationVerification: 3 } });
  await recordHistory('reconciler-continued', firstRun);
});

test('a cancelled reconciler finishes its current page and reads no other', async () => {
  let finish = () => {};
  const fakes = fakePages();
  const reconcilePage = jest.fn(async (place: ReconcilerPlace | null, pageSize: number) => {
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
    return fakes(place, pageSize);
  });
  const { handle } = await start({}, reconcilePage);
  while (reconcilePage.mock.calls.length === 0) await sleep(20);
  await handle.cancel();
  await sleep(300);
  finish();
  await expect(handle.result()).rejects.toThrow();
  expect((await handle.describe()).status.name).toBe('CANCELLED');
  expect(fakes).toHaveBeenCalledTimes(1);
  await recordHistory('reconciler-cancelled', handle);
});

test('a reconciler that is cancelled during the last page of its history does not continue with a fresh one', async () => {
  let finish = () => {};
  const fakes = fakePages();
  const reconcilePage = jest.fn(async (place: ReconcilerPlace | null, pageSize: number): Promise<Reconciled> => {
    if (reconcilePage.mock.calls.length === 1) await new Promise<void>((resolve) => (finish = resolve));
    return fakes(place, pageSize);
  });
  const { handle } = await start({ pagesPerHistory: 1 }, reconcilePage);
  while (reconcilePage.mock.calls.length === 0) await sleep(20);
  await handle.cancel();
  await sleep(300);
  finish();
  await expect(handle.result()).rejects.toThrow();
  expect((await handle.describe()).status.name).toBe('CANCELLED');
  expect(reconcilePage).toHaveBeenCalledTimes(1);
  await recordHistory('reconciler-cancelled-before-fresh', handle);
});

test('the schedule runs the reconciler every five minutes, never twice at once', async () => {
  await ensureSchedules(temporal.client, 'http://localhost');
  const { spec, policies } = await temporal.client.schedule.getHandle(reconcilerId).describe();
  expect(spec.intervals).toMatchObject([{ every: 300_000 }]);
  expect(policies.overlap).toBe('SKIP');
});
