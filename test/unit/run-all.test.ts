import type { State } from '@temporalio/worker';
import { runAll, WorkersHang } from '../../src/worker/run-all.js';

/** Returns a worker whose run ends when the test says so. */
function worker() {
  const { promise, resolve, reject } = later();
  const one = {
    state: 'RUNNING' as State,
    isAsked: false,
    run: () => promise,
    getState: () => one.state,
    shutdown() {
      one.isAsked = true;
      one.state = 'STOPPING';
    },
    end: resolve,
    fail: reject,
  };
  return one;
}

function later() {
  let [resolve, reject] = [() => {}, (_: Error) => {}];
  const promise = new Promise<void>((...both) => {
    [resolve, reject] = both;
  });
  return { promise, resolve, reject };
}

test('workers that are stopped in order end in order', async () => {
  const all = [worker(), worker()];
  const running = runAll(all, 50);
  for (const one of all) {
    one.state = 'STOPPED';
    one.end();
  }
  await expect(running).resolves.toBeUndefined();
});

test('a worker that fails stops the others, and gives the reason', async () => {
  const [first, other] = [worker(), worker()];
  const running = runAll([first, other], 5_000);
  first.state = 'FAILED';
  first.fail(new Error('refused'));
  for (const end = Date.now() + 5_000; !other.isAsked && Date.now() < end; ) await new Promise(setImmediate);
  other.end();
  await expect(running).rejects.toThrow('refused');
});

test('a worker that has failed without its run ending is given up', async () => {
  const [first, other] = [worker(), worker()];
  const running = runAll([first, other], 50);
  first.state = 'FAILED';
  await expect(running).rejects.toThrow(WorkersHang);
  expect(other.isAsked).toBe(true);
});
