import type { Logger } from 'pino';
import { listenToChannel } from './listen.js';

export type WaitResult = 'notified' | 'timed_out' | 'stopped';

/** Waiters for notifications of one channel, by payload. */
export interface NotificationWaiters {
  /** Resolves at the next notification with this payload, after `ms` milliseconds, or when the process stops. */
  wait(payload: string, ms: number): Promise<WaitResult>;
  stop(): Promise<void>;
}

export interface NotificationWaitersDeps {
  url: string;
  channel: string;
  log: Pick<Logger, 'info' | 'warn'>;
}

/**
 * Creates the waiters of a process, which share one connection. After its loss all of them count as notified, since
 * notifications may have been missed.
 */
export function createNotificationWaiters({ url, channel, log }: NotificationWaitersDeps): NotificationWaiters {
  const waiting = new Map<string, Set<(result: WaitResult) => void>>();
  let stopped = false;
  const answer = (name: string, result: WaitResult) => {
    for (const one of waiting.get(name) ?? []) one(result);
  };
  const answerAll = (result: WaitResult) => {
    for (const name of [...waiting.keys()]) answer(name, result);
  };
  const onWake = (name?: string) => (name ? answer(name, 'notified') : answerAll('notified'));
  const listener = listenToChannel({ url, channel, onWake, log });
  return {
    wait: (name, ms) =>
      new Promise((resolve) => {
        if (stopped) return resolve('stopped');
        const others = waiting.get(name) ?? new Set();
        const timer = setTimeout(() => settle('timed_out'), ms);
        function settle(result: WaitResult) {
          clearTimeout(timer);
          others.delete(settle);
          if (others.size === 0) waiting.delete(name);
          resolve(result);
        }
        waiting.set(name, others.add(settle));
      }),
    async stop() {
      stopped = true;
      answerAll('stopped');
      await listener.stop();
    },
  };
}
