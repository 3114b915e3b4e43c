import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { accountIntentId } from '../../workflows/ids.js';
import { DomainError } from '../domain/errors.js';
import type { ProcessDescription, RunningProcesses } from '../domain/running-processes.js';
import { partsOf } from '../platform/parts.js';
import {
  mayRunAgain,
  newsFor,
  type ProcessInput,
  type ProcessName,
  type ProcessNews,
  startOptions,
  workflowIdOf,
} from '../platform/process-kinds.js';
import { connectionOptions, type TemporalServer } from '../platform/temporal-connection.js';
import { createAnswers, type Waits } from './answers.js';
import { hasEnded, isTemporalUnavailable, processError } from './errors.js';
import { isOpen, lookAt } from './look.js';
import { tracedClient } from './tracing-client.js';

export type Processes = ReturnType<typeof createProcesses>;

const retryMs = 300;
/** How long a caller waits for details that are only helpful: the row has what matters. */
const lookWithinMs = 2_000;
/** Makes a query of some ten kilobytes, which takes the server some twenty milliseconds. */
const idsPerQuery = 250;
/** Which ended runs of a workflow id allow another one. */
const reusePolicies = {
  never: 'REJECT_DUPLICATE',
  'after failure': 'ALLOW_DUPLICATE_FAILED_ONLY',
  always: 'ALLOW_DUPLICATE',
} as const;

/**
 * The only starter and signaller of workflows. It connects with the first call, so that a process starts, and accepts
 * work through the outbox, while Temporal is away.
 * @throws DomainError `service.unavailable` from every call while Temporal is away
 */
export function createProcesses(
  server: TemporalServer,
  { answerWithinMs = 5_000, finishWithinMs = 10_000 }: Waits = {},
) {
  const connection = Connection.lazy(connectionOptions(server));
  const client = new Client({ connection, namespace: server.namespace, ...tracedClient() });
  const closing = new AbortController();
  const within = <T>(ms: number, call: () => Promise<T>) => repeating(connection, ms, call, closing.signal);
  const answers = createAnswers(client, within, { answerWithinMs, finishWithinMs });

  return {
    /**
     * Starts a process unless it runs or has run already, so that it is harmless to relay a message of the outbox
     * twice. If the input has news for a running process, signals that one instead; an ended one needs none.
     * @returns whether the process was started now, or signalled
     */
    async start<P extends ProcessName>(name: P, input: ProcessInput<P>): Promise<boolean> {
      try {
        const news = newsFor(name, input);
        if (news) {
          await within(answerWithinMs, () => sendSignal(client, name, input, news));
          return true;
        }
        // For a running process the server answers as if it had just started; it only refuses one that has ended.
        await within(answerWithinMs, () =>
          client.workflow.start(name, {
            ...startOptions(name, input),
            workflowIdReusePolicy: reusePolicies[mayRunAgain(name)],
          }),
        );
        return true;
      } catch (error) {
        if (hasEnded(error)) return false;
        throw error;
      }
    },

    ...answers,

    /** Ends the processes of account requests whose rows were discarded. A process that does not run needs no end. */
    async discardAccountIntents(ids: string[]): Promise<void> {
      const signal = (id: string) => client.workflow.getHandle(accountIntentId(id)).signal('discard');
      await Promise.allSettled(ids.map((id) => within(answerWithinMs, () => signal(id))));
    },

    async notSeenRunning<P extends ProcessName>(name: P, inputs: readonly ProcessInput<P>[]) {
      const missing = new Map(inputs.map((input) => [workflowIdOf(name, input), input]));
      for (const some of partsOf([...missing.keys()], idsPerQuery)) {
        const query = `ExecutionStatus = 'Running' and WorkflowId in (${some.map((id) => `'${id}'`).join(', ')})`;
        const list = { namespace: server.namespace, query, pageSize: some.length };
        const { executions } = await within(answerWithinMs, () =>
          connection.workflowService.listWorkflowExecutions(list),
        );
        for (const { execution } of executions) missing.delete(execution?.workflowId ?? '');
      }
      return new Set(missing.values());
    },

    async startAgain<P extends ProcessName>(name: P, input: ProcessInput<P>): Promise<boolean> {
      const options = startOptions(name, input);
      const { status } = await within(answerWithinMs, () =>
        client.workflow.getHandle(options.workflowId).describe(),
      ).catch((error) => {
        if (hasEnded(error)) return { status: { name: 'NOT_FOUND' } };
        throw error;
      });
      if (isOpen(status)) return false; // also a paused one, which the list of running workflows lacks
      const again = { ...options, workflowIdReusePolicy: 'ALLOW_DUPLICATE' } as const;
      await within(answerWithinMs, () => client.workflow.start(name, again));
      return true;
    },

    describe: (workflowId: string): Promise<ProcessDescription | null> =>
      atMost(lookWithinMs, () => within(lookWithinMs, () => lookAt(client, workflowId))),

    cancel: (workflowId: string): Promise<boolean> =>
      atMost(lookWithinMs, () => within(lookWithinMs, () => cancelRunning(client, workflowId))),

    /** @throws if Temporal does not answer in time, or does not know our namespace */
    async ping(withinMs = 2_000): Promise<void> {
      await connection.withDeadline(Date.now() + withinMs, () =>
        connection.workflowService.describeNamespace({ namespace: server.namespace }),
      );
    },

    /** For code that needs Temporal itself: schedules, search attributes, and tests. */
    client,
    connection,
    async close(): Promise<void> {
      closing.abort();
      await connection.close();
    },
  } satisfies RunningProcesses & Record<string, unknown>;
}

/** Repeats `call`, which has to be safe to repeat, while Temporal is unavailable and there is time. */
async function repeating<T>(
  connection: Connection,
  ms: number,
  call: () => Promise<T>,
  closing: AbortSignal,
): Promise<T> {
  for (const deadline = Date.now() + ms; ; await sleep(retryMs)) {
    try {
      return await connection.withDeadline(deadline, call);
    } catch (error) {
      const again = isTemporalUnavailable(error) && !closing.aborted && Date.now() + retryMs < deadline;
      if (!again) throw processError(error);
    }
  }
}

/** Limits a call including its connection: a call's deadline begins after that, and a silent host can take longer. */
async function atMost<T>(ms: number, call: () => Promise<T>): Promise<T> {
  const over = new AbortController();
  const late = sleep(ms, undefined, { signal: over.signal }).then(() => {
    throw new DomainError('service.unavailable');
  });
  try {
    return await Promise.race([call(), late]);
  } finally {
    over.abort();
    late.catch(() => undefined);
  }
}

async function sendSignal<P extends ProcessName>(client: Client, name: P, input: ProcessInput<P>, news: ProcessNews) {
  const { signal, args: signalArgs, starts } = news;
  const { workflowIdConflictPolicy: _, ...options } = startOptions(name, input);
  if (!starts) return void (await client.workflow.getHandle(options.workflowId).signal(signal, ...signalArgs));
  const args = [{ ...input, news: undefined }];
  const workflowIdReusePolicy = 'ALLOW_DUPLICATE'; // the row decides whether anything is left to do
  await client.workflow.signalWithStart(name, { ...options, args, signal, signalArgs, workflowIdReusePolicy });
}

/** Cancels a workflow; false if it has ended. The server accepts a cancel even then, so the status is read first. */
async function cancelRunning(client: Client, workflowId: string): Promise<boolean> {
  const handle = client.workflow.getHandle(workflowId);
  try {
    if (!isOpen((await handle.describe()).status)) return false;
    await handle.cancel();
    return true;
  } catch (error) {
    if (hasEnded(error)) return false;
    throw error;
  }
}
