import pg from 'pg';
import type { Logger } from 'pino';
import { faultOf } from '../faults.js';
import { renewConnectionsAfterMs } from './renewal.js';

const reconnectMs = 1_000;

/**
 * Listens on a channel of PostgreSQL with a connection of its own, and again after each loss of it, and with another one after a
 * while: nothing else would tell it that the primary is elsewhere by now. `onWake` gets what was sent along. It is also called,
 * with nothing, after every (re)connection: what was announced meanwhile was not heard. It is tried again each second; that it is lost,
 * and that it is back, is said once.
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
    reason ??= error; // the first one says most
  };
  /** @returns null where it cannot even be tried: a certificate in a file that is being replaced, say */
  function newClient(): pg.Client | null {
    try {
      return new pg.Client({
        connectionString: url,
        application_name: `gatehouse ${channel}`,
        keepAlive: true,
        keepAliveInitialDelayMillis: 10_000, // it only listens: nothing else would tell it that the other end is gone
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
      .then(() => next.query(`set idle_session_timeout = 0`)) // whoever listens is idle
      .then(() => next.query(`listen ${channel}`))
      .then(() => {
        renewal = setTimeout(renew, renewAfterMs);
        if (isLost) log.info({ channel }, 'a channel is heard again');
        isLost = false;
        onWake();
      })
      .catch((error: unknown) => {
        failed(error);
        // A refusal, such as a standby's, leaves the connection as it is: one more each second, it would be all that PostgreSQL has.
        next.off('end', again);
        void next.end().catch(() => undefined);
        again();
      });
  }
  /** Listens anew before it listens no more, so that nothing is missed. */
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
