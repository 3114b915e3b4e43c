import type { ProcessInput, ProcessName } from '../platform/process-kinds.js';

/** What Temporal knows of a process: ids, times and kinds of failures, nothing that a person could be told by. */
export interface ProcessLook {
  workflowId: string;
  runId: string;
  status: string;
  historyLength: number;
  startedAt: Date;
  /** It was asked to stop, and has not yet. */
  isStopping: boolean;
  /** Steps that were begun and not finished. */
  pending: PendingStep[];
}
export interface PendingStep {
  activity: string;
  attempt: number;
  /** The kind of what stopped its last attempt. */
  lastFailure: string | null;
  /** Null while an attempt is under way. */
  nextAttemptAt: Date | null;
}

/** What rules ask of the processes that run; `src/temporal/processes.ts` is who answers. */
export interface RunningProcesses {
  /** What Temporal knows of a process; null: nothing. @throws DomainError service.unavailable within two seconds */
  describe(workflowId: string): Promise<ProcessLook | null>;
  /** Asks a process to stop. @returns false when none runs. @throws DomainError service.unavailable within two seconds */
  cancel(workflowId: string): Promise<boolean>;
  /**
   * Which of these have no running process in Temporal's list, which is a moment behind: `startAgain` looks at the one.
   * @returns a part of `inputs`, the very same objects
   */
  notSeenRunning<P extends ProcessName>(name: P, inputs: readonly ProcessInput<P>[]): Promise<Set<ProcessInput<P>>>;
  /**
   * Starts a process whose row still waits, however an earlier run of it has ended: terminated, failed, or forgotten.
   * @returns false when it runs
   */
  startAgain<P extends ProcessName>(name: P, input: ProcessInput<P>): Promise<boolean>;
}
