import { cpus } from 'node:os';
import type { Cell } from '../cells.js';
import { markdownTable } from '../report/markdown.js';
import { digits } from '../report/text.js';
import type { MillionResult } from './index.js';
import { growing } from './works.js';

/**
 * The most times that p99 may exceed the median, and that ten times the data may take as long (docs/performance.md).
 */
const maxUneven = 5;
const maxGrowth = 1.3;

/** Returns Markdown: the loading, each workload for each number of people, and whether that is within bounds. */
export function millionTable(results: readonly MillionResult[]): string {
  const names = results[0]?.cells.map(({ workload }) => workload) ?? [];
  const cellOf = ({ cells }: MillionResult, name: string) => cells.find(({ workload }) => workload === name) as Cell;
  const [less, more] = [results[0], results.at(-1)] as [MillionResult, MillionResult];
  const isTenfold = more.identities === 10 * less.identities;
  const growth = (name: string) => cellOf(less, name).perSecond / cellOf(more, name).perSecond;
  const loadRows = results.map(({ identities, loaded }) => [
    String(identities),
    loaded.seconds.toFixed(0),
    loaded.perSecond.toFixed(0),
    `${digits(loaded.serverCpuMs)} + ${digits(loaded.postgresCpuMs)}`,
    loaded.rssMb === null ? '' : String(loaded.rssMb),
  ]);
  const rows = names.map((name) => [
    growing.has(name) ? `${name}, ${cellOf(less, name).concurrency} connections` : name,
    ...results.flatMap((result) => shown(cellOf(result, name))),
    ...(isTenfold ? [growth(name).toFixed(2), grownCpu(cellOf(less, name), cellOf(more, name))] : []),
  ]);
  const uneven = results.flatMap(({ identities, cells }) =>
    cells
      .filter(({ p50, p99 }) => p99 > maxUneven * p50)
      .map(({ workload, p50, p99 }) => `${workload} beside ${identities} (${(p99 / p50).toFixed(1)})`),
  );
  const grown = names.filter((name) => isTenfold && !growing.has(name) && growth(name) > maxGrowth);
  const busy = results.flatMap(({ cells }) => cells.map(({ othersPercent }) => othersPercent ?? 0));
  return [
    markdownTable(['loaded by bulk', 'seconds', 'a second', 'CPU ms each, api + PostgreSQL', 'api MB'], loadRows),
    markdownTable(
      [
        '16 connections, one api',
        ...results.flatMap(({ identities }) => [`${identities}: per s`, 'p50, p99 ms', 'CPU ms api + PostgreSQL']),
        ...(isTenfold ? ['times slower', 'times the CPU'] : []),
      ],
      rows,
    ),
    [
      `p99 above ${maxUneven} × p50: ${uneven.join('; ') || 'none'}.`,
      ...(isTenfold
        ? [
            `More than ${maxGrowth} × slower with ten times the people: ${grown.map((name) => `${name} (${growth(name).toFixed(2)})`).join('; ') || 'none'}` +
              ` (but for ${[...growing].join(', ')}, which finds ten times as many).`,
          ]
        : []),
      `${cpus().length} cores; others took ${Math.min(...busy).toFixed(0)} to ${Math.max(...busy).toFixed(0)} % of one.`,
    ].join('\n'),
  ].join('\n\n');
}

const shown = ({ perSecond, p50, p99, serverCpuMs, postgresCpuMs }: Cell): string[] => [
  digits(perSecond),
  `${digits(p50)}, ${digits(p99)}`,
  `${digits(serverCpuMs)} + ${digits(postgresCpuMs)}`,
];

function grownCpu(less: Cell, more: Cell): string {
  const of = ({ serverCpuMs, postgresCpuMs }: Cell) =>
    serverCpuMs === null || postgresCpuMs === null ? null : serverCpuMs + postgresCpuMs;
  const [before, after] = [of(less), of(more)];
  return before === null || after === null ? '' : (after / before).toFixed(2);
}
