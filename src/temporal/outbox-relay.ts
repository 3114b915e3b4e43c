import { outboxChannel } from '../domain/outbox.js';
import { createBell, listenForever } from '../platform/wake-up.js';
import { type LaneDeps, runLane } from './outbox-lane.js';

export interface OutboxRelayDeps extends LaneDeps {
  /** For the connection that listens. */
  databaseUrl: string;
  /** Milliseconds between two looks when nobody rings; a notification can be lost with its connection. */
  pollMs?: number;
}

// A batch is leased rather than locked, so that no transaction stays open while Temporal is asked. A relay that dies
// leaves its batch to the next one when the lease ends; starting one again is harmless. By an array: as a list of rows, the planner,
// which knows no limit, reads the whole table for each batch as soon as much waits.
const claim = (name: string, which: string) => ({
  name,
  text: `update outbox set due_at = clock_timestamp() + interval '15 seconds', attempts = attempts + 1
    where id = any (array(
      select id from outbox where ${which} and due_at <= clock_timestamp() order by due_at, id limit $1 for update skip locked))
    returning id, process, input, attempts, traceparent`,
});
// Three lanes, each with an index: one event can ask for a thousand deliveries, and a customer for a thousand invites with a process and
// a mail each. No sign-up and no emailed code waits behind them.
const awaited = `(process = 'registrationVerification' or input ? 'isAwaited')`;
const lanes = [
  claim('outbox_claim_awaited', awaited),
  claim('outbox_claim', `process <> 'webhookDelivery' and not ${awaited}`),
  claim('outbox_claim_webhooks', `process = 'webhookDelivery'`),
];

/**
 * Starts the workflows that committed changes asked for, and removes each message once its workflow is there. Any number
 * of relays may run. A message that cannot be started waits by itself and holds up no other.
 */
export function startOutboxRelay({ databaseUrl, pollMs = 2_000, ...deps }: OutboxRelayDeps) {
  let stopped = false;
  const running = lanes.map((claim) => {
    const bell = createBell();
    return {
      bell,
      ended: runLane(claim, deps, async (idle) => {
        if (idle && !stopped) await bell.wait(pollMs);
        return stopped;
      }),
    };
  });
  const ring = () => {
    for (const { bell } of running) bell.ring();
  };
  const listener = listenForever({ url: databaseUrl, channel: outboxChannel, onWake: ring, log: deps.log });
  return {
    /** Lets the batches on their way finish. */
    async stop(): Promise<void> {
      stopped = true;
      ring();
      await Promise.all(running.map(({ ended }) => ended));
      await listener.stop();
    },
  };
}
