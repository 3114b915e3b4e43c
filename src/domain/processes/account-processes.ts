import type { EntityManager } from 'typeorm';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { retryingDeadlocks } from '../../platform/database/retry-deadlocks.js';
import type { AccountScope } from '../../platform/scope.js';
import type { AdministratorInvites } from '../administrator-invites/administrator-invites.js';
import { DomainError } from '../errors.js';
import { recordOfProcess } from '../events/process-events.js';
import type { Page } from '../lists/paging.js';
import type { ProcessDescription, RunningProcesses } from '../running-processes.js';
import { waitUntilStopped } from '../wait-until-stopped.js';
import { type Extension, extendInvite } from './extend.js';
import type { Kind, ProcessRow, ProcessSummary, Verb, WaitsFor } from './kind.js';
import { createKinds, type Kinds, type KindsDeps } from './kinds.js';
import { findRow, type ListRequest, listRows } from './list.js';
import { isWhole, readWholePage } from './whole.js';

/** The state of a process, and what can be done with it. */
export interface ProcessStatus {
  id: string;
  state: string;
  nextWakeUp: Date | null;
  verbs: readonly Verb[];
}

/** A process as it is shown, with everything that its row says. */
export interface ShownProcess extends ProcessRow, Pick<ProcessStatus, 'nextWakeUp' | 'verbs'> {
  workflowId: string;
  waitsFor: WaitsFor | null;
}

/** A process with what Temporal knows of it. */
export interface LookedAtProcess extends ShownProcess {
  temporal: (ProcessDescription & { url: string | null }) | null;
  /** `unknown`: Temporal responds, and has no such workflow (yet, or any more). */
  temporalState: 'available' | 'unknown' | 'unavailable';
}

/** What happened to the workflow of a cancelled process; its row has ended in any case. */
export type WorkflowEnd = 'cancel_requested' | 'not_running' | 'temporal_unavailable';

export interface AccountProcessesDeps extends KindsDeps {
  db: Db;
  now: Clock;
  processes: Pick<RunningProcesses, 'describe' | 'cancel'>;
  administratorInvites: Pick<AdministratorInvites, 'resend'>;
  temporalUi: { url: string | null; namespace: string };
}

export type AccountProcesses = ReturnType<typeof createAccountProcesses>;

/**
 * "Where is it?": everything in an Account that is waiting, and what support can do about it. It is read from the rows,
 * so it works while Temporal is down. Only the system's scope sees rows of mails, so all queries here run in it, and
 * filter by Account themselves.
 */
export function createAccountProcesses(deps: AccountProcessesDeps) {
  const { db, now, processes, administratorInvites, temporalUi } = deps;
  const kinds = createKinds(deps);
  const within = <T>(work: (tx: EntityManager) => Promise<T>) => db.transaction('system', work);

  const verbsOf = verbsByState(kinds);

  const statusOf = (row: ProcessSummary): ProcessStatus => {
    const kind: Kind = kinds[row.kind];
    return {
      id: row.id,
      state: row.state,
      nextWakeUp: kind.open[row.state] ? kind.wakesUpAt(row, now()) : null,
      verbs: verbsOf(row),
    };
  };
  const shown = (row: ProcessRow): ShownProcess => {
    const kind: Kind = kinds[row.kind];
    const { nextWakeUp, ...left } = statusOf(row);
    const verbs = row.endedReason !== null && kind.overFor?.includes(row.endedReason) ? [] : left.verbs;
    const waitsFor = kind.open[row.state] ?? null;
    // Not a single literal: V8 takes a microsecond for each member behind a leading spread.
    return Object.assign({ ...row }, { workflowId: kind.workflowId(row), waitsFor, nextWakeUp, verbs });
  };

  /** Applies it to the row, under its lock. @throws DomainError process.not_found, and what `assertPossible` throws */
  const act = (
    scope: AccountScope,
    id: string,
    verb: Verb,
    work: (tx: EntityManager, row: ProcessRow, kind: Kind) => Promise<unknown>,
  ): Promise<ShownProcess> =>
    retryingDeadlocks(() =>
      within(async (tx) => {
        const row = await findRow(tx, kinds, scope, { id, now: now(), lock: true });
        const kind: Kind = kinds[row.kind];
        assertPossible(kind, row, verb);
        await work(tx, row, kind);
        return shown(await findRow(tx, kinds, scope, { id, now: now() }));
      }),
    );

  return {
    async list(scope: AccountScope, request: ListRequest): Promise<Page<ShownProcess>> {
      const asked = { ...request, now: now() };
      const { rows, ...page } =
        (isWhole(asked) && (await readWholePage(db, kinds, scope, asked))) ||
        (await within((tx) => listRows(tx, kinds, scope, asked)));
      return { ...page, rows: rows.map(shown) };
    },

    /** @throws DomainError process.not_found */
    assertThere: (scope: AccountScope, id: string): Promise<unknown> =>
      within((tx) => findRow(tx, kinds, scope, { id, now: now() })),

    /** @throws DomainError process.not_found */
    async get(scope: AccountScope, id: string): Promise<LookedAtProcess> {
      const row = shown(await within((tx) => findRow(tx, kinds, scope, { id, now: now() })));
      try {
        const look = await processes.describe(row.workflowId);
        const url = look && urlOf(temporalUi, look);
        return { ...row, temporal: look && { ...look, url }, temporalState: look ? 'available' : 'unknown' };
      } catch (error) {
        if (!isUnavailable(error)) throw error;
        return { ...row, temporal: null, temporalState: 'unavailable' };
      }
    },

    /**
     * Ends the row as a cancel in the Temporal UI would, and then the workflow. The row decides: a workflow that does
     * not receive the cancel finds its row ended at its next step.
     * @param reason free text of the administrator, kept in the audit log
     * @throws DomainError process.not_found, process.not_running
     */
    async cancel(
      scope: AccountScope,
      id: string,
      reason: string,
    ): Promise<ShownProcess & { workflowEnd: WorkflowEnd }> {
      const process = await act(scope, id, 'cancel', async (tx, row, kind) => {
        await kind.cancel(tx, row, now);
        await recordOfProcess(tx, 'process.cancelled', row, { reason });
      });
      return { ...process, workflowEnd: await endWorkflow(process.workflowId) };
    },

    /**
     * @throws DomainError process.not_found, process.not_failed, process.verb_not_supported, sso_domain.limit_reached,
     *   and as `retry` of a delivery; service.unavailable while its run stops
     */
    async retry(scope: AccountScope, id: string): Promise<ShownProcess> {
      const { workflowId, endedReason } = shown(await within((tx) => findRow(tx, kinds, scope, { id, now: now() })));
      await waitUntilStopped(processes, { workflowId, wasCancelled: endedReason === 'cancelled_by_operator' });
      return act(scope, id, 'retry', async (tx, row, kind) => {
        await kind.retry?.(tx, row, now);
        await recordOfProcess(tx, 'process.retried', row);
      });
    },

    /**
     * Sends an invite's link again, with all checks of resending it.
     * @throws DomainError process.not_found, process.not_running, process.verb_not_supported, and as `resend` of an
     *   invite
     */
    async resend(scope: AccountScope, userId: string, id: string): Promise<ShownProcess> {
      const row = await within((tx) => findRow(tx, kinds, scope, { id, now: now() }));
      assertPossible(kinds[row.kind], row, 'resend');
      await administratorInvites.resend(scope, userId, row.subjectId).catch((error: unknown) => {
        throw error instanceof DomainError && error.code === 'administrator_invite.not_pending'
          ? new DomainError('process.not_running')
          : error;
      });
      return shown(await within((tx) => findRow(tx, kinds, scope, { id, now: now() })));
    },

    /** @throws DomainError process.not_found, process.not_running, process.verb_not_supported, validation.failed */
    extend: (scope: AccountScope, userId: string, id: string, extension: () => Extension): Promise<ShownProcess> =>
      act(scope, id, 'extend', async (tx, row) => {
        const deadline = await extendInvite(tx, row, { userId, extension: extension(), now: now() });
        await recordOfProcess(tx, 'process.extended', row, { deadline });
      }),

    /**
     * The state of a process for its resource, which was read already; the same as the process itself shows. Lists ask
     * it for each row.
     */
    of: statusOf,
  };

  async function endWorkflow(workflowId: string): Promise<WorkflowEnd> {
    try {
      return (await processes.cancel(workflowId)) ? 'cancel_requested' : 'not_running';
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      return 'temporal_unavailable';
    }
  }
}

/** What can be done in which state, by kind; computed once for each. */
function verbsByState(kinds: Kinds): (process: Pick<ProcessSummary, 'kind' | 'state'>) => readonly Verb[] {
  const known = new Map<string, readonly Verb[]>();
  return ({ kind, state }) => {
    const key = `${kind} ${state}`;
    const found = known.get(key);
    if (found) return found;
    const { verbs } = kinds[kind];
    const possible = (Object.keys(verbs) as Verb[]).filter((verb) => verbs[verb]?.includes(state));
    known.set(key, possible);
    return possible;
  };
}

/** @throws DomainError process.verb_not_supported, process.not_failed, process.not_running */
function assertPossible(kind: Kind, { state }: ProcessRow, verb: Verb): void {
  const possibleIn = kind.verbs[verb];
  if (!possibleIn) throw new DomainError('process.verb_not_supported');
  if (!possibleIn.includes(state))
    throw new DomainError(verb === 'retry' ? 'process.not_failed' : 'process.not_running');
}

const isUnavailable = (error: unknown) => error instanceof DomainError && error.code === 'service.unavailable';

const urlOf = ({ url, namespace }: AccountProcessesDeps['temporalUi'], { workflowId, runId }: ProcessDescription) =>
  url && `${url}/namespaces/${namespace}/workflows/${encodeURIComponent(workflowId)}/${runId}/history`;
