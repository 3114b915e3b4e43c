import pg from 'pg';
import type { Logger } from 'pino';
import { faultOf } from '../faults.js';
import { renewConnectionsAfterMs } from './renewal.js';

const reconnectMs = 1_000;

/**
 * Listens on a PostgreSQL channel with a connection of its own. It reconnects after each loss, and also regularly,
 * since nothing else would tell it that the primary has moved. `onWake` gets the payload of each notification; it is
 * also called without one after every (re)connection, since notifications in between were missed. A failed connection
 * is tried again each second; its loss and its return are logged once.
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
    reason ??= error; // the first error says the most
  };
  /** @returns null if a connection cannot even be tried, as while a certificate file is being replaced */
  function newClient(): pg.Client | null {
    try {
      return new pg.Client({
        connectionString: url,
        application_name: `gatehouse ${channel}`,
        keepAlive: true,
        keepAliveInitialDelayMillis: 10_000, // a listener sends nothing: only probes notice that the other end is gone
        connectionTimeoutMillis: 5_000,
        query_timeout: 10_000,
        pipeline: true, // so that a statement without an answer ends its connection
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
        // After a refusal, as by a standby, the connection is still open: one more each second would soon use up all of
        // PostgreSQL's connections.
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
