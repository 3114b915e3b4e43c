const sameAfterMs = 30_000;
const mostKept = 1_000;

/** A line of the native part of Temporal's SDK. */
export interface NativeLine {
  target?: unknown;
  /** Of the workflow that it is about, if it is about one. */
  runId?: unknown;
}

/**
 * While Temporal is away every poll of the native part says so several times a second; once in half a minute will do. What it says of
 * one workflow is no repetition of what it says of another: its line may be the only one that names it.
 * @returns whether the same was said a short time ago
 */
export function repetitions(now: () => number = Date.now): (line: NativeLine, message: string) => boolean {
  const said = new Map<string, number>();
  return ({ target, runId }, message) => {
    const text = `${target} ${runId} ${message}`;
    const at = now();
    if (at - (said.get(text) ?? Number.NEGATIVE_INFINITY) < sameAfterMs) return true;
    if (said.size >= mostKept) said.clear(); // then some are said once more
    said.set(text, at);
    return false;
  };
}
