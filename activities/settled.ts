import { Context, log } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { DomainError } from '../src/domain/errors.js';
import { faultOf, framesOf } from '../src/platform/faults.js';

/**
 * Runs an activity's work, and turns its errors into Temporal's. A rule's refusal is final and keeps its code as
 * `type`; anything else is an outage, and is retried. Errors are stored in the history, which many may read: one of
 * PostgreSQL, SMTP or a library can quote an address, so only its kind is passed on, and the log has the place.
 */
export async function settled<T>(work: () => Promise<T>): Promise<T> {
  const heart = setInterval(beat(), heartbeatMs);
  try {
    return await work();
  } catch (error) {
    if (error instanceof DomainError && error.code !== 'service.unavailable') {
      throw withoutStack(ApplicationFailure.nonRetryable(error.message, error.code));
    }
    log.warn('activity attempt failed', { fault: faultOf(error), frames: framesOf(error) });
    throw withoutStack(ApplicationFailure.retryable(faultOf(error), 'outage'));
  } finally {
    clearInterval(heart);
  }
}

/** Well below `heartbeatTimeout` of the workflows. The worker throttles how many heartbeats it passes on. */
const heartbeatMs = 3_000;

/** Returns what reports that the process lives: a dead worker's step is taken over before its long timeout ends. */
function beat(): () => void {
  const context = Context.current();
  return () => context.heartbeat();
}

const withoutStack = (failure: ApplicationFailure) => {
  failure.stack = '';
  return failure;
};
