import type { Counter, Gauge } from 'prom-client';

/** Returns a metric's value for these labels; 0 if nothing was counted. */
export async function countOf(metric: Counter | Gauge, labels: Record<string, string> = {}): Promise<number> {
  const { values } = await metric.get();
  const wanted = Object.entries(labels);
  return values.find((one) => wanted.every(([name, value]) => one.labels[name] === value))?.value ?? 0;
}

/** Returns how much a metric grows while `work` runs. */
export async function growthOf(
  metric: Counter,
  labels: Record<string, string>,
  work: () => Promise<unknown>,
): Promise<number> {
  const before = await countOf(metric, labels);
  await work();
  return (await countOf(metric, labels)) - before;
}

/** Returns the metric names in Prometheus' text format, without the suffixes that histograms add. */
export const namesShown = (text: string): string[] =>
  [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name as string);

/** Returns the metrics that an expression reads. */
export const namesAsked = (expression: string): string[] =>
  [...expression.matchAll(/\b(?:gatehouse|nodejs|process|temporal)_[a-z0-9_]+/g)].map(([name]) =>
    name.replace(/_(bucket|count|sum)$/, ''),
  );

/** Labels that every metric has, that a scrape target adds, or that histogram buckets have. */
const ofAll = ['process', 'job', 'instance', 'le'];

/** Returns the labels of each metric's series, by metric, without the common ones. */
export function labelsShown(text: string): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const [, series = '', labels = ''] of text.matchAll(/^(\w+)\{(.*)\} /gm)) {
    const name = series.replace(/_(bucket|count|sum)$/, '');
    const names = found.get(name) ?? new Set();
    for (const [, label = ''] of labels.matchAll(/(?:^|,)(\w+)="(?:[^"\\]|\\.)*"/g))
      if (!ofAll.includes(label)) names.add(label);
    found.set(name, names);
  }
  return found;
}

/** Returns the labels by which an expression selects (in braces) or groups its metrics, with each metric. */
export function labelsAsked(expression: string): [name: string, label: string][] {
  const grouped = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, labels = '']) => labels.split(/, */));
  const chosen = [...expression.matchAll(/\b(\w+)\{([^}]*)\}/g)].flatMap(([, series = '', labels = '']) =>
    [...labels.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, label]) => [series, label as string] as const),
  );
  const pairs = namesAsked(expression).flatMap((name) => [
    ...grouped.map((label): [string, string] => [name, label]),
    ...chosen
      .filter(([series]) => series.replace(/_(bucket|count|sum)$/, '') === name)
      .map(([, label]): [string, string] => [name, label]),
  ]);
  return pairs.filter(([, label]) => !ofAll.includes(label));
}
