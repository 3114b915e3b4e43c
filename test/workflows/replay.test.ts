import { readdir, readFile } from 'node:fs/promises';
import { Worker } from '@temporalio/worker';
import { ensureWorkflowBundle } from '../../src/temporal/workflow-bundle.js';
import { workflowSpans } from '../../src/worker/tracing.js';
import * as workflows from '../../workflows/index.js';
import { historiesFolder, readHistory } from '../support/histories.js';
import { quiet } from '../support/temporal.js';

beforeAll(quiet);

const files = (await readdir(historiesFolder)).filter((name) => name.endsWith('.json')).sort();

/** The error of each replay, by one worker: it loads the bundle once. */
const failures = new Map<string, Error | undefined>();
beforeAll(async () => {
  const workflowBundle = { codePath: await ensureWorkflowBundle() };
  const histories = await Promise.all(
    files.map(async (file) => ({ workflowId: file, history: await readHistory(file) })),
  );
  for await (const { workflowId, error } of Worker.runReplayHistories(
    { workflowBundle, sinks: workflowSpans() },
    histories,
  )) {
    failures.set(workflowId, error);
  }
});

test.each(files)('%s, recorded by an earlier release, still replays', (file) => {
  expect([...failures.keys()]).toContain(file);
  expect(failures.get(file)).toBeUndefined();
});

test('there is a recorded history of every workflow', async () => {
  const recorded = await Promise.all(files.map(readHistory));
  const types = recorded.map(({ events }) => events?.[0]?.workflowExecutionStartedEventAttributes?.workflowType?.name);
  expect([...new Set(types)].sort()).toEqual(Object.keys(workflows).sort());
});

test('a history that began with traces is among them', async () => {
  const { events } = await readHistory('registration-traced.json');
  const { header } = events?.[0]?.workflowExecutionStartedEventAttributes ?? {};
  expect(Object.keys(header?.fields ?? {})).toContain('_tracer-data');
});

test('the workflow bundle contains workflows only: no entity, no driver, no activity', async () => {
  const code = await readFile(await ensureWorkflowBundle(), 'utf8');
  for (const stranger of ['typeorm', 'node_modules/pg/', 'nodemailer', './activities/', './entities/', './src/']) {
    expect(code.includes(stranger)).toBe(false);
  }
});
