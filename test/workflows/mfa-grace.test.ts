import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import type { GraceLook } from '../../src/domain/mfa/grace/grace.js';
import { hours } from '../../src/platform/clock.js';
import type { mfaGrace } from '../../workflows/mfa-grace.js';
import { recordHistory } from '../support/histories.js';
import { patience } from '../support/patience.js';
import { startTestTemporal, type TestTemporal } from '../support/temporal.js';

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
});
afterAll(() => temporal.stop());

const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();
const running = (wakeIn: number, endIn = hours(2)): GraceLook => ({
  status: 'running',
  expiresAt: inMs(endIn),
  wakeAt: inMs(wakeIn),
});
const ended = (status: GraceLook['status']): GraceLook => ({ status, expiresAt: inMs(0), wakeAt: null });

/** Starts a grace whose row gives these answers, look by look; the last one is repeated. */
async function startGrace(looks: (() => GraceLook | Promise<GraceLook>)[]) {
  let next = 0;
  const activities = {
    advanceGrace: jest.fn(async (_id: string) => looks[Math.min(next++, looks.length - 1)]!()),
    cancelGrace: jest.fn(async (_id: string) => ended('cancelled')),
  };
  const { taskQueue } = await temporal.runWorker(activities);
  const [graceId, environmentId, identityId, accountId] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
  const handle = await temporal.client.workflow.start<typeof mfaGrace>('mfaGrace', {
    workflowId: `mfa-grace/${environmentId}/${identityId}`,
    taskQueue,
    args: [{ graceId, environmentId, identityId, accountId }],
  });
  return { handle, activities, graceId };
}
const looked = async (mock: jest.Mock<(id: string) => Promise<GraceLook>>, times: number) => {
  for (let waited = 0; mock.mock.calls.length < times && waited < patience; waited += 20) await sleep(20);
  expect(mock.mock.calls.length).toBeGreaterThanOrEqual(times);
};

test('a grace looks at its row at each moment that the last look names, until the row says that the time is over', async () => {
  const { handle, activities, graceId } = await startGrace([
    () => running(1000),
    () => running(1000),
    () => ended('expired'),
  ]);
  expect(await handle.result()).toBe('expired');
  expect(activities.advanceGrace.mock.calls).toEqual([[graceId], [graceId], [graceId]]);
  await recordHistory('mfa-grace-expired', handle);
});

test('a moment that has passed by Temporal’s clock is awaited by the clock of the worker that names it', async () => {
  const asked: number[] = [];
  const at = (look: GraceLook) => () => {
    asked.push(Date.now());
    return look;
  };
  const behind = { ...running(-hours(1)), waitMs: 2_500 };
  const { handle } = await startGrace([at(behind), at(ended('expired'))]);
  expect(await handle.result()).toBe('expired');
  expect((asked[1] ?? 0) - (asked[0] ?? 0)).toBeGreaterThan(2_000);
});

test.each([
  ['enrolled', 'enrolled'],
  ['policyChanged', 'reset'],
] as const)('a process signalled `%s` checks the grace at once', async (signal, status) => {
  const { handle, activities } = await startGrace([() => running(hours(1)), () => ended(status)]);
  await looked(activities.advanceGrace, 1);
  expect(await handle.query('state')).toBe('running');
  await sleep(200);
  await handle.signal(signal);
  expect(await handle.result()).toBe(status);
  await recordHistory(`mfa-grace-${status}`, handle);
});

test('a reset grace goes on with the new times', async () => {
  const { handle, activities } = await startGrace([
    () => running(hours(1)),
    () => running(1000),
    () => ended('expired'),
  ]);
  await looked(activities.advanceGrace, 1);
  await sleep(200);
  await handle.signal('reset');
  expect(await handle.result()).toBe('expired');
  expect(activities.advanceGrace).toHaveBeenCalledTimes(3);
  await recordHistory('mfa-grace-reset-and-expired', handle);
});

test('a grace that is reset during its last look goes on with the new times', async () => {
  let answer = (_: GraceLook) => {};
  const asked = new Promise<GraceLook>((resolve) => {
    answer = resolve;
  });
  const { handle, activities } = await startGrace([() => asked, () => running(1000), () => ended('expired')]);
  await looked(activities.advanceGrace, 1);
  await handle.signal('reset'); // the signal is in the history once this is answered
  answer(ended('expired'));
  expect(await handle.result()).toBe('expired');
  expect(activities.advanceGrace).toHaveBeenCalledTimes(3);
});

test('a deadline slightly ahead of the row’s clock is not asked for in a tight loop', async () => {
  const { handle, activities } = await startGrace([() => running(-500), () => ended('expired')]);
  const asked = Date.now();
  await handle.result();
  expect(Date.now() - asked).toBeGreaterThan(900);
  expect(activities.advanceGrace).toHaveBeenCalledTimes(2);
});

test('a grace that is cancelled while it waits reminds no more', async () => {
  const { handle, activities, graceId } = await startGrace([() => running(hours(1))]);
  await looked(activities.advanceGrace, 1);
  await handle.cancel();
  await expect(handle.result()).rejects.toThrow();
  expect((await handle.describe()).status.name).toBe('CANCELLED');
  expect(activities.cancelGrace.mock.calls).toEqual([[graceId]]);
  expect(await handle.query('state')).toBe('cancelled');
  await recordHistory('mfa-grace-cancelled', handle);
});

test('a grace that is cancelled while its row cannot be read reminds no more either', async () => {
  const { handle, activities, graceId } = await startGrace([
    () => {
      throw new Error('away');
    },
  ]);
  await looked(activities.advanceGrace, 1);
  await handle.cancel();
  await expect(handle.result()).rejects.toThrow();
  expect((await handle.describe()).status.name).toBe('CANCELLED');
  expect(activities.cancelGrace.mock.calls).toEqual([[graceId]]);
});

test('a grace that is cancelled too late reports how it had ended', async () => {
  const { handle, activities } = await startGrace([() => running(hours(1))]);
  activities.cancelGrace.mockResolvedValue(ended('enrolled'));
  await looked(activities.advanceGrace, 1);
  await handle.cancel();
  expect(await handle.result()).toBe('enrolled');
});
