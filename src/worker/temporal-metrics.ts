import type { Logger } from 'pino';
import { onFreePorts } from '../platform/embedded/ports.js';
import { installRuntime } from './log.js';

const answerWithinMs = 2_000;

/**
 * Installs the SDK's runtime with its own metrics: slots, polls, latencies of its queues. The native part serves them itself, which
 * is on loopback here, so that a worker has one address for all of its metrics.
 * @returns their text; nothing where they cannot be read
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
