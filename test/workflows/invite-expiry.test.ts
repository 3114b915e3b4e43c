import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { ApplicationFailure } from '@temporalio/common';
import type { InviteKind, InviteRow, WhichInvite } from '../../activities/invites.js';
import { hours } from '../../src/platform/clock.js';
import type { InviteTimes } from '../../workflows/inputs.js';
import type { inviteExpiry } from '../../workflows/invite-expiry.js';
import { recordHistory } from '../support/histories.js';
import { inTime } from '../support/in-time.js';
import { patience } from '../support/patience.js';
import { startTestTemporal, type TestTemporal } from '../support/temporal.js';

let temporal: TestTemporal;
/** Milliseconds in which a workflow has usually started to wait. */
const soon = 1_500;
beforeAll(async () => {
  temporal = await startTestTemporal();
});
afterAll(() => temporal.stop());

const at = (ms: number) => new Date(Date.now() + ms).toISOString();

/** Replaces the row, which decides. */
function fakeActivities(row: InviteRow) {
  const read = async (_which: WhichInvite) => ({ ...row });
  return {
    readInvite: jest.fn(read),
    remindOfInvite: jest.fn(read),
    expireInvite: jest.fn(async (which: WhichInvite) => {
      if (row.status === 'pending' && Date.now() >= Date.parse(row.expiresAt)) row.status = 'expired';
      return read(which);
    }),
    cancelInvite: jest.fn(async (which: WhichInvite) => {
      if (row.status === 'pending') row.status = 'revoked';
      return read(which);
    }),
  };
}

interface Start {
  kind?: InviteKind;
  ttlMs?: number;
  reminderAfterMs?: number;
  row?: Partial<InviteRow>;
  /** Changes what its activities do, before it runs. */
  before?(activities: ReturnType<typeof fakeActivities>, row: InviteRow): void;
}

async function startInvite({
  kind = 'administrator',
  ttlMs = hours(2),
  reminderAfterMs = 0,
  row: known = {},
  before,
}: Start = {}) {
  const inviteId = randomUUID();
  const times: InviteTimes = { expiresAt: at(ttlMs), reminderAt: reminderAfterMs ? at(reminderAfterMs) : null };
  const row: InviteRow = { status: 'pending', ...times, ...known };
  const activities = fakeActivities(row);
  before?.(activities, row);
  const { taskQueue } = await temporal.runWorker(activities);
  const handle = await temporal.client.workflow.start<typeof inviteExpiry>('inviteExpiry', {
    workflowId: `invite/${inviteId}`,
    taskQueue,
    args: [{ kind, inviteId, accountId: randomUUID(), ...times }],
  });
  const untilCalled = async (name: keyof typeof activities, times_ = 1) => {
    for (let waited = 0; activities[name].mock.calls.length < times_; waited += 20) {
      if (waited > patience) throw new Error(`${name} was not called`);
      await sleep(20);
    }
  };
  return { which: { kind, inviteId }, row, handle, activities, untilCalled };
}

/** Starts an invite that waits for its reminder, which is due soon. @param more depends on when it is due */
const startReminded = (more: (ms: number) => Start = () => ({})) =>
  inTime((ms) => startInvite({ reminderAfterMs: ms, ...more(ms) }), soon);

test.each(['accepted', 'revoked'] as const)('an invite that was %s ends at once', async (signal) => {
  const { which, row, handle, activities, untilCalled } = await startInvite({ reminderAfterMs: hours(1) });
  await untilCalled('readInvite');
  expect(await handle.query('state')).toBe('waiting');
  row.status = signal;
  await handle.signal(signal);
  expect(await handle.result()).toBe(signal);
  expect(activities.readInvite.mock.calls).toEqual([[which], [which]]);
  expect(activities.remindOfInvite).not.toHaveBeenCalled();
  expect(activities.expireInvite).not.toHaveBeenCalled();
  expect(await handle.query('state')).toBe(signal);
  expect(JSON.stringify((await handle.describe()).typedSearchAttributes)).toContain(signal);
  await recordHistory(`invite-${signal}-as-the-row-says`, handle);
});

test.each(['accepted', 'revoked'] as const)(
  'a signal that it was %s only makes the workflow read the row',
  async (signal) => {
    const { handle, activities, untilCalled } = await startReminded();
    await untilCalled('readInvite');
    await handle.signal(signal);
    await untilCalled('remindOfInvite');
    expect(activities.readInvite).toHaveBeenCalledTimes(2);
    expect(await handle.query('state')).toBe('waiting');
  },
);

test('a “resent” signal does not set the deadline, which is the row’s', async () => {
  const { handle, activities } = await startInvite({ ttlMs: soon });
  await handle.signal('resent', { expiresAt: '9999-01-01T00:00:00.000Z', reminderAt: null });
  expect(await handle.result()).toBe('expired');
  expect(activities.readInvite).toHaveBeenCalledTimes(2);
});

test('a “resent” signal sent by hand neither hastens the reminder nor prevents it: the row says when it is due', async () => {
  const { handle, row, activities, untilCalled } = await startInvite({ row: { reminderAt: null } });
  await untilCalled('readInvite');
  await handle.signal('resent', { expiresAt: row.expiresAt, reminderAt: at(-soon) });
  await untilCalled('readInvite', 2);
  row.reminderAt = at(soon);
  await handle.signal('resent', { expiresAt: row.expiresAt, reminderAt: null });
  await untilCalled('readInvite', 3);
  await untilCalled('remindOfInvite');
  const [reads, reminders] = [activities.readInvite.mock, activities.remindOfInvite.mock];
  expect(reminders.invocationCallOrder[0]).toBeGreaterThan(reads.invocationCallOrder[2] as number);
  await handle.cancel();
  await expect(handle.result()).rejects.toThrow();
  await recordHistory('invite-resent-and-reminded-as-the-row-says', handle);
});

test('an invite that nobody accepts expires at its time, without a reminder if none is planned', async () => {
  const { handle, activities } = await startInvite({ ttlMs: 700 });
  expect(await handle.result()).toBe('expired');
  expect(activities.remindOfInvite).not.toHaveBeenCalled();
});

test('a row whose clock is behind is asked again after growing pauses', async () => {
  const asked: number[] = [];
  const { handle } = await startInvite({
    ttlMs: 100,
    before: (activities, row) =>
      activities.expireInvite.mockImplementation(async () => {
        asked.push(Date.now());
        return { ...row, status: asked.length < 3 ? 'pending' : 'expired' };
      }),
  });
  expect(await handle.result()).toBe('expired');
  const [first = 0, second = 0, third = 0] = asked;
  expect(third - second).toBeGreaterThan(1.5 * Math.min(second - first, 1_300));
});

test('an invite is reminded of once before its end', async () => {
  const { handle, activities } = await startReminded((ms) => ({ ttlMs: 2 * ms }));
  expect(await handle.result()).toBe('expired');
  expect(activities.remindOfInvite).toHaveBeenCalledTimes(1);
  await recordHistory('invite-reminded-expired', handle);
});

test('an invite of an end user is read, reminded of and expired as one', async () => {
  const { which, handle, activities } = await startReminded((ms) => ({ kind: 'identity', ttlMs: 2 * ms }));
  expect(which.kind).toBe('identity');
  expect(await handle.result()).toBe('expired');
  for (const name of ['readInvite', 'remindOfInvite', 'expireInvite'] as const)
    expect(activities[name].mock.calls.at(-1)).toEqual([which]);
  await recordHistory('invite-of-an-end-user-expired', handle);
});

test('a resent invite lives longer, and is reminded of once more', async () => {
  const { row, handle, activities, untilCalled } = await startReminded();
  await untilCalled('remindOfInvite');
  Object.assign(row, { expiresAt: at(2 * soon), reminderAt: at(soon) });
  await handle.signal('resent', { expiresAt: row.expiresAt, reminderAt: row.reminderAt }); // both may have passed by now
  expect(await handle.result()).toBe('expired');
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(row.expiresAt));
  expect(activities.remindOfInvite).toHaveBeenCalledTimes(2);
  await recordHistory('invite-resent-expired-as-the-row-says', handle);
});

test.each([
  ['nothing', undefined],
  ['a text', 'tomorrow'],
  ['invalid times', { expiresAt: 'tomorrow', reminderAt: null }],
  ['only one of the times', { expiresAt: at(0) }],
])('a manual signal with %s has no effect: the invite continues, and ends with its row', async (_, said) => {
  const { handle, row, untilCalled } = await startReminded();
  await (said === undefined ? handle.signal('resent') : handle.signal('resent', said));
  await untilCalled('remindOfInvite');
  expect(await handle.query('state')).toBe('waiting');
  row.status = 'accepted';
  await handle.signal('accepted');
  expect(await handle.result()).toBe('accepted');
});

test('an invite that is resent while it expires waits for its new deadline', async () => {
  let resend = async () => {};
  const { handle, row, untilCalled } = await startInvite({
    ttlMs: 500,
    before(activities, row) {
      activities.expireInvite.mockImplementationOnce(async () => {
        const expired: InviteRow = { ...row, status: 'expired' };
        await resend();
        return expired;
      });
    },
  });
  resend = async () => {
    row.expiresAt = at(hours(2));
    await handle.signal('resent', { expiresAt: row.expiresAt, reminderAt: null });
  };
  await untilCalled('readInvite', 2);
  expect(await handle.query('state')).toBe('waiting');
  row.status = 'accepted';
  await handle.signal('accepted');
  expect(await handle.result()).toBe('accepted');
});

test('an invite finds a deadline in its row of which no signal told it', async () => {
  const { row, handle, activities } = await startInvite({
    ttlMs: 700,
    before({ readInvite, expireInvite }, known) {
      const seen = async () => ({ ...known });
      readInvite.mockImplementationOnce(async () => {
        const first = { ...known };
        known.expiresAt = at(hours(1)); // after its first look at the row
        return first;
      });
      expireInvite.mockImplementationOnce(() => {
        known.expiresAt = at(700);
        return seen();
      });
    },
  });
  expect(await handle.result()).toBe('expired');
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(row.expiresAt));
  expect(activities.expireInvite.mock.calls.length).toBeGreaterThan(1);
});

test.each(['accepted', 'revoked', 'expired'] as const)(
  'a row that was %s before its workflow began ends it at once',
  async (status) => {
    const { handle, activities } = await startInvite({ row: { status } });
    expect(await handle.result()).toBe(status);
    expect(activities.expireInvite).not.toHaveBeenCalled();
  },
);

test('an invite expires although the step fails at first', async () => {
  const { handle, activities } = await startInvite({
    ttlMs: 500,
    before: ({ expireInvite }) =>
      void expireInvite.mockRejectedValueOnce(ApplicationFailure.retryable('away', 'outage')),
  });
  expect(await handle.result()).toBe('expired');
  expect(activities.expireInvite.mock.calls.length).toBeGreaterThanOrEqual(2);
});

describe('an invite that an operator cancels', () => {
  const cases = {
    'before the reminder': { start: () => startInvite({ reminderAfterMs: hours(1) }), after: 'readInvite' },
    'after the reminder': { start: () => startReminded(), after: 'remindOfInvite' },
    'with no reminder to come': { start: () => startInvite(), after: 'readInvite' },
  } as const;
  test.each(Object.entries(cases))('is revoked %s', async (name, { start, after }) => {
    const { row, handle, activities, untilCalled } = await start();
    await untilCalled(after);
    await sleep(100);
    await handle.cancel();
    await expect(handle.result()).rejects.toThrow(/cancelled/);
    expect((await handle.describe()).status.name).toBe('CANCELLED');
    expect(activities.cancelInvite).toHaveBeenCalledTimes(1);
    expect(row.status).toBe('revoked');
    expect(await handle.query('state')).toBe('revoked');
    await recordHistory(`invite-cancelled-${name.replaceAll(' ', '-')}`, handle);
  });

  const steps = {
    readInvite: (before: Start['before']) => startInvite({ before }),
    remindOfInvite: (before: Start['before']) => startReminded(() => ({ before })),
    expireInvite: (before: Start['before']) => startInvite({ ttlMs: soon, before }),
  };
  test.each(Object.entries(steps))('is revoked even while %s fails', async (step, start) => {
    const name = step as keyof typeof steps;
    const { row, handle, activities, untilCalled } = await start((fakes) => {
      fakes[name].mockRejectedValue(ApplicationFailure.retryable('away', 'outage'));
    });
    await untilCalled(name);
    await handle.cancel();
    await expect(handle.result()).rejects.toThrow(/cancelled/);
    expect(activities.cancelInvite).toHaveBeenCalledTimes(1);
    expect(row.status).toBe('revoked');
  });

  test('is revoked once the database is back, if the revoking step meets an outage', async () => {
    const { row, handle, activities, untilCalled } = await startInvite();
    activities.cancelInvite.mockRejectedValueOnce(ApplicationFailure.retryable('away', 'outage'));
    await untilCalled('readInvite');
    await handle.cancel();
    await untilCalled('cancelInvite');
    await handle.cancel().catch(() => undefined); // it may have ended already
    await expect(handle.result()).rejects.toThrow(/cancelled/);
    expect(row.status).toBe('revoked');
  });

  test('stays accepted, if it was accepted before', async () => {
    const { row, handle, untilCalled } = await startInvite();
    await untilCalled('readInvite');
    row.status = 'accepted';
    await handle.cancel();
    expect(await handle.result()).toBe('accepted');
    await recordHistory('invite-cancelled-too-late', handle);
  });
});
