import { after, hours } from '../../platform/clock.js';

/** The random part of a wait, so that deliveries that failed together are not retried together. */
const jitter = 0.1;
const maxRetryAfterMs = hours(24);

/** The configured waits between attempts, in milliseconds: after the first, the second, … failure. */
export type RetrySchedule = readonly number[];

export interface Failure {
  /** How many attempts have failed so far. */
  attempts: number;
  /** The `Retry-After` header of the response, as received. */
  retryAfter: string | null;
  now: Date;
}

/**
 * Returns when a delivery is attempted again; null if it is not. A receiver may ask for more time than the schedule
 * has, up to a day, but not for another attempt (contract §7).
 */
export function nextAttemptAt(schedule: RetrySchedule, { attempts, retryAfter, now }: Failure): Date | null {
  const wait = schedule[attempts - 1];
  if (wait === undefined) return null;
  const varied = wait * (1 - jitter + 2 * jitter * Math.random());
  return after(now, Math.max(varied, retryAfterMs(retryAfter, now)));
}

/** Returns the milliseconds of a `Retry-After`, a number of seconds or a date (RFC 9110 §10.2.3); 0 if unreadable. */
function retryAfterMs(text: string | null, now: Date): number {
  if (text === null) return 0;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : dateIn(text) - now.getTime();
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, 0), maxRetryAfterMs);
}

/** One of the three forms of a date, as C's `asctime` writes it, has no zone: it is in UTC (RFC 9110 §5.6.7). */
const asctime = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/;

const dateIn = (text: string): number => Date.parse(asctime.test(text) ? `${text} GMT` : /GMT$/.test(text) ? text : '');
