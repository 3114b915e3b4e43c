import { writeSync } from 'node:fs';
import { type Logger, type LoggerOptions, pino } from 'pino';
import { faultOf, framesOf } from './faults.js';
import { logLinesLost } from './metrics/metrics.js';

type LogHook = NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']>;

/**
 * JSON lines on stdout. Logs name ids and kinds of faults, never people or secrets.
 * @param mixin what every line says besides
 */
export const createLog = (process: string, level: string, mixin?: () => object): Logger =>
  pino(
    { level, base: { process }, serializers: { err: faultForLog }, hooks: { logMethod }, ...(mixin && { mixin }) },
    { write: writeLine },
  );

/** For a line with an error and no message, pino takes the error's, which can quote what was sent. */
const logMethod: LogHook = function ([details, ...words], method) {
  const error = details instanceof Error ? details : (details as { err?: unknown } | null)?.err;
  const said = words[0] === undefined && error instanceof Error ? [faultOf(error)] : words;
  method.apply(this, [details, ...said] as unknown as Parameters<typeof method>);
};

/** An error without what it carries: PostgreSQL's hold the values of the statement, and many messages quote their input. */
export const faultForLog = (error: unknown) => ({
  fault: faultOf(error),
  // A bug in our code names properties, not people.
  ...((error instanceof TypeError || error instanceof ReferenceError) && { message: error.message }),
  stack: framesOf(error),
});

const stdout = 1;
void process.stdout; // with it Node has a pipe say that it is full, which would keep the whole process waiting
const longestWaitMs = 500;
const pause = new Int32Array(new SharedArrayBuffer(4));

/** Of a line that was begun: the next one would be glued to it. */
let begun: Buffer = Buffer.alloc(0);
let lost = 0;

/**
 * Writes at once, and waits a moment for a reader that is slow. Where nobody reads any more, or the disk is full, lines are given up: each by itself
 * would keep everything else waiting. How many those were is said first when there is a reader again. pino's own stream writes such a line again
 * and again while the process ends, which then never ends.
 */
function writeLine(line: string): void {
  const deadline = performance.now() + (lost > 0 ? 0 : longestWaitMs);
  const whole = Buffer.from(lost > 0 ? lostLine(lost) + line : line);
  begun = writeUntil(deadline, begun);
  const rest = begun.length > 0 ? whole : writeUntil(deadline, whole);
  if (rest.length < whole.length) [begun, lost] = [rest, 0];
  else {
    lost++;
    logLinesLost.inc();
  }
}

/** @returns what is left of it */
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

const lostLine = (lines: number) =>
  `${JSON.stringify({ level: 40, time: Date.now(), lost: lines, msg: 'lines of the log were lost' })}\n`;
