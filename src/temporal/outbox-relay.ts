import { outboxChannel, outboxLanes } from '../domain/outbox.js';
import { listenToChannel } from '../platform/database/listen.js';
import { createWakeUp } from '../platform/wake-up.js';
import type { Lane } from './outbox-claims.js';
import { type LaneDeps, runLane } from './outbox-lane.js';

export interface OutboxRelayDeps extends LaneDeps {
  /** For the connection that listens. */
  databaseUrl: string;
  /** Milliseconds between two looks without a notification, as one can be lost with its connection. */
  pollMs?: number;
}

/**
 * Starts the workflows that committed changes asked for, and removes each message once its workflow exists. Any number
 * of relays may run. A message that cannot be started waits by itself and delays no other.
 */
export function startOutboxRelay({ databaseUrl, pollMs = 2_000, ...deps }: OutboxRelayDeps) {
  let stopped = false;
  const running = (Object.keys(outboxLanes) as Lane[]).map((lane) => {
    const wakeUp = createWakeUp();
    return {
      wakeUp,
      ended: runLane(lane, deps, async (idle) => {
        if (idle && !stopped) await wakeUp.wait(pollMs);
        return stopped;
      }),
    };
  });
  const wakeAll = () => {
    for (const { wakeUp } of running) wakeUp.wake();
  };
  const listener = listenToChannel({ url: databaseUrl, channel: outboxChannel, onWake: wakeAll, log: deps.log });
  return {
    /** Stops after the batches under way. */
    async stop(): Promise<void> {
      stopped = true;
      wakeAll();
      await Promise.all(running.map(({ ended }) => ended));
      await listener.stop();
    },
  };
}
