import { Context, log } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { DomainError } from '../src/domain/errors.js';
import { faultOf, framesOf } from '../src/platform/faults.js';

/**
 * An activity's work as Temporal sees it. A rule's refusal is final and keeps its code as `type`; anything else is an
 * outage and tried again. What is thrown ends up in the history, which many may read: an error of PostgreSQL, SMTP or a
 * library can quote an address, so only its kind goes on, and the log has the place.
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

/** Well below `heartbeatTimeout` of the workflows. The worker passes on as many as it is allowed to. */
const heartbeatMs = 3_000;

/** Says that the process lives: where a step may take long, another worker takes over from a dead one before that. */
function beat(): () => void {
  const context = Context.current();
  return () => context.heartbeat();
}

const withoutStack = (failure: ApplicationFailure) => {
  failure.stack = '';
  return failure;
};
