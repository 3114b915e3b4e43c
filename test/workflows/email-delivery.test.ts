import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { ApplicationFailure } from '@temporalio/common';
import proto from '@temporalio/proto';
import type { emailDelivery } from '../../workflows/email-delivery.js';
import type { EmailDeliveryInput } from '../../workflows/inputs.js';
import { recordHistory } from '../support/histories.js';
import { startTestTemporal, type TestTemporal } from '../support/temporal.js';

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
});
afterAll(async () => {
  for (const bury of silent) bury(); // or their worker would wait for them
  await temporal.stop();
});

const silent: (() => void)[] = [];
/** What a dead worker makes of an attempt. */
const silence = () =>
  new Promise<never>((_, reject) => {
    silent.push(() => reject(new Error('dead')));
  });

// Each has a worker and a mail of its own, and most of them wait: they wait together.
type Ended = 'sent' | 'failed' | 'cancelled';
const away = () => ApplicationFailure.retryable('Error ECONNREFUSED', 'outage');

async function startDelivery(times: Partial<EmailDeliveryInput> = {}) {
  const emailId = randomUUID();
  const activities = {
    sendEmail: jest.fn(async (_id: string): Promise<Ended> => 'sent'),
    giveUpEmail: jest.fn(async (_id: string): Promise<Ended> => 'failed'),
    cancelEmail: jest.fn(async (_id: string): Promise<Ended> => 'cancelled'),
  };
  const { taskQueue } = await temporal.runWorker(activities);
  const start = () =>
    temporal.client.workflow.start<typeof emailDelivery>('emailDelivery', {
      workflowId: `email/${emailId}`,
      taskQueue,
      args: [{ emailId, firstRetryMs: 100, longestRetryMs: 200, ...times }],
    });
  return { emailId, activities, start };
}

test.concurrent('a mail is sent once', async () => {
  const { emailId, activities, start } = await startDelivery();
  const handle = await start();
  expect(await handle.result()).toBe('sent');
  expect(activities.sendEmail.mock.calls).toEqual([[emailId]]);
  await recordHistory('email-sent', handle);
});

test.concurrent('it is tried again while the server is away', async () => {
  const { activities, start } = await startDelivery();
  activities.sendEmail.mockRejectedValueOnce(away()).mockRejectedValueOnce(away());
  const handle = await start();
  expect(await handle.result()).toBe('sent');
  expect(activities.sendEmail).toHaveBeenCalledTimes(3);
});

test.concurrent('when its time is over it fails where everybody can see it', async () => {
  const { emailId, activities, start } = await startDelivery({ giveUpAfterMs: 1_500 });
  activities.sendEmail.mockRejectedValue(away());
  const handle = await start();
  await expect(handle.result()).rejects.toThrow();
  expect((await handle.describe()).status.name).toBe('FAILED');
  expect(activities.giveUpEmail.mock.calls).toEqual([[emailId]]);
  expect(await handle.query('state')).toBe('failed');
  await recordHistory('email-failed', handle);
});

test.concurrent('one that the server refused is failed without another try', async () => {
  const { activities, start } = await startDelivery();
  activities.sendEmail.mockResolvedValue('failed');
  const handle = await start();
  await expect(handle.result()).rejects.toThrow();
  expect(activities.sendEmail).toHaveBeenCalledTimes(1);
  expect(activities.giveUpEmail).not.toHaveBeenCalled();
});

test.concurrent('one that has nothing to say any more ends as cancelled', async () => {
  const { activities, start } = await startDelivery();
  activities.sendEmail.mockResolvedValue('cancelled');
  expect(await (await start()).result()).toBe('cancelled');
});

test.concurrent('cancelled between two tries, its row says so', async () => {
  const { emailId, activities, start } = await startDelivery({ firstRetryMs: 30_000, longestRetryMs: 30_000 });
  activities.sendEmail.mockRejectedValue(away());
  const handle = await start();
  while (activities.sendEmail.mock.calls.length === 0) await sleep(20);
  await handle.cancel();
  await expect(handle.result()).rejects.toThrow();
  expect((await handle.describe()).status.name).toBe('CANCELLED');
  expect(activities.cancelEmail.mock.calls).toEqual([[emailId]]);
  await recordHistory('email-cancelled', handle);
});

test.concurrent('cancelled while the server is taking it, it counts as sent', async () => {
  const { activities, start } = await startDelivery();
  let take = (_: Ended) => {};
  activities.sendEmail.mockImplementationOnce(
    () =>
      new Promise((resolve) => {
        take = resolve;
      }),
  );
  const handle = await start();
  while (activities.sendEmail.mock.calls.length === 0) await sleep(20);
  await handle.cancel();
  await sleep(300);
  take('sent');
  expect(await handle.result()).toBe('sent');
  expect(activities.cancelEmail).not.toHaveBeenCalled();
});

test.concurrent('cancelled while it is given up, it has failed', async () => {
  const { activities, start } = await startDelivery({ giveUpAfterMs: 500 });
  let cancelled = false;
  activities.sendEmail.mockRejectedValue(away());
  activities.giveUpEmail.mockImplementation(async () => {
    if (!cancelled) throw away();
    return 'failed';
  });
  const handle = await start();
  while (activities.giveUpEmail.mock.calls.length === 0) await sleep(20);
  await handle.cancel();
  cancelled = true;
  await expect(handle.result()).rejects.toThrow();
  expect((await handle.describe()).status.name).toBe('FAILED');
  expect(activities.cancelEmail).not.toHaveBeenCalled();
});

test.concurrent('a worker that falls silent with an attempt is taken for dead long before the attempt could be over, and another one sends', async () => {
  const { activities, start } = await startDelivery();
  activities.sendEmail.mockImplementationOnce(silence);
  const handle = await start();
  expect(await handle.result()).toBe('sent');
  expect(activities.sendEmail.mock.calls.length).toBeGreaterThanOrEqual(2);
  // By the heartbeat that did not come, and not by the minutes that the attempt itself may take.
  const { events } = await handle.fetchHistory();
  const failures = events?.map((event) => event.activityTaskStartedEventAttributes?.lastFailure?.timeoutFailureInfo);
  const { TIMEOUT_TYPE_HEARTBEAT } = proto.temporal.api.enums.v1.TimeoutType;
  expect(failures?.map((failure) => failure?.timeoutType)).toContain(TIMEOUT_TYPE_HEARTBEAT);
});

test.concurrent('a worker falls silent with an attempt, and it is cancelled: the mail is cancelled, and not failed for want of an answer', async () => {
  const { activities, start } = await startDelivery();
  activities.sendEmail.mockImplementation(silence);
  const handle = await start();
  while (activities.sendEmail.mock.calls.length === 0) await sleep(20);
  await handle.cancel();
  await expect(handle.result()).rejects.toThrow();
  expect((await handle.describe()).status.name).toBe('CANCELLED');
  expect(activities.cancelEmail).toHaveBeenCalledTimes(1);
  expect(activities.giveUpEmail).not.toHaveBeenCalled();
  await recordHistory('email-cancelled-with-a-dead-worker', handle);
});

test.concurrent('its time passes while no worker tries: it is tried once more before it is given up', async () => {
  const { activities, start } = await startDelivery({ giveUpAfterMs: 1_000 });
  activities.sendEmail.mockImplementationOnce(silence);
  const handle = await start();
  expect(await handle.result()).toBe('sent');
  expect(activities.sendEmail).toHaveBeenCalledTimes(2);
  expect(activities.giveUpEmail).not.toHaveBeenCalled();
  await recordHistory('email-sent-by-a-last-attempt', handle);
});

test.concurrent('the attempt after such a time is the last', async () => {
  const { activities, start } = await startDelivery({ giveUpAfterMs: 1_000 });
  activities.sendEmail.mockImplementationOnce(silence).mockRejectedValue(away());
  const handle = await start();
  await expect(handle.result()).rejects.toThrow();
  expect(activities.sendEmail).toHaveBeenCalledTimes(2);
  expect(activities.giveUpEmail).toHaveBeenCalledTimes(1);
});
