import { writeSync } from 'node:fs';
import { type Logger, type LoggerOptions, pino } from 'pino';
import { faultOf, framesOf } from './faults.js';
import { logLinesLost } from './metrics/metrics.js';

type LogHook = NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']>;

/**
 * Creates a log of JSON lines on stdout. Logs name ids and kinds of faults, never people or secrets.
 * @param mixin returns the fields that are added to every line
 */
export const createLog = (process: string, level: string, mixin?: () => object): Logger =>
  pino(
    { level, base: { process }, serializers: { err: faultForLog }, hooks: { logMethod }, ...(mixin && { mixin }) },
    { write: (line: string) => writeLine(line, process) },
  );

/** Logs an error without a message by its kind: pino would take the error's message, which can quote what was sent. */
const logMethod: LogHook = function ([details, ...words], method) {
  const error = details instanceof Error ? details : (details as { err?: unknown } | null)?.err;
  const said = words[0] === undefined && error instanceof Error ? [faultOf(error)] : words;
  method.apply(this, [details, ...said] as unknown as Parameters<typeof method>);
};

/** Returns an error without its data: PostgreSQL's hold the statement's values, and many messages quote their input. */
export const faultForLog = (error: unknown) => ({
  fault: faultOf(error),
  ...(namesCode(error) && { message: error.message }),
  stack: framesOf(error),
});

/**
 * Returns whether an error's message names parts of our code and nothing else. That of another such bug can quote what
 * was sent: `Cannot use 'in' operator to search for 'id' in ana@example.com`.
 */
const namesCode = (error: unknown): error is TypeError | ReferenceError =>
  (error instanceof TypeError || error instanceof ReferenceError) &&
  [unread, uncalled].some((message) => message.test(error.message));
const unread = /^Cannot (read|set) properties of (undefined|null) \((reading|setting) '[a-zA-Z_$]{1,40}'\)$/;
const uncalled = /^[\w$ .()[\]]{1,100} is not (a function|a constructor|defined|iterable)$/;

const stdout = 1;
void process.stdout; // makes Node's writes to a full pipe fail with EAGAIN instead of blocking the whole process
const maxWaitMs = 500;
const pause = new Int32Array(new SharedArrayBuffer(4));

/** The unwritten rest of a line that was begun: it is written first, or the next line would be glued to that line. */
let begun: Buffer = Buffer.alloc(0);
let lost = 0;

/**
 * Writes a line synchronously, and waits briefly for a slow reader. While nobody reads, or the disk is full, lines are
 * dropped, since waiting for each would block the process; when lines can be written again, the first one says how many
 * were lost. pino's own stream retries such a line over and over while the process exits, which then never ends.
 */
function writeLine(line: string, process: string): void {
  const deadline = performance.now() + (lost > 0 ? 0 : maxWaitMs);
  const whole = Buffer.from(lost > 0 ? lostLine(lost, process) + line : line);
  begun = writeUntil(deadline, begun);
  const rest = begun.length > 0 ? whole : writeUntil(deadline, whole);
  if (rest.length < whole.length) [begun, lost] = [rest, 0];
  else {
    lost++;
    logLinesLost.inc();
  }
}

/** Writes until `deadline`. @returns what could not be written */
function writeUntil(deadline: number, whole: Buffer): Buffer {
  let rest = whole;
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(stdout, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || performance.now() >= deadline) return rest;
      Atomics.wait(pause, 0, 0, 5);
    }
  }
  return rest;
}

const lostLine = (lines: number, process: string) =>
  `${JSON.stringify({ level: 40, time: Date.now(), process, lost: lines, msg: 'lines of the log were lost' })}\n`;
