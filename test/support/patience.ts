/**
 * How long a test waits for a state before it says that it does not come, in milliseconds. Only what hangs should ever
 * meet it: a machine may be ten times slower than the one where a test was written.
 */
export const patience = 300_000;

/** For callers of processes: on a busy machine a worker answers later than a person would wait. */
export const patient = { answerWithinMs: patience, finishWithinMs: patience };
