import { CancellationScope, CancelledFailure } from '@temporalio/workflow';

/**
 * Runs a step of a process that stops only between its steps: a begun step is finished, so that nothing is half done.
 * @throws CancelledFailure instead of running the step, if an operator has cancelled the workflow by now
 */
export function wholeStep<T>(step: () => Promise<T>): Promise<T> {
  if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('cancelled between two steps');
  return CancellationScope.nonCancellable(step);
}
