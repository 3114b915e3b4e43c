import { randomUUID } from 'node:crypto';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker, type WorkerOptions } from '@temporalio/worker';
import { ensureWorkflowBundle } from '../../src/temporal/workflow-bundle.js';
import { namespace, temporalLauncher } from './temporal-launcher.js';

export { namespace };

export type TestTemporal = Awaited<ReturnType<typeof startTestTemporal>>;

/** Starts a real, empty Temporal server for this test file. */
export async function startTestTemporal({ port, eventsPerHistory }: { port?: number; eventsPerHistory?: number } = {}) {
  quiet();
  const codePath = await ensureWorkflowBundle();
  const { launch, remove } = await temporalLauncher({ eventsPerHistory });
  const server = await launch(port);
  const { address } = server;
  const connection = await NativeConnection.connect({ address });
  const clientConnection = await Connection.connect({ address });
  const client = new Client({ connection: clientConnection, namespace });
  const workers: { stop(): Promise<void> }[] = [];
  return {
    address,
    port: server.port,
    client,
    codePath,
    /** Starts a worker with these activities, on its own queue unless one is named. */
    async runWorker(
      activities: NonNullable<WorkerOptions['activities']>,
      taskQueue = `test-${randomUUID()}`,
    ): Promise<{ taskQueue: string; stop(): Promise<void> }> {
      const worker = await Worker.create({
        connection,
        namespace,
        taskQueue,
        activities,
        workflowBundle: { codePath },
        shutdownGraceTime: '1s',
      });
      const running = worker.run();
      let stopped = false;
      const stop = async () => {
        if (!stopped) worker.shutdown();
        stopped = true;
        await running;
      };
      workers.push({ stop });
      return { taskQueue, stop };
    },
    async stop(): Promise<void> {
      await Promise.all(workers.map((worker) => worker.stop()));
      await clientConnection.close();
      await connection.close();
      await server.stop();
      await remove();
    },
  };
}

/** Returns a workflow's status: `COMPLETED`, `FAILED`, `CANCELLED`… */
export const statusOf = async (handle: Pick<WorkflowHandle, 'describe'>): Promise<string> =>
  (await handle.describe()).status.name;

/** Returns everything in a workflow's history as one text: its payloads are bytes, its failures have messages. */
export async function historyText(handle: Pick<WorkflowHandle, 'fetchHistory'>): Promise<string> {
  const texts: string[] = [];
  const walk = (value: unknown): void => {
    if (value instanceof Uint8Array) texts.push(Buffer.from(value).toString('utf8'));
    else if (typeof value === 'string') texts.push(value);
    else if (value && typeof value === 'object') {
      for (const [key, child] of Object.entries(value)) {
        texts.push(key);
        walk(child);
      }
    }
  };
  walk(await handle.fetchHistory());
  return texts.join('\n');
}

let installed = false;
/**
 * Has the SDK log only errors, and run workflows in the test's thread: starting a thread for them, as each of the
 * service's four workers has in its process, takes half a second of CPU.
 */
export function quiet() {
  process.env.TEMPORAL_DEBUG = 'true';
  if (!installed) Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] });
  installed = true;
}
