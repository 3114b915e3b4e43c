import { asyncLocalStorage, type Context } from '@temporalio/activity';
import { createActivities } from '../../activities/index.js';
import { inNoShare } from '../../src/platform/context.js';
import { startOptions } from '../../src/platform/process-kinds.js';
import { accountOfActivity } from '../../src/worker/connection-turns.js';

const ids = { accountId: 'a', environmentId: 'e', identityId: 'i' };

test('erasures and removals have their own queue, which delays no caller', () => {
  expect([
    startOptions('identityErasure', { ...ids, erasureId: 'x' }).taskQueue,
    startOptions('environmentRemoval', { ...ids, removalId: 'x' }).taskQueue,
  ]).toEqual(['removals', 'removals']);
});

test('registrations have their own queue, so that they wait for nothing that is due in thousands at once', () => {
  const expiresAt = new Date(0).toISOString();
  expect([
    startOptions('registrationVerification', { pendingRegistrationId: 'x', expiresAt, reminderAt: expiresAt })
      .taskQueue,
    startOptions('accountIntent', { intentId: 'x', expiresAt }).taskQueue,
    startOptions('roleAssignmentWindow', { ...ids, assignmentId: 'x' }).taskQueue,
  ]).toEqual(['registrations', 'registrations', 'processes']);
});

test('Accounts take turns in a queue: a process’s subject decides whose turn it is', () => {
  const expiresAt = new Date(0).toISOString();
  expect(startOptions('webhookDelivery', { ...ids, deliveryId: 'x', webhookId: 'w' }).priority).toEqual({
    fairnessKey: 'a',
  });
  expect(startOptions('emailDelivery', { emailId: 'x', accountId: null }).priority).toEqual({});
  expect(startOptions('accountIntent', { intentId: 'x', expiresAt }).priority).toEqual({});
});

test('an activity knows the Account whose turn it has', () => {
  const within = (priority: object) => asyncLocalStorage.run({ info: { priority } } as Context, accountOfActivity);
  expect([within({ fairnessKey: 'a' }), within({ fairnessKey: '' }), within({})]).toEqual(['a', undefined, undefined]);
  expect(accountOfActivity()).toBeUndefined();
});

test('what activities of several Accounts wait for has the turn of none', () => {
  const info = { priority: { fairnessKey: 'a' } };
  const whose = asyncLocalStorage.run({ info } as Context, () => inNoShare(accountOfActivity));
  expect(whose).toBeUndefined();
});

test('runs that began in the common queue end there', () => {
  const { processes, registrations, removals } = createActivities({} as Parameters<typeof createActivities>[0]);
  expect(Object.keys(removals)).toContain('completeErasure');
  expect(Object.keys(removals)).toContain('completeEnvironmentRemoval');
  expect(Object.keys(registrations)).toContain('provisionRegistration');
  expect(Object.keys(processes)).toEqual(
    expect.arrayContaining([...Object.keys(removals), ...Object.keys(registrations)]),
  );
});
