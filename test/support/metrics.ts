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

/** What every metric has, a target adds, or a histogram's buckets go by. */
const ofAll = ['process', 'job', 'instance', 'le'];

/** By metric, the labels of its own that its series have. */
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

/** The labels that an expression has each of its metrics go by: those in braces, and those that it is grouped by. */
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
