import { driverErrorOf } from './database/postgres-errors.js';

/**
 * Returns the kind of a failure in one line without personal data: names and codes, never a message, since messages
 * quote what was sent. For workflow histories, rows that operators read, and logs.
 */
export function faultOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown failure';
  const driver = driverErrorOf(error) ?? error;
  // nodemailer calls every failure of a connection ESOCKET; the real cause, such as an expired certificate, is in
  // another field.
  const { code, originalCode, constraint, responseCode, command } = driver as unknown as Record<string, unknown>;
  const parts = [code, originalCode, responseCode, command, constraint].filter(
    (part) => typeof part === 'number' || (typeof part === 'string' && /^[\w .-]{1,63}$/.test(part)),
  );
  if (code === undefined)
    parts.push(...silences.filter(([message]) => message.test(driver.message)).map(([, kind]) => kind));
  return [error.name, ...new Set(parts)].join(' ');
}

/** PostgreSQL's driver reports its time-outs only by these messages, without a code. */
const silences: readonly [RegExp, string][] = [
  [/^Query read timeout$/, 'query-timeout'],
  [/^timeout exceeded when trying to connect$/, 'pool-timeout'],
  [/^Connection terminated/, 'connection-terminated'],
];

/** Returns the frames of the error's stack, without its first lines, which repeat the message. */
export const framesOf = (error: unknown): string[] =>
  error instanceof Error
    ? (error.stack ?? '')
        .split('\n')
        .filter((line) => /^\s+at /.test(line))
        .map((line) => line.trim())
    : [];
