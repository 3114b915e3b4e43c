import type { Kind } from '../../src/domain/processes/kind.js';
import { kindNames } from '../../src/domain/processes/kind.js';
import { createKinds, states } from '../../src/domain/processes/kinds.js';
import { openKinds } from '../../src/domain/processes/open.js';
import { systemClock } from '../../src/platform/clock.js';
import * as workflows from '../../workflows/index.js';

test('in every state a kind runs or has ended, and the usual end is an ended one', () => {
  const domainSchedule = { pauses: [], recheckMs: 1, lapseAfterMs: 1 };
  const kinds = Object.values<Kind>(createKinds({ mfaReminders: [], roleNotices: [], domainSchedule }));
  expect(kinds).toHaveLength(kindNames.length);
  expect(new Set(kinds.flatMap(({ open, ended }) => [...Object.keys(open), ...ended]))).toEqual(new Set(states));
  for (const { open, ended, usualEnd } of kinds) {
    expect(ended.filter((state) => state in open)).toEqual([]);
    if (usualEnd) expect(ended).toContain(usualEnd);
  }
});

test('every process is a workflow that workers run', () => {
  const processes = Object.keys(openKinds({ reminderAfterMs: 1, now: systemClock }));
  const missing = processes.filter((name) => !(name in workflows));
  expect(missing.map((name) => `workflows/index.ts has no ${name}`)).toEqual([]);
});
