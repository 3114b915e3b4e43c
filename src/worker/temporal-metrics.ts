import type { Logger } from 'pino';
import { onFreePorts } from '../platform/embedded/ports.js';
import { installRuntime } from './log.js';

const answerWithinMs = 2_000;

/**
 * Installs the SDK's runtime with its own metrics: slots, polls, and latencies of its queues. The native part serves
 * them itself; here that is on loopback, so that the worker has one address for all metrics.
 * @returns a function that returns their text, which is empty if they cannot be read
 */
export const installMeasuredRuntime = (log: Logger): Promise<() => Promise<string>> =>
  onFreePorts([undefined], async ([port]) => {
    const address = `127.0.0.1:${port}`;
    installRuntime(log, address);
    return async () => {
      const signal = AbortSignal.timeout(answerWithinMs);
      const answer = await fetch(`http://${address}/metrics`, { signal }).catch(() => null);
      return answer?.ok ? answer.text() : '';
    };
  });
