import type { TracesOptions, Tracing } from './spans.js';

let active: Tracing | null = null;

/** Read when the parts of a process are put together, so that without traces nothing is wrapped. */
export const activeTracing = (): Tracing | null => active;

/** Returns the `traceparent` for a message to another process; null without traces, or if no span runs. */
export const traceparent = (): string | null => active?.current()?.traceparent ?? null;

/** Returns the trace's id for a line of the log. */
export const traceOfLine = (): object => {
  const current = active?.current();
  return current ? { trace_id: current.traceId } : {};
};

/**
 * Switches traces on for this process. Call it before the process's parts are put together. Only this loads the SDK,
 * which reads the standard settings (`OTEL_*`) itself.
 */
export async function startTracing(options: TracesOptions): Promise<Tracing> {
  const { createTracing } = await import('./export.js');
  active = await createTracing(options);
  return active;
}

/** Sends the remaining spans, and switches traces off. */
export async function stopTracing(): Promise<void> {
  const last = active;
  active = null;
  await last?.close();
}
