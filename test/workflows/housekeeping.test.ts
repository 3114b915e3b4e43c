import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import type { SweepPlace, SweptBatch } from '../../src/domain/housekeeping/housekeeping.js';
import { minutes } from '../../src/platform/clock.js';
import { ensureSchedules } from '../../src/temporal/schedules.js';
import type { HousekeepingInput, housekeeping } from '../../workflows/housekeeping.js';
import { eventCountingId, housekeepingId } from '../../workflows/ids.js';
import { recordHistory } from '../support/histories.js';
import { historyText, startTestTemporal, type TestTemporal } from '../support/temporal.js';

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
});
afterAll(() => temporal.stop());

const at = (rule: string): SweepPlace => ({ rule, after: null, looked: 0 });

/** Two batches of grants, one of sessions, one of mails. */
const batches: SweptBatch[] = [
  { table: 'grants', deleted: 1000, next: at('grants') },
  { table: 'grants', deleted: 7, next: at('sessions') },
  { table: 'sessions', deleted: 0, next: at('emails') },
  { table: 'emails', deleted: 3, next: null },
];

async function start(input: HousekeepingInput, sweepBatch = fakeBatches()) {
  const { taskQueue } = await temporal.runWorker({ sweepBatch });
  const options = { workflowId: `housekeeping-${taskQueue}`, taskQueue, args: [input] as [HousekeepingInput] };
  return { sweepBatch, handle: await temporal.client.workflow.start<typeof housekeeping>('housekeeping', options) };
}
function fakeBatches() {
  let next = 0;
  return jest.fn(
    async (_place: SweepPlace | null, _batchSize: number): Promise<SweptBatch> => batches[next++] as SweptBatch,
  );
}

test('housekeeping goes from batch to batch, and returns counts only', async () => {
  const { handle, sweepBatch } = await start({});
  expect(await handle.result()).toEqual({ deleted: { grants: 1007, emails: 3 } });
  expect(sweepBatch.mock.calls.map(([place]) => place?.rule)).toEqual([undefined, 'grants', 'sessions', 'emails']);
  expect(await handle.query('state')).toBe('done');
  await recordHistory('housekeeping', handle);
});

test('a long run continues with a fresh history, and loses neither its place nor its counts', async () => {
  const { handle } = await start({ batchesPerHistory: 3 });
  const [firstRun] = [temporal.client.workflow.getHandle(handle.workflowId, handle.firstExecutionRunId)];
  expect(await handle.result()).toEqual({ deleted: { grants: 1007, emails: 3 } });
  expect(await historyText(firstRun)).toContain('workflowExecutionContinuedAsNewEventAttributes');
  await recordHistory('housekeeping-continued', firstRun);
});

test('housekeeping that is cancelled finishes its current batch and begins no other', async () => {
  let finish = () => {};
  const fakes = fakeBatches();
  const sweepBatch = jest.fn(async (place: SweepPlace | null, batchSize: number) => {
    if (place) await new Promise<void>((resolve) => (finish = resolve));
    return fakes(place, batchSize);
  });
  const { handle } = await start({}, sweepBatch);
  while (sweepBatch.mock.calls.length < 2) await sleep(20);
  await handle.cancel();
  await sleep(300);
  finish();
  await expect(handle.result()).rejects.toThrow();
  expect((await handle.describe()).status.name).toBe('CANCELLED');
  expect(fakes).toHaveBeenCalledTimes(2);
  expect(await handle.query('state')).toBe('cancelled');
  await recordHistory('housekeeping-cancelled', handle);
});

test('housekeeping that is cancelled during the last batch of its history does not continue with a fresh one', async () => {
  let finish = () => {};
  const fakes = fakeBatches();
  const sweepBatch = jest.fn(async (place: SweepPlace | null, batchSize: number): Promise<SweptBatch> => {
    if (sweepBatch.mock.calls.length === 1) await new Promise<void>((resolve) => (finish = resolve));
    return fakes(place, batchSize);
  });
  const { handle } = await start({ batchesPerHistory: 1 }, sweepBatch);
  while (sweepBatch.mock.calls.length === 0) await sleep(20);
  await handle.cancel();
  await sleep(300);
  finish();
  await expect(handle.result()).rejects.toThrow();
  expect((await handle.describe()).status.name).toBe('CANCELLED');
  expect(sweepBatch).toHaveBeenCalledTimes(1);
  await recordHistory('housekeeping-cancelled-before-fresh', handle);
});

test('a separate run counts events, and retries while the database is away', async () => {
  let attempts = 0;
  const countEvents = jest.fn(async () => {
    if (++attempts === 1) throw new Error('away');
  });
  const { taskQueue } = await temporal.runWorker({ countEvents });
  const handle = await temporal.client.workflow.start('eventCounting', {
    workflowId: `counting-${taskQueue}`,
    taskQueue,
  });
  await handle.result();
  expect(countEvents).toHaveBeenCalledTimes(2);
  await recordHistory('event-counting', handle);
});

test('the schedule counts events every five minutes, never twice at once', async () => {
  await ensureSchedules(temporal.client, 'http://localhost');
  const { spec, policies } = await temporal.client.schedule.getHandle(eventCountingId).describe();
  expect(spec.intervals).toMatchObject([{ every: minutes(5) }]);
  expect(policies.overlap).toBe('SKIP');
});

test('the schedule runs housekeeping every hour, never twice at once', async () => {
  await ensureSchedules(temporal.client, 'http://localhost');
  const { spec, policies } = await temporal.client.schedule.getHandle(housekeepingId).describe();
  expect(spec.intervals).toMatchObject([{ every: 3_600_000 }]);
  expect(policies.overlap).toBe('SKIP');
});
