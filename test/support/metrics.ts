import type { Counter, Gauge } from 'prom-client';

/** The figure of a metric at these labels; 0 where nothing was counted there. */
export async function countOf(metric: Counter | Gauge, labels: Record<string, string> = {}): Promise<number> {
  const { values } = await metric.get();
  const wanted = Object.entries(labels);
  return values.find((one) => wanted.every(([name, value]) => one.labels[name] === value))?.value ?? 0;
}

/** How much it grows while that is done. */
export async function growthOf(
  metric: Counter,
  labels: Record<string, string>,
  work: () => Promise<unknown>,
): Promise<number> {
  const before = await countOf(metric, labels);
  await work();
  return (await countOf(metric, labels)) - before;
}

/** The names in Prometheus' text format, without what a histogram adds to its own. */
export const namesShown = (text: string): string[] =>
  [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name as string);

/** The metrics that an expression asks for. */
export const namesAsked = (expression: string): string[] =>
  [...expression.matchAll(/\b(?:gatehouse|nodejs|process|temporal)_[a-z0-9_]+/g)].map(([name]) =>
    name.replace(/_(bucket|count|sum)$/, ''),
  );
