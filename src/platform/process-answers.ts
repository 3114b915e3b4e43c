import { type Client, WithStartWorkflowOperation } from '@temporalio/client';
import type { Workflow } from '@temporalio/common';
import { type ProcessInput, type ProcessName, startOptions } from './process-kinds.js';

export interface Waits {
  /** How long a caller waits for Temporal to answer at all. */
  answerWithinMs?: number;
  /** And for a worker to finish what it accepted. */
  finishWithinMs?: number;
}

interface AskedUpdate {
  update: string;
  updateId: string;
  args: unknown[];
  /** Instead of `answerWithinMs`. */
  acceptWithinMs?: number;
  /** Whether one that has come to its end is begun anew to answer. */
  mayHaveEnded?: boolean;
}

/** What a process answers to an update; starts it where the relay has not done so yet. */
export function createAnswers(
  client: Client,
  within: <T>(ms: number, call: () => Promise<T>) => Promise<T>,
  { answerWithinMs, finishWithinMs }: Required<Waits>,
) {
  return async <Answer>(
    name: ProcessName,
    input: ProcessInput<ProcessName>,
    { update, updateId, args, acceptWithinMs = answerWithinMs, mayHaveEnded = false }: AskedUpdate,
  ): Promise<Answer> => {
    const accepted = await within(acceptWithinMs, () => {
      const start = new WithStartWorkflowOperation<Workflow>(name, {
        ...startOptions(name, input),
        // One that somebody terminated may run again: the row decides whether there is anything left to do.
        workflowIdReusePolicy: mayHaveEnded ? 'ALLOW_DUPLICATE' : 'ALLOW_DUPLICATE_FAILED_ONLY',
      });
      start.workflowHandle().catch(() => undefined); // the update's own error says it
      const options = { startWorkflowOperation: start, waitForStage: 'ACCEPTED', updateId, args } as const;
      return client.workflow.startUpdateWithStart<Workflow, Answer, unknown[]>(update, options);
    });
    return await within(finishWithinMs, () => accepted.result());
  };
}
