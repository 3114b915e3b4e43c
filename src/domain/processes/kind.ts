import type { EntityManager } from 'typeorm';
import type { RowCountList } from '../../../entities/row-count.js';
import type { Clock } from '../../platform/clock.js';

export const kindNames = [
  'invite',
  'identity_invite',
  'email',
  'mfa_grace',
  'identity_erasure',
  'environment_removal',
  'role_assignment',
  'sso_domain',
  'webhook_delivery',
] as const;
export type KindName = (typeof kindNames)[number];

export const verbs = ['cancel', 'retry', 'resend', 'extend'] as const;
export type Verb = (typeof verbs)[number];

export const waitsFor = [
  'acceptance',
  'mail_server',
  'factor_enrollment',
  'dns_record',
  'receiver',
  'its_next_step',
  'its_next_moment',
] as const;
export type WaitsFor = (typeof waitsFor)[number];

/** The columns of every kind's query: what the row says of its process, as of now. */
export interface ProcessRow {
  id: string;
  kind: KindName;
  accountId: string;
  environmentId: string | null;
  subjectType: string;
  subjectId: string;
  state: string;
  since: Date;
  deadline: Date | null;
  createdAt: Date;
  endedAt: Date | null;
  endedReason: string | null;
  /** When it continues by itself, if the row says so. */
  nextAt: Date | null;
}

/** The columns of a process that say its state and times. */
export type ProcessSummary = Pick<ProcessRow, 'id' | 'kind' | 'state' | 'since' | 'deadline' | 'nextAt'>;

/** What a kind does with a row, in the caller's transaction and under a lock on the row. */
export type Act = (tx: EntityManager, row: ProcessRow, now: Clock) => Promise<unknown>;

/**
 * A kind of process that an Account has. For a new one, add a file like these and a line in `kinds`; reading, lists,
 * actions and the link to Temporal follow from it.
 */
export interface Kind {
  /** The table of its rows, with an index on `account_id`. */
  table: string;
  /** The names under which its rows are counted. */
  counted: readonly RowCountList[];
  /**
   * SQL that selects the columns of `ProcessRow`, and `stored`, the state as stored, which indexes know. `$1` is the
   * Account, `$2` is now. It must not return rows of other Accounts.
   */
  sql: string;
  /** The states in which it has ended. */
  ended: readonly string[];
  /** The one in which nearly all end, if an index has the others. */
  usualEnd?: string;
  /** The states in which it is running, each with what it waits for. */
  open: Record<string, WaitsFor>;
  /** What can be done with it, and in which states. */
  verbs: Partial<Record<Verb, readonly string[]>>;
  /** The reasons of an end for which nothing more can be done with it. */
  overFor?: readonly string[];
  workflowId(row: ProcessRow): string;
  /** When its workflow does something again by itself; null if only Temporal knows. Only asked for open ones. */
  wakesUpAt(process: ProcessSummary, now: Date): Date | null;
  /** Takes the locks that others take before the row, so that nobody waits in a circle. */
  lockFirst?(tx: EntityManager, id: string): Promise<unknown>;
  /**
   * Ends the row as a cancel in the Temporal UI does, and signals the workflow through the outbox if it would linger.
   */
  cancel: Act;
  /** Starts it again. */
  retry?: Act;
}
