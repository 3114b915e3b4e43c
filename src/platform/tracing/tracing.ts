import type { TracesOptions, Tracing } from './spans.js';

let active: Tracing | null = null;

/** Asked when something is put together, so that without traces nothing is in anybody's way. */
export const activeTracing = (): Tracing | null => active;

/** What a message to another process carries; null without traces, and where no span runs. */
export const traceparent = (): string | null => active?.current()?.traceparent ?? null;

/** For every line of the log. */
export const traceOfLine = (): object => {
  const current = active?.current();
  return current ? { trace_id: current.traceId } : {};
};

/**
 * Switches traces on for this process, before its parts are put together. The SDK is loaded here and nowhere else; it reads
 * the standard settings by itself (`OTEL_*`).
 */
export async function startTracing(options: TracesOptions): Promise<Tracing> {
  const { createTracing } = await import('./export.js');
  active = await createTracing(options);
  return active;
}

/** Sends what is left, and switches them off. */
export async function stopTracing(): Promise<void> {
  const last = active;
  active = null;
  await last?.close();
}
