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
/** Milliseconds in which a workflow is on its way, as a rule. */
const soon = 1_500;
beforeAll(async () => {
  temporal = await startTestTemporal();
});
afterAll(() => temporal.stop());

const at = (ms: number) => new Date(Date.now() + ms).toISOString();

/** Stands for the row, which decides. */
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
  /** Says what its activities do otherwise, before it runs. */
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

/** One that is reminded of soon, and waits for that. @param more by when that is */
const startReminded = (more: (ms: number) => Start = () => ({})) =>
  inTime((ms) => startInvite({ reminderAfterMs: ms, ...more(ms) }), soon);

test.each(['accepted', 'revoked'] as const)('%s, it ends at once', async (signal) => {
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
  'a signal that it was %s is no more than a reason to look at the row',
  async (signal) => {
    const { handle, activities, untilCalled } = await startReminded();
    await untilCalled('readInvite');
    await handle.signal(signal);
    await untilCalled('remindOfInvite');
    expect(activities.readInvite).toHaveBeenCalledTimes(2);
    expect(await handle.query('state')).toBe('waiting');
  },
);

test('a signal that it was sent again says nothing of its deadline, which is the row’s', async () => {
  const { handle, activities } = await startInvite({ ttlMs: soon });
  await handle.signal('resent', { expiresAt: '9999-01-01T00:00:00.000Z', reminderAt: null });
  expect(await handle.result()).toBe('expired');
  expect(activities.readInvite).toHaveBeenCalledTimes(2);
});

test('nobody accepts: it expires at its time, without a reminder where there is none', async () => {
  const { handle, activities } = await startInvite({ ttlMs: 700 });
  expect(await handle.result()).toBe('expired');
  expect(activities.remindOfInvite).not.toHaveBeenCalled();
});

test('a row whose clock is behind is asked again in pauses that grow', async () => {
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

test('there is one reminder before the end', async () => {
  const { handle, activities } = await startReminded((ms) => ({ ttlMs: 2 * ms }));
  expect(await handle.result()).toBe('expired');
  expect(activities.remindOfInvite).toHaveBeenCalledTimes(1);
  await recordHistory('invite-reminded-expired', handle);
});

test('an invite of an end user is asked for as one, from its first look to its end', async () => {
  const { which, handle, activities } = await startReminded((ms) => ({ kind: 'identity', ttlMs: 2 * ms }));
  expect(which.kind).toBe('identity');
  expect(await handle.result()).toBe('expired');
  for (const name of ['readInvite', 'remindOfInvite', 'expireInvite'] as const)
    expect(activities[name].mock.calls.at(-1)).toEqual([which]);
  await recordHistory('invite-of-an-end-user-expired', handle);
});

test('sent again it lives longer, and reminds once more', async () => {
  const { row, handle, activities, untilCalled } = await startReminded();
  await untilCalled('remindOfInvite');
  Object.assign(row, { expiresAt: at(2 * soon), reminderAt: at(soon) });
  await handle.signal('resent', { expiresAt: row.expiresAt, reminderAt: row.reminderAt }); // both may be over by now
  expect(await handle.result()).toBe('expired');
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(row.expiresAt));
  expect(activities.remindOfInvite).toHaveBeenCalledTimes(2);
  await recordHistory('invite-resent-expired-as-the-row-says', handle);
});

test.each([
  ['nothing', undefined],
  ['a text', 'tomorrow'],
  ['no times', { expiresAt: 'tomorrow', reminderAt: null }],
  ['half of them', { expiresAt: at(0) }],
])('a signal by hand that says %s is as good as none: it goes on, and ends with its row', async (_, said) => {
  const { handle, row, untilCalled } = await startReminded();
  await (said === undefined ? handle.signal('resent') : handle.signal('resent', said));
  await untilCalled('remindOfInvite');
  expect(await handle.query('state')).toBe('waiting');
  row.status = 'accepted';
  await handle.signal('accepted');
  expect(await handle.result()).toBe('accepted');
});

test('an invite that is sent again while it expires waits for its new deadline', async () => {
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

test('a deadline that it was not told of is found in the row', async () => {
  const { row, handle, activities } = await startInvite({
    ttlMs: 700,
    before({ readInvite, expireInvite }, known) {
      const seen = async () => ({ ...known });
      readInvite.mockImplementationOnce(async () => {
        const first = { ...known };
        known.expiresAt = at(hours(1)); // after its first look
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
  'a row that was %s before it began ends it at once',
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

describe('cancelled by an operator', () => {
  const cases = {
    'before the reminder': { start: () => startInvite({ reminderAfterMs: hours(1) }), after: 'readInvite' },
    'after the reminder': { start: () => startReminded(), after: 'remindOfInvite' },
    'with no reminder to come': { start: () => startInvite(), after: 'readInvite' },
  } as const;
  test.each(Object.entries(cases))('%s, the invite is revoked', async (name, { start, after }) => {
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
  test.each(Object.entries(steps))('while %s does not get through, it is revoked all the same', async (step, start) => {
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

  test('while it is revoked, with the database away, it is revoked once it is back', async () => {
    const { row, handle, activities, untilCalled } = await startInvite();
    activities.cancelInvite.mockRejectedValueOnce(ApplicationFailure.retryable('away', 'outage'));
    await untilCalled('readInvite');
    await handle.cancel();
    await untilCalled('cancelInvite');
    await handle.cancel().catch(() => undefined); // it may be done by now
    await expect(handle.result()).rejects.toThrow(/cancelled/);
    expect(row.status).toBe('revoked');
  });

  test('after it was accepted, the cancel comes too late', async () => {
    const { row, handle, untilCalled } = await startInvite();
    await untilCalled('readInvite');
    row.status = 'accepted';
    await handle.cancel();
    expect(await handle.result()).toBe('accepted');
    await recordHistory('invite-cancelled-too-late', handle);
  });
});
