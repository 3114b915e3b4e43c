import { randomUUID } from 'node:crypto';
import { hours } from '../../src/platform/clock.js';
import type { environmentRemoval } from '../../workflows/environment-removal.js';
import { recordHistory } from '../support/histories.js';
import { startTestTemporal, statusOf, type TestTemporal } from '../support/temporal.js';
import { until } from '../support/until.js';

// Histories whose server suggests a fresh one, which it usually does after four thousand events.

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal({ eventsPerHistory: 100 });
});
afterAll(() => temporal.stop());

/** Replaces the row of a process, which is signalled after each change. */
interface Row {
  changes: number;
  /** How many of these the process has seen. */
  seen: number;
  isOver: boolean;
}
const far = new Date(Date.now() + hours(2)).toISOString();
const ids = () => ({ accountId: randomUUID(), environmentId: randomUUID() });

const kinds = {
  inviteExpiry: {
    signal: 'accepted',
    input: { kind: 'identity', inviteId: randomUUID(), expiresAt: far, reminderAt: null, ...ids() },
    step: 'readInvite',
    look: ({ isOver }: Row) => ({ status: isOver ? 'accepted' : 'pending', expiresAt: far, reminderAt: null }),
  },
  mfaGrace: {
    signal: 'policyChanged',
    input: { graceId: randomUUID(), identityId: randomUUID(), ...ids() },
    step: 'advanceGrace',
    look: ({ isOver }: Row) => ({ status: isOver ? 'reset' : 'running', expiresAt: far, wakeAt: isOver ? null : far }),
  },
  webhookDelivery: {
    signal: 'retryNow',
    input: { deliveryId: randomUUID(), webhookId: randomUUID(), ...ids() },
    step: 'attemptWebhook',
    look: ({ isOver }: Row) => ({
      status: isOver ? 'succeeded' : 'pending',
      wakeAt: isOver ? null : far,
      attempts: null,
    }),
  },
};

test.each(Object.entries(kinds))(
  '%s continues with a fresh history after many signals, and misses none of them',
  async (type, { signal, input, step, look }) => {
    const row: Row = { changes: 0, seen: 0, isOver: false };
    const readRow = async () => {
      row.seen = row.changes;
      return look(row);
    };
    const { taskQueue } = await temporal.runWorker({ [step]: readRow });
    const options = { workflowId: randomUUID(), taskQueue, args: [input] };
    const handle = await temporal.client.workflow.start(type, options);
    const change = async () => {
      row.changes += 1;
      await handle.signal(signal);
    };
    const runs = new Set([handle.firstExecutionRunId]);
    for (let batch = 0; batch < 100 && runs.size < 4; batch++) {
      await Promise.all(Array.from({ length: 5 }, change));
      await until('the last change was seen', async () => row.seen === row.changes);
      runs.add((await handle.describe()).runId);
    }
    expect(runs.size).toBe(4);
    expect(await statusOf(temporal.client.workflow.getHandle(options.workflowId, handle.firstExecutionRunId))).toBe(
      'CONTINUED_AS_NEW',
    );
    row.isOver = true;
    await change();
    expect(await handle.result()).toBe(look(row).status);
  },
);

test('a removal of many steps continues with a fresh history, and skips none of them', async () => {
  let left = 60;
  const removeEnvironmentContents = async () => (--left > 0 ? 'more' : 'done');
  const completeEnvironmentRemoval = async () => 'done';
  const { taskQueue } = await temporal.runWorker({ removeEnvironmentContents, completeEnvironmentRemoval });
  const { workflow } = temporal.client;
  const handle = await workflow.start<typeof environmentRemoval>('environmentRemoval', {
    workflowId: randomUUID(),
    taskQueue,
    args: [{ removalId: randomUUID(), ...ids() }],
  });
  expect(await handle.result()).toBe('completed');
  expect(left).toBe(0);
  const first = workflow.getHandle(handle.workflowId, handle.firstExecutionRunId);
  expect(await statusOf(first)).toBe('CONTINUED_AS_NEW');
  await recordHistory('environment-removal-continued', first);
});
