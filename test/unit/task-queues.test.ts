import { createActivities } from '../../activities/index.js';
import { startOptions } from '../../src/platform/process-kinds.js';

const ids = { accountId: 'a', environmentId: 'e', identityId: 'i' };

test('erasures and removals have a queue of their own, behind which nobody waits', () => {
  expect([
    startOptions('identityErasure', { ...ids, erasureId: 'x' }).taskQueue,
    startOptions('environmentRemoval', { ...ids, removalId: 'x' }).taskQueue,
  ]).toEqual(['removals', 'removals']);
});

test('runs of them that began in the queue of the others end there', () => {
  const { processes, removals } = createActivities({} as Parameters<typeof createActivities>[0]);
  expect(Object.keys(removals)).toContain('completeErasure');
  expect(Object.keys(removals)).toContain('completeEnvironmentRemoval');
  expect(Object.keys(processes)).toEqual(expect.arrayContaining(Object.keys(removals)));
});
