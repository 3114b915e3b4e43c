import { seconds } from './clock.js';
import { type Db, probeWithinMs, type Statement } from './database/db.js';
import { clockAhead } from './metrics/metrics.js';

export interface ClockWatchDeps {
  db: Pick<Db, 'statement'>;
  log: { warn(details: object, message: string): void; info(details: object, message: string): void };
  /** This process's clock, in milliseconds since 1970. */
  clock?: () => number;
  everyMs?: number;
}

const readStatement: Statement = {
  name: 'read_clock',
  withinMs: probeWithinMs, // on a connection whose other end is gone the last difference would stay for long
  text: 'select (extract(epoch from clock_timestamp()) * 1000)::float as ms',
};

/**
 * The difference from which on people may notice it: a client's assertion may be five seconds off, the code of an
 * authenticator app half a minute.
 */
const noticeableMs = seconds(2);
/** An answer that took longer does not say precisely enough at which moment PostgreSQL read its clock. */
const maxAnswerMs = seconds(1);

/**
 * Measures repeatedly how far this process's clock is ahead of PostgreSQL's. Each process judges by its own clock the
 * rows that other processes wrote by theirs. Only PostgreSQL's clock is within reach of all of them, so the difference
 * from it reveals a process whose clock is wrong.
 */
export function watchClock({ db, log, clock = Date.now, everyMs = seconds(15) }: ClockWatchDeps) {
  let isOff = false;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  /** @returns milliseconds; null when PostgreSQL does not answer, or answers too slowly */
  async function measure(): Promise<number | null> {
    const asked = clock();
    const [row] = await db.statement<{ ms: number }>(readStatement, []).catch(() => []);
    const answered = clock();
    return row && answered - asked <= maxAnswerMs ? (asked + answered) / 2 - row.ms : null;
  }

  async function look(): Promise<void> {
    const ahead = await measure();
    if (stopped) return; // `stop` was called during the measurement
    if (ahead !== null) {
      clockAhead.set(ahead / 1000);
      const aheadMs = Math.round(ahead);
      const wasOff = isOff;
      isOff = Math.abs(ahead) > noticeableMs;
      if (isOff && !wasOff) log.warn({ aheadMs }, 'the clock of this machine is not that of PostgreSQL');
      if (wasOff && !isOff) log.info({ aheadMs }, 'the clock of this machine is that of PostgreSQL again');
    }
    timer = setTimeout(look, everyMs).unref();
  }

  const first = look();
  return {
    /** Settles after the first measurement. */
    first,
    stop(): void {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
