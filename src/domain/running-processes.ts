import type { ProcessInput, ProcessName } from '../platform/process-kinds.js';

/** What Temporal knows of a process: ids, times and kinds of failures, nothing personal. */
export interface ProcessDescription {
  workflowId: string;
  runId: string;
  status: string;
  historyLength: number;
  startedAt: Date;
  /** Whether it was asked to stop and has not stopped yet. */
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

/** What the domain needs to know of running processes; `src/temporal/processes.ts` implements it. */
export interface RunningProcesses {
  /** Returns what Temporal knows of a process, or null. @throws DomainError service.unavailable within two seconds */
  describe(workflowId: string): Promise<ProcessDescription | null>;
  /**
   * Asks a process to stop.
   * @returns false when none runs.
   * @throws DomainError service.unavailable within two seconds
   */
  cancel(workflowId: string): Promise<boolean>;
  /**
   * Returns the inputs without a running process in Temporal's list, which lags a little: `startAgain` checks each one.
   * @returns a part of `inputs`, the very same objects
   */
  notSeenRunning<P extends ProcessName>(name: P, inputs: readonly ProcessInput<P>[]): Promise<Set<ProcessInput<P>>>;
  /**
   * Starts a process whose row is still pending, however its earlier run ended: terminated, failed, or forgotten.
   * @returns false if it is running
   */
  startAgain<P extends ProcessName>(name: P, input: ProcessInput<P>): Promise<boolean>;
}
