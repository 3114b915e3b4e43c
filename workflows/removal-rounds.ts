import { CancellationScope, isCancellation } from '@temporalio/workflow';

type EndedStatus = 'completed' | 'cancelled';
type RowStatus = 'running' | EndedStatus;

/** A removal that is done step by step, with a row that says how far it has come. */
export interface Removal {
  /**
   * Removes what is left. `more`: its last step has found something that a further round has to remove; `ended`: the
   * row has ended without this workflow.
   */
  round(): Promise<'done' | 'more' | 'ended'>;
  /** Reads the status of the row. */
  look(): Promise<RowStatus>;
  /** Ends the row for an operator, if it has not ended before; returns its status. */
  cancel(): Promise<RowStatus>;
}

/**
 * Repeats the rounds of a removal until its row has ended, and shows how it did. Running workflows of both kinds are in
 * here: a change of the order of its steps goes behind `patched`.
 * @throws CancelledFailure if an operator has cancelled the workflow before everything was removed
 */
export async function removeUntilEnded(
  shown: { set(status: EndedStatus): void },
  { round, look, cancel }: Removal,
): Promise<void> {
  try {
    for (;;) {
      const outcome = await round();
      if (outcome === 'more') continue;
      const status = outcome === 'done' ? 'completed' : await look();
      if (status === 'running') continue; // resumed since the step that found it ended
      shown.set(status);
      return;
    }
  } catch (error) {
    if (!isCancellation(error)) throw error;
    const status = await CancellationScope.nonCancellable(cancel);
    shown.set(status === 'completed' ? status : 'cancelled');
    if (status !== 'completed') throw error; // otherwise it was done already
  }
}
