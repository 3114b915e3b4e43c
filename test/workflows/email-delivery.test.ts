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
/** Never answers, like an attempt whose worker has died. */
const silence = () =>
  new Promise<never>((_, reject) => {
    silent.push(() => reject(new Error('dead')));
  });

// Each test has its own worker and mail, and most tests wait: they wait together.
type Ended = 'sent' | 'failed' | 'cancelled';
const away = () => ApplicationFailure.retryable('Error ECONNREFUSED', 'outage');

async function startDelivery(times: Partial<EmailDeliveryInput> = {}) {
  const emailId = randomUUID();
  const activities = {
    sendEmail: jest.fn(async (_id: string): Promise<Ended> => 'sent'),
    giveUpEmail: jest.fn(async (_id: string, _outage: string | null): Promise<Ended> => 'failed'),
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

test.concurrent('a mail is retried while the mail server is away', async () => {
  const { activities, start } = await startDelivery();
  activities.sendEmail.mockRejectedValueOnce(away()).mockRejectedValueOnce(away());
  const handle = await start();
  expect(await handle.result()).toBe('sent');
  expect(activities.sendEmail).toHaveBeenCalledTimes(3);
});

test.concurrent('a mail that cannot be sent in its time fails, and so does its workflow', async () => {
  const { emailId, activities, start } = await startDelivery({ giveUpAfterMs: 1_500 });
  activities.sendEmail.mockRejectedValue(away());
  const handle = await start();
  await expect(handle.result()).rejects.toThrow();
  expect((await handle.describe()).status.name).toBe('FAILED');
  expect(activities.giveUpEmail.mock.calls).toEqual([[emailId, 'Error ECONNREFUSED']]);
  expect(await handle.query('state')).toBe('failed');
  await recordHistory('email-failed', handle);
});

test.concurrent('a mail that the server refuses fails without a retry', async () => {
  const { activities, start } = await startDelivery();
  activities.sendEmail.mockResolvedValue('failed');
  const handle = await start();
  await expect(handle.result()).rejects.toThrow();
  expect(activities.sendEmail).toHaveBeenCalledTimes(1);
  expect(activities.giveUpEmail).not.toHaveBeenCalled();
});

test.concurrent('a mail that has become pointless ends as cancelled', async () => {
  const { activities, start } = await startDelivery();
  activities.sendEmail.mockResolvedValue('cancelled');
  expect(await (await start()).result()).toBe('cancelled');
});

test.concurrent('a mail that is cancelled between two attempts is cancelled in its row', async () => {
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

test.concurrent('a mail that is cancelled while the server accepts it counts as sent', async () => {
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

test.concurrent('a mail that is cancelled while it is given up has failed', async () => {
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

test.concurrent('a worker that goes silent during an attempt is given up long before the attempt times out, and another one sends', async () => {
  const { activities, start } = await startDelivery();
  activities.sendEmail.mockImplementationOnce(silence);
  const handle = await start();
  expect(await handle.result()).toBe('sent');
  expect(activities.sendEmail.mock.calls.length).toBeGreaterThanOrEqual(2);
  // By the missing heartbeat, and not by the minutes that the attempt itself may take.
  const { events } = await handle.fetchHistory();
  const failures = events?.map((event) => event.activityTaskStartedEventAttributes?.lastFailure?.timeoutFailureInfo);
  const { TIMEOUT_TYPE_HEARTBEAT } = proto.temporal.api.enums.v1.TimeoutType;
  expect(failures?.map((failure) => failure?.timeoutType)).toContain(TIMEOUT_TYPE_HEARTBEAT);
});

test.concurrent('a mail that is cancelled after its worker went silent is cancelled, and not failed for lack of an answer', async () => {
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

test.concurrent('a mail whose time ends while no worker runs is tried once more before it is given up', async () => {
  const { activities, start } = await startDelivery({ giveUpAfterMs: 1_000 });
  activities.sendEmail.mockImplementationOnce(silence);
  const handle = await start();
  expect(await handle.result()).toBe('sent');
  expect(activities.sendEmail).toHaveBeenCalledTimes(2);
  expect(activities.giveUpEmail).not.toHaveBeenCalled();
  await recordHistory('email-sent-by-a-last-attempt', handle);
});

test.concurrent('an attempt after the mail’s time is its last', async () => {
  const { activities, start } = await startDelivery({ giveUpAfterMs: 1_000 });
  activities.sendEmail.mockImplementationOnce(silence).mockRejectedValue(away());
  const handle = await start();
  await expect(handle.result()).rejects.toThrow();
  expect(activities.sendEmail).toHaveBeenCalledTimes(2);
  expect(activities.giveUpEmail).toHaveBeenCalledTimes(1);
});

test.concurrent('a failed mail that is retried before its run has ended is sent by that run', async () => {
  const { emailId, activities, start } = await startDelivery();
  // As by the api, whose retry comes between the row's end and the answer about it.
  activities.sendEmail.mockImplementationOnce(async () => {
    await handle.signal('retried');
    return 'failed';
  });
  const handle = await start();
  expect(await handle.result()).toBe('sent');
  expect(activities.sendEmail.mock.calls).toEqual([[emailId], [emailId]]);
  expect(await handle.query('state')).toBe('sent');
  await recordHistory('email-retried-while-it-failed', handle);
});

test.concurrent('a failed mail whose run was cancelled is not sent by that run, however early it is retried', async () => {
  const { activities, start } = await startDelivery({ firstRetryMs: 30_000, longestRetryMs: 30_000 });
  activities.sendEmail.mockRejectedValue(away());
  activities.cancelEmail.mockImplementationOnce(async () => {
    await handle.signal('retried');
    return 'failed'; // it was given up before
  });
  const handle = await start();
  while (activities.sendEmail.mock.calls.length === 0) await sleep(20);
  await handle.cancel();
  await expect(handle.result()).rejects.toThrow();
  expect((await handle.describe()).status.name).toBe('FAILED');
  expect(activities.cancelEmail).toHaveBeenCalledTimes(1);
});
