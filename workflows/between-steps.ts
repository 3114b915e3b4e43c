import { CancellationScope, CancelledFailure } from '@temporalio/workflow';

/**
 * A step of a process that stops only between its steps: whatever has begun is finished, so nothing is half done.
 * @throws CancelledFailure instead of beginning, when an operator has cancelled the workflow by now
 */
export function wholeStep<T>(step: () => Promise<T>): Promise<T> {
  if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('cancelled between two steps');
  return CancellationScope.nonCancellable(step);
}
