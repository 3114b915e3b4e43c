import { type Logger, pino } from 'pino';
import { faultOf, framesOf } from './faults.js';

/** JSON lines on stdout. What is logged names ids and kinds of faults, never people or secrets. */
export const createLog = (process: string, level: string): Logger =>
  pino({ level, base: { process }, serializers: { err: faultForLog } });

/** An error without what it carries: PostgreSQL's hold the values of the statement, and many messages quote their input. */
export const faultForLog = (error: unknown) => ({
  fault: faultOf(error),
  // A slip of ours in the code names properties, not people.
  ...((error instanceof TypeError || error instanceof ReferenceError) && { message: error.message }),
  stack: framesOf(error),
});
