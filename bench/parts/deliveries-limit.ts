import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { ensureWorkflowBundle } from '../../src/temporal/workflow-bundle.js';

const startsAtOnce = 20; // like the relay

let isQuiet = false;
/** Makes the SDK log only errors; this can be set only once. */
function quiet(): void {
  if (!isQuiet) Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] });
  isQuiet = true;
}

/** Returns how many `webhookDelivery` workflows with an empty attempt this Temporal server completes per second. */
export async function emptyDeliveriesPerSecond(address: string, count: number): Promise<number> {
  quiet();
  const [connection, native] = await Promise.all([
    Connection.connect({ address }),
    NativeConnection.connect({ address }),
  ]);
  const taskQueue = 'webhooks-that-do-nothing';
  const look = { status: 'succeeded', wakeAt: null, attempts: 1 };
  const worker = await Worker.create({
    connection: native,
    taskQueue,
    workflowBundle: { codePath: await ensureWorkflowBundle() },
    activities: { attemptWebhook: async () => look },
    maxCachedWorkflows: 100,
  });
  try {
    return await worker.runUntil(async () => {
      const { workflow } = new Client({ connection });
      const run = async (from: number) => {
        for (let i = from; i < count; i += startsAtOnce) {
          const input = { deliveryId: `${i}`, webhookId: 'bench', accountId: 'bench', environmentId: null };
          handles.push(await workflow.start('webhookDelivery', { taskQueue, workflowId: `empty/${i}`, args: [input] }));
        }
      };
      const handles: { result(): Promise<unknown> }[] = [];
      const begun = performance.now();
      await Promise.all(Array.from({ length: startsAtOnce }, (_, i) => run(i)));
      await Promise.all(handles.map((handle) => handle.result()));
      return (count * 1000) / (performance.now() - begun);
    });
  } finally {
    await connection.close();
    await native.close();
  }
}
