import { WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { processError } from '../../src/temporal/errors.js';

const refusedWith = (type?: string) =>
  processError(new WorkflowUpdateFailedError('refused', ApplicationFailure.nonRetryable('said by whomever', type)));

test('a process’s refusal with a code of ours is that refusal', () => {
  expect(refusedWith('registration.link_invalid')).toMatchObject({ code: 'registration.link_invalid' });
});

test.each([
  ['of a newer release', 'registration.closed_on_sundays'],
  ['of a step that was failed by hand', undefined],
])('a refusal code %s is answered as "unavailable for now", and not as a fault', (_, type) => {
  expect(refusedWith(type)).toMatchObject({ code: 'service.unavailable', options: { retryAfter: expect.any(Number) } });
});

test('a fault of our own code stays one', () => {
  expect(refusedWith('TypeError')).toBeInstanceOf(WorkflowUpdateFailedError);
});
