import * as workflows from '../../workflows/index.js';
import { startTestTemporal, type TestTemporal } from '../support/temporal.js';

let temporal: TestTemporal;
let taskQueue: string;
beforeAll(async () => {
  temporal = await startTestTemporal();
  ({ taskQueue } = await temporal.runWorker({})); // each workflow waits for its first step
});
afterAll(() => temporal.stop());

interface Message {
  name: string;
  description?: string;
}
/** What the Temporal UI reads to offer signals and updates to send. */
interface Metadata {
  definition: { signalDefinitions?: Message[]; updateDefinitions?: Message[] };
}

test.each(Object.keys(workflows))('each message to %s describes what it does when sent by hand', async (name) => {
  const handle = await temporal.client.workflow.start(name, { taskQueue, workflowId: name, args: [{}] });
  const { definition } = await handle.query<Metadata>('__temporal_workflow_metadata');
  const messages = [...(definition.signalDefinitions ?? []), ...(definition.updateDefinitions ?? [])];
  expect(messages.filter(({ description }) => !description)).toEqual([]);
  const creating = messages.filter(({ name: message }) => ['confirm', 'resume'].includes(message));
  for (const { description } of creating) expect(description).toContain('creates the account');
});
