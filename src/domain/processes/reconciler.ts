import { type FindOperator, In, LessThanOrEqual, MoreThan } from 'typeorm';
import { after, type Clock, minutes } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { workflowsRestarted, workflowsUnhealed } from '../../platform/metrics/metrics.js';
import { partsOf } from '../../platform/parts.js';
import { type ProcessName, workflowIdOf } from '../../platform/process-kinds.js';
import { nilUuid } from '../../platform/uuid.js';
import type { RunningProcesses } from '../running-processes.js';
import type { OpenKinds, OpenQuery, OpenRow } from './open.js';

export interface ReconcilerDeps {
  db: Db;
  now: Clock;
  kinds: OpenKinds;
  processes: Pick<RunningProcesses, 'notSeenRunning' | 'startAgain'>;
  settledMs?: number;
}

/** Rows have to be this old: the relay comes first, and Temporal's list of running workflows is a little behind. */
export const settledMs = minutes(1);

/** How far a run has come. */
export interface ReconcilerPlace {
  kind: ProcessName;
  after: string;
}
export interface Reconciled {
  kind: ProcessName;
  looked: number;
  restarted: number;
  /**
   * Ids of workflows of which Temporal could not say whether they run, or that it could not start; left to the next
   * run.
   */
  failed: string[];
  /** Null when all rows were checked. */
  next: ReconcilerPlace | null;
}

/** How many starts are on their way to Temporal at once. */
const atOnce = 20;

export type Reconciler = ReturnType<typeof createReconciler>;

/**
 * Workflow code cannot notice that it was terminated, or that its server has lost its history. So each pending row is
 * compared with what is running, and its process is started again if needed, which then reads the row and closes it if
 * its time is over.
 */
export function createReconciler({ db, now, kinds, processes, settledMs: oldEnough = settledMs }: ReconcilerDeps) {
  const names = Object.keys(kinds) as ProcessName[];
  // Prometheus does not see an increase in the first value of a series.
  for (const name of names) {
    workflowsRestarted.inc({ workflow_type: name }, 0);
    workflowsUnhealed.inc({ workflow_type: name }, 0);
  }

  return {
    /** Checks one page of rows. @param place where the page before ended; null begins a run */
    async reconcile(place: ReconcilerPlace | null, pageSize: number): Promise<Reconciled> {
      const { kind, after: last } = place ?? { kind: names[0]!, after: nilUuid };
      const query = kinds[kind] as OpenQuery<ProcessName> | undefined;
      const read = (id: FindOperator<string>, take: number) =>
        db.transaction('system', (tx) => query!(tx, { id, since: LessThanOrEqual(after(now(), -oldEnough)), take }));
      const page = query ? await read(MoreThan(last), pageSize) : [];
      const healed = await heal(kind, page, (ids) => read(In(ids), ids.length));
      return { kind, looked: page.length, ...healed, next: placeAfter(kind, page, pageSize) };
    },
  };

  async function heal(
    kind: ProcessName,
    page: OpenRow<ProcessName>[],
    reread: (ids: string[]) => Promise<OpenRow<ProcessName>[]>,
  ): Promise<{ restarted: number; failed: string[] }> {
    const healed = { restarted: 0, failed: [] as string[] };
    if (page.length === 0) return healed;
    const missing = await processes.notSeenRunning(
      kind,
      page.map(({ input }) => input),
    );
    if (missing.size === 0) return healed;
    // Most of these few have ended between the two looks, and so have their rows.
    const waiting = await reread(page.filter(({ input }) => missing.has(input)).map(({ id }) => id));
    for (const batch of partsOf(waiting, atOnce)) {
      const first = await startEach(kind, batch);
      // A single failure stops no other start; this many are no coincidence.
      if (first.lost.length === atOnce) throw first.reason;
      // A start that a busy Temporal did not answer in time may have worked, and is visible by now.
      const second = await startEach(kind, first.lost);
      const restarted = first.restarted + second.restarted;
      healed.failed.push(...second.lost.map(({ input }) => workflowIdOf(kind, input)));
      healed.restarted += restarted;
      workflowsRestarted.inc({ workflow_type: kind }, restarted); // counted now: they run, whatever happens to the next batch
      workflowsUnhealed.inc({ workflow_type: kind }, second.lost.length);
    }
    return healed;
  }

  async function startEach(kind: ProcessName, rows: OpenRow<ProcessName>[]) {
    const outcomes = await Promise.allSettled(rows.map(({ input }) => processes.startAgain(kind, input)));
    const failure = outcomes.find((outcome) => outcome.status === 'rejected');
    return {
      restarted: outcomes.filter((outcome) => outcome.status === 'fulfilled' && outcome.value).length,
      lost: rows.filter((_, n) => outcomes[n]?.status === 'rejected'),
      reason: failure?.reason as unknown,
    };
  }

  function placeAfter(kind: ProcessName, page: OpenRow<ProcessName>[], pageSize: number): ReconcilerPlace | null {
    if (page.length === pageSize) return { kind, after: page.at(-1)!.id };
    const next = names[names.indexOf(kind) + 1];
    return next === undefined ? null : { kind: next, after: nilUuid };
  }
}
