import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLog } from '../../src/platform/log.js';
import { stopAtSignals } from '../../src/platform/stopping.js';

/** Runs a process that is asked to end once for each signal. @returns the codes that it ended with */
async function ended(stop: () => Promise<void>, { withinMs = 60_000, signals = ['SIGTERM'] } = {}): Promise<number[]> {
  const asked = new EventEmitter();
  const codes: number[] = [];
  await new Promise<void>((resolve) => {
    const exit = (code: number) => {
      codes.push(code);
      resolve();
    };
    stopAtSignals(stop, { log: createLog('test', 'silent'), withinMs, on: asked as never, exit });
    for (const signal of signals) asked.emit(signal);
  });
  return codes;
}

test('a process that stops in order ends with 0, once, however often it is asked', async () => {
  let stops = 0;
  const stop = async () => {
    stops++;
    await sleep(1);
  };
  expect([await ended(stop, { signals: ['SIGINT', 'SIGTERM', 'SIGINT'] }), stops]).toEqual([[0], 1]);
});

test('a closed terminal asks a process to end, too', async () => {
  expect(await ended(async () => {}, { signals: ['SIGHUP'] })).toEqual([0]);
});

test('a process that hangs, or fails to stop, ends with another exit code', async () => {
  expect(await ended(() => new Promise(() => {}), { withinMs: 1 })).toEqual([1]);
  expect(await ended(() => Promise.reject(new Error('no')))).toEqual([1]);
});
