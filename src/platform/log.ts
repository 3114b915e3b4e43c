import { writeSync } from 'node:fs';
import { type Logger, type LoggerOptions, pino } from 'pino';
import { faultOf, framesOf } from './faults.js';

type LogHook = NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']>;

/**
 * JSON lines on stdout. What is logged names ids and kinds of faults, never people or secrets.
 * @param mixin what every line says besides
 */
export const createLog = (process: string, level: string, mixin?: () => object): Logger =>
  pino(
    { level, base: { process }, serializers: { err: faultForLog }, hooks: { logMethod }, ...(mixin && { mixin }) },
    { write: writeLine },
  );

/** Where a line has an error and no words, pino takes those of the error, which can quote what was sent. */
const logMethod: LogHook = function ([details, ...words], method) {
  const error = details instanceof Error ? details : (details as { err?: unknown } | null)?.err;
  const said = words[0] === undefined && error instanceof Error ? [faultOf(error)] : words;
  method.apply(this, [details, ...said] as unknown as Parameters<typeof method>);
};

/** An error without what it carries: PostgreSQL's hold the values of the statement, and many messages quote their input. */
export const faultForLog = (error: unknown) => ({
  fault: faultOf(error),
  // A slip of ours in the code names properties, not people.
  ...((error instanceof TypeError || error instanceof ReferenceError) && { message: error.message }),
  stack: framesOf(error),
});

const stdout = 1;
const longestWaitMs = 500;
const pause = new Int32Array(new SharedArrayBuffer(4));

/**
 * Writes at once, waits a moment for a reader that is slow, and gives a line up where nobody reads any more. pino's own
 * stream writes such a line again and again while the process ends, which then never ends.
 */
function writeLine(line: string): void {
  let rest = Buffer.from(line);
  for (const deadline = Date.now() + longestWaitMs; rest.length > 0 && Date.now() < deadline; ) {
    try {
      rest = rest.subarray(writeSync(stdout, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return;
      Atomics.wait(pause, 0, 0, 5);
    }
  }
}
