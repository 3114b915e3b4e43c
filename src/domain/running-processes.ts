import type { ProcessInput, ProcessName } from '../platform/process-kinds.js';

/** What Temporal knows of a process: ids, times and kinds of failures, nothing personal. */
export interface ProcessLook {
  workflowId: string;
  runId: string;
  status: string;
  historyLength: number;
  startedAt: Date;
  /** It was asked to stop, and has not yet. */
  isStopping: boolean;
  /** Steps that have begun and not finished. */
  pending: PendingStep[];
}
export interface PendingStep {
  activity: string;
  attempt: number;
  /** The kind of the failure that stopped the last attempt. */
  lastFailure: string | null;
  /** Null while an attempt is under way. */
  nextAttemptAt: Date | null;
}

/** What rules ask of running processes; answered by `src/temporal/processes.ts`. */
export interface RunningProcesses {
  /** What Temporal knows of a process; null for nothing. @throws DomainError service.unavailable within two seconds */
  describe(workflowId: string): Promise<ProcessLook | null>;
  /** Asks a process to stop. @returns false when none runs. @throws DomainError service.unavailable within two seconds */
  cancel(workflowId: string): Promise<boolean>;
  /**
   * Those without a running process in Temporal's list, which is a moment behind: `startAgain` checks each one itself.
   * @returns a part of `inputs`, the very same objects
   */
  notSeenRunning<P extends ProcessName>(name: P, inputs: readonly ProcessInput<P>[]): Promise<Set<ProcessInput<P>>>;
  /**
   * Starts a process whose row still waits, however its earlier run has ended: terminated, failed, or forgotten.
   * @returns false if it is running
   */
  startAgain<P extends ProcessName>(name: P, input: ProcessInput<P>): Promise<boolean>;
}
