import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, WorkflowHandle } from '@temporalio/client';
import { isTemporalUnavailable } from '../../src/temporal/errors.js';
import { traceHeader } from '../../workflows/trace-header.js';
import type { CrashWorld } from './crash/world.js';
import { namespace } from './temporal.js';

/** Repeats a call while a busy machine's Temporal server refuses it, or does not answer. */
export async function unlessAway<T>(call: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await call();
    } catch (error) {
      if (!isTemporalUnavailable(error) || tries > 100) throw error;
      await sleep(500);
    }
  }
}

/** What the Temporal UI shows of a running workflow, and offers to send to it. */
interface Shown {
  /** The sentence about its state. */
  currentDetails: string;
  definition: Partial<Record<'signalDefinitions' | 'updateDefinitions', { name: string; description?: string }[]>>;
}

/** Updates that create an Account when they are sent by hand, as their descriptions say. */
export const creatingUpdates = ['confirm', 'resume'];

/** Returns what the Temporal UI shows of a running workflow. */
export const shownOf = (handle: WorkflowHandle): Promise<Shown> =>
  unlessAway(() => handle.query<Shown>('__temporal_workflow_metadata'));

/** Returns the names of the signals and updates that a running workflow offers. */
export async function messagesOf(handle: WorkflowHandle) {
  const { definition } = await shownOf(handle);
  const { signalDefinitions = [], updateDefinitions = [] } = definition;
  return { signals: signalDefinitions.map(({ name }) => name), updates: updateDefinitions.map(({ name }) => name) };
}

/** Sends a signal with an argument and a trace that nobody can decode. */
export async function sendUndecodable({ workflowService }: Client, workflowId: string, signalName: string) {
  const payload = { metadata: { encoding: Buffer.from('json/protobuf') }, data: Buffer.from('{') };
  const signal = {
    namespace,
    workflowExecution: { workflowId },
    signalName,
    input: { payloads: [payload] },
    header: { fields: { [traceHeader]: payload } },
  };
  await unlessAway(() => workflowService.signalWorkflowExecution(signal));
}

/**
 * Resets a run to one of its steps, as the Temporal UI does by default: signals, updates and cancels that came later are
 * applied to the new run.
 * @param eventId of a completed workflow task
 * @returns the new run's id
 */
export async function resetTo({ workflowService }: Client, workflowId: string, runId: string, eventId: Long) {
  const request = {
    namespace,
    workflowExecution: { workflowId, runId },
    reason: 'by a test',
    requestId: randomUUID(),
    workflowTaskFinishEventId: eventId,
    resetReapplyType: allEligible,
  };
  return (await unlessAway(() => workflowService.resetWorkflowExecution(request))).runId;
}
const allEligible = 3; // RESET_REAPPLY_TYPE_ALL_ELIGIBLE
type Long = NonNullable<NonNullable<Awaited<ReturnType<WorkflowHandle['fetchHistory']>>['events']>[number]['eventId']>;

/** Returns the events to which a run can be reset: its completed workflow tasks. */
export async function stepsOf(handle: Pick<WorkflowHandle, 'fetchHistory'>): Promise<Long[]> {
  const { events = [] } = await unlessAway(() => handle.fetchHistory());
  return (events ?? []).filter((event) => event.workflowTaskCompletedEventAttributes).map(({ eventId }) => eventId!);
}

/** Waits until the latest run of a workflow has ended, or waits for a time or for another attempt of its step. */
export const atRest = ({ temporal, awaits }: CrashWorld, workflowId: string, what = 'is at rest') =>
  awaits(`${workflowId} ${what}`, async () => {
    const handle = temporal.client.workflow.getHandle(workflowId);
    const { raw, status, runId } = await handle.describe();
    if (status.name !== 'RUNNING') return status.name;
    if (raw.pendingWorkflowTask) return null;
    const steps = raw.pendingActivities ?? [];
    if (steps.length > 0) return steps.every(({ attempt }) => (attempt ?? 1) > 1) ? status.name : null;
    const { events } = await temporal.client.workflow.getHandle(workflowId, runId).fetchHistory();
    return events?.some((event) => event.timerStartedEventAttributes) ? status.name : null;
  });

/**
 * Resets an ended run to each of its steps, one after the other. A new run that waits again would find its row ended at
 * the next moment, which may be an hour away; it is cancelled.
 * @returns how the new runs have ended
 */
export async function resetToEachStep(world: CrashWorld, workflowId: string): Promise<string[]> {
  const handle = world.temporal.client.workflow.getHandle(workflowId);
  const { runId } = await unlessAway(() => handle.describe());
  const ends: string[] = [];
  for (const step of await stepsOf(handle)) {
    await resetTo(world.temporal.client, workflowId, runId, step);
    if ((await atRest(world, workflowId)) === 'RUNNING') await unlessAway(() => handle.cancel());
    ends.push(await world.awaits(`${workflowId} ends`, () => world.statusOf(workflowId).then(ifEnded)));
  }
  return ends;
}
const ifEnded = (status: string) => (status === 'RUNNING' ? null : status);

/** Returns how often everything has happened: what a repetition would change. */
export async function happenings({ query, mails }: CrashWorld) {
  const rows = await query(`
    select 'event ' || action as what, count(*)::int as times from events where action <> 'signing_key.created' group by 1
    union all select 'email ' || template || ' ' || status, count(*)::int from emails group by 1
    union all select 'registration ' || status, count(*)::int from pending_registrations group by 1
    union all select 'intent ' || status, count(*)::int from account_intents group by 1
    union all select 'email change ' || status, count(*)::int from email_changes group by 1
    union all select 'invite ' || status, count(*)::int from administrator_invites group by 1
    union all select 'identity invite ' || status, count(*)::int from identity_invites group by 1
    union all select 'grace ' || status || ' ' || round, count(*)::int from mfa_graces group by 1
    union all select 'window ' || status, count(*)::int from role_assignment_windows group by 1
    union all select 'domain ' || status, count(*)::int from sso_domains group by 1
    union all select 'erasure ' || status, count(*)::int from erasures group by 1
    union all select 'removal ' || status, count(*)::int from environment_removals group by 1
    union all select 'delivery ' || status, count(*)::int from webhook_deliveries group by 1
    union all select 'attempts', count(*)::int from webhook_attempts
    union all select 'accounts', count(*)::int from accounts
    union all select 'identities', count(*)::int from identities`);
  return { ...Object.fromEntries(rows.map(({ what, times }) => [what, times])), 'mails sent': mails.delivered.length };
}
