const sameAfterMs = 30_000;
const maxKept = 1_000;

/** A log line of the Temporal SDK's native part. */
export interface NativeLine {
  target?: unknown;
  /** The run of the workflow that the line is about, if any. */
  runId?: unknown;
}

/**
 * While Temporal is unavailable, each poll of the native part logs that several times a second; once in half a minute
 * is enough. The same message about another workflow is not a repetition: it may be the only line that names that one.
 * @returns whether the same line was logged a short time ago
 */
export function repetitions(now: () => number = Date.now): (line: NativeLine, message: string) => boolean {
  const said = new Map<string, number>();
  return ({ target, runId }, message) => {
    const text = `${target} ${runId} ${message}`;
    const at = now();
    if (at - (said.get(text) ?? Number.NEGATIVE_INFINITY) < sameAfterMs) return true;
    if (said.size >= maxKept) said.clear(); // then some are logged once more
    said.set(text, at);
    return false;
  };
}
