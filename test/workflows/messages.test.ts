import * as workflows from '../../workflows/index.js';
import { creatingUpdates, messagesOf, sendUndecodable, shownOf } from '../support/by-hand.js';
import { startTestTemporal, type TestTemporal } from '../support/temporal.js';
import { until } from '../support/until.js';

let temporal: TestTemporal;
let taskQueue: string;
beforeAll(async () => {
  temporal = await startTestTemporal();
  ({ taskQueue } = await temporal.runWorker({})); // each workflow waits for its first step
});
afterAll(() => temporal.stop());

test.each(Object.keys(workflows))('each message to %s describes what it does when sent by hand', async (name) => {
  const handle = await temporal.client.workflow.start(name, { taskQueue, workflowId: name, args: [{}] });
  const { definition } = await shownOf(handle);
  const messages = [...(definition.signalDefinitions ?? []), ...(definition.updateDefinitions ?? [])];
  expect(messages.filter(({ description }) => !description)).toEqual([]);
  const creating = messages.filter(({ name: message }) => creatingUpdates.includes(message));
  for (const { description } of creating) expect(description).toContain('creates the account');
});

test.each(Object.keys(workflows))('signals to %s that nobody can decode block nothing', async (name) => {
  const handle = await temporal.client.workflow.start(name, { taskQueue, workflowId: `${name}-blocked`, args: [{}] });
  const { signals } = await messagesOf(handle);
  for (const signal of [...signals, 'ofAnotherRelease'])
    await sendUndecodable(temporal.client, handle.workflowId, signal);
  const events = await until('its tasks are done, or one has failed', async () => {
    const { raw } = await handle.describe();
    const history = await handle.fetchHistory();
    const isFailed = history.events?.some((event) => event.workflowTaskFailedEventAttributes);
    return (isFailed || !raw.pendingWorkflowTask) && history.events;
  });
  expect(events.filter((event) => event.workflowTaskFailedEventAttributes)).toEqual([]);
});
