/**
 * How long a test waits for a state before it fails, in milliseconds. Only a test that hangs should reach it: a machine
 * may be ten times slower than the one on which a test was written.
 */
export const patience = 300_000;

/** For callers of processes: a worker on a busy machine answers later than a person would wait. */
export const patient = { answerWithinMs: patience, finishWithinMs: patience };
