import pg from 'pg';
import type { Logger } from 'pino';
import { faultOf } from '../faults.js';
import { renewConnectionsAfterMs } from './renewal.js';

const reconnectMs = 1_000;

/**
 * Listens on a channel of PostgreSQL with a connection of its own. After each loss it listens again, and now and then
 * by a new connection, since nothing else would tell it that the primary has moved. `onWake` gets the payload. It is
 * also called without one after every (re)connection, since notifications in between were not heard. A failed
 * connection is tried again each second; its loss and its return are logged once.
 */
export function listenToChannel({
  url,
  channel,
  onWake,
  log,
  renewAfterMs = renewConnectionsAfterMs,
}: {
  url: string;
  channel: string;
  onWake: (payload?: string) => void;
  log: Pick<Logger, 'info' | 'warn'>;
  renewAfterMs?: number;
}) {
  let client: pg.Client | undefined;
  let timer: NodeJS.Timeout | undefined;
  let renewal: NodeJS.Timeout | undefined;
  let stopped = false;
  let isLost = false;
  let reason: unknown;
  let connecting = Promise.resolve();

  const again = () => {
    clearTimeout(renewal);
    if (stopped) return;
    if (!isLost) log.warn({ channel, fault: faultOf(reason) }, 'nothing of a channel is heard');
    isLost = true;
    timer ??= setTimeout(connect, reconnectMs);
  };
  const failed = (error: unknown) => {
    reason ??= error; // the first error says most
  };
  /** @returns null if it cannot even be tried, as with a certificate file that is just being replaced */
  function newClient(): pg.Client | null {
    try {
      return new pg.Client({
        connectionString: url,
        application_name: `gatehouse ${channel}`,
        keepAlive: true,
        keepAliveInitialDelayMillis: 10_000, // a connection that only listens would not notice otherwise that the other end is gone
        connectionTimeoutMillis: 5_000,
        query_timeout: 10_000,
        pipeline: true, // with it a statement without an answer ends its connection
      });
    } catch (error) {
      failed(error);
      return null;
    }
  }
  function connect() {
    timer = undefined;
    reason = undefined;
    const next = newClient();
    if (!next) return again();
    client = next;
    next.on('error', failed); // 'end' follows
    next.on('end', again);
    next.on('notification', ({ payload }) => onWake(payload));
    connecting = next
      .connect()
      .then(() => next.query(`set idle_session_timeout = 0`)) // a listener is always idle
      .then(() => next.query(`listen ${channel}`))
      .then(() => {
        renewal = setTimeout(renew, renewAfterMs);
        if (isLost) log.info({ channel }, 'a channel is heard again');
        isLost = false;
        onWake();
      })
      .catch((error: unknown) => {
        failed(error);
        // After a refusal, as by a standby, the connection is still open: one more each second would soon take all that
        // PostgreSQL has.
        next.off('end', again);
        void next.end().catch(() => undefined);
        again();
      });
  }
  /** The new connection listens before the old one ends, so that nothing is missed. */
  function renew() {
    const former = client;
    former?.off('end', again);
    connect();
    void connecting.then(() => former?.end()).catch(() => undefined);
  }
  connect();
  return {
    async stop(): Promise<void> {
      stopped = true;
      clearTimeout(timer);
      await connecting;
      clearTimeout(renewal);
      await client?.end().catch(() => undefined);
    },
  };
}
