import { createActivities } from '../../activities/index.js';
import { startOptions } from '../../src/platform/process-kinds.js';

const ids = { accountId: 'a', environmentId: 'e', identityId: 'i' };

test('erasures and removals have a queue of their own, behind which nobody waits', () => {
  expect([
    startOptions('identityErasure', { ...ids, erasureId: 'x' }).taskQueue,
    startOptions('environmentRemoval', { ...ids, removalId: 'x' }).taskQueue,
  ]).toEqual(['removals', 'removals']);
});

test('registrations have a queue of their own, so that they wait for nothing of which thousands come due at one moment', () => {
  const expiresAt = new Date(0).toISOString();
  expect([
    startOptions('registrationVerification', { pendingRegistrationId: 'x', expiresAt, reminderAt: expiresAt })
      .taskQueue,
    startOptions('accountIntent', { intentId: 'x', expiresAt }).taskQueue,
    startOptions('roleAssignmentWindow', { ...ids, assignmentId: 'x' }).taskQueue,
  ]).toEqual(['registrations', 'registrations', 'processes']);
});

test('Accounts take turns in a queue: what a process is about says whose turn it is', () => {
  const expiresAt = new Date(0).toISOString();
  expect(startOptions('webhookDelivery', { ...ids, deliveryId: 'x', webhookId: 'w' }).priority).toEqual({
    fairnessKey: 'a',
  });
  expect(startOptions('emailDelivery', { emailId: 'x', accountId: null }).priority).toEqual({});
  expect(startOptions('accountIntent', { intentId: 'x', expiresAt }).priority).toEqual({});
});

test('runs of them that began in the queue of the others end there', () => {
  const { processes, registrations, removals } = createActivities({} as Parameters<typeof createActivities>[0]);
  expect(Object.keys(removals)).toContain('completeErasure');
  expect(Object.keys(removals)).toContain('completeEnvironmentRemoval');
  expect(Object.keys(registrations)).toContain('provisionRegistration');
  expect(Object.keys(processes)).toEqual(
    expect.arrayContaining([...Object.keys(removals), ...Object.keys(registrations)]),
  );
});
