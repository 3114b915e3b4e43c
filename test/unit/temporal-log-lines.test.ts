import { repetitions } from '../../src/worker/repetitions.js';

const target = 'temporalio_sdk_core::worker';

test('what pollers repeat while Temporal is away is logged every half minute', () => {
  let now = 0;
  const isRepeated = repetitions(() => now);
  const poll = () => isRepeated({ target }, 'Error while polling');
  expect([poll(), poll()]).toEqual([false, true]);
  now = 30_000;
  expect([poll(), poll()]).toEqual([false, true]);
});

test('each workflow with a failing task is named, also when many fail at once', () => {
  const isRepeated = repetitions(() => 0);
  const failing = (runId: string) => isRepeated({ target, runId }, 'Failing workflow task');
  expect(['one', 'another', 'one'].map(failing)).toEqual([false, false, true]);
});

test('lines about ever new workflows are not remembered for ever', () => {
  const isRepeated = repetitions(() => 0);
  const failing = (runId: number) => isRepeated({ target, runId }, 'Failing workflow task');
  for (let runId = 0; runId < 2_000; runId++) failing(runId);
  expect(failing(0)).toBe(false);
});
