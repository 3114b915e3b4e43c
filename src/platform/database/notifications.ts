import type { Logger } from 'pino';
import { listenToChannel } from './listen.js';

export type Notified = 'rang' | 'silent' | 'over';

/** Bells by name, which notifications of one channel ring: the name is their payload. */
export interface NotificationWaiters {
  /** Answers when it rings, and whether it did: `silent` after that time, `over` when the process ends. */
  wait(name: string, ms: number): Promise<Notified>;
  stop(): Promise<void>;
}

export interface NotificationWaitersDeps {
  url: string;
  channel: string;
  log: Pick<Logger, 'info' | 'warn'>;
}

/** One connection listens for a whole process. After a loss of it every bell rings, since nobody heard them meanwhile. */
export function createNotificationWaiters({ url, channel, log }: NotificationWaitersDeps): NotificationWaiters {
  const waiting = new Map<string, Set<(ring: Notified) => void>>();
  let stopped = false;
  const answer = (name: string, ring: Notified) => {
    for (const one of waiting.get(name) ?? []) one(ring);
  };
  const answerAll = (ring: Notified) => {
    for (const name of [...waiting.keys()]) answer(name, ring);
  };
  const onWake = (name?: string) => (name ? answer(name, 'rang') : answerAll('rang'));
  const listener = listenToChannel({ url, channel, onWake, log });
  return {
    wait: (name, ms) =>
      new Promise((resolve) => {
        if (stopped) return resolve('over');
        const others = waiting.get(name) ?? new Set();
        const timer = setTimeout(() => settle('silent'), ms);
        function settle(ring: Notified) {
          clearTimeout(timer);
          others.delete(settle);
          if (others.size === 0) waiting.delete(name);
          resolve(ring);
        }
        waiting.set(name, others.add(settle));
      }),
    async stop() {
      stopped = true;
      answerAll('over');
      await listener.stop();
    },
  };
}
