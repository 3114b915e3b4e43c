import { type Cell, loadOf } from './cells.js';
import { aligned, bareRoute, digits, percent, type Results } from './report/text.js';

const headings = [
  'workload',
  'processes',
  'c',
  'small per s',
  'large per s',
  'times slower',
  'times the CPU',
  'of reads',
  'of bare',
];

/** Returns the pairs of cells with the same workload and load at both sizes. */
const pairsIn = (cells: readonly Cell[]) =>
  cells
    .filter(({ workload }) => workload.endsWith('@small'))
    .flatMap((small) => {
      const large = cells.find((cell) => isBeside(cell, small));
      return large ? [[small, large] as const] : [];
    });

/** Returns by which factor ten times the data raises the CPU time of api and PostgreSQL; 1 is no growth. */
export const grownCells = ({ cells }: Pick<Results, 'cells'>) =>
  pairsIn(cells).flatMap(([small, large]) => {
    const [less, more] = [cpuOf(small), cpuOf(large)];
    if (less === null || more === null) return [];
    return [{ workload: small.workload.replace('@small', ''), load: loadOf(small), times: more / less }];
  });

/** Returns the table of what ten times as much data costs; empty without workloads that have sizes. */
export function growthTable({ cells, limits }: Results): string {
  const rows = pairsIn(cells).map(([small, large]) => {
    const bare = bareRoute(large, cells);
    const [less, more] = [cpuOf(small), cpuOf(large)];
    return [
      small.workload.replace('@small', ''),
      String(small.processes),
      String(small.concurrency),
      digits(small.perSecond),
      digits(large.perSecond),
      digits(small.perSecond / large.perSecond),
      less === null || more === null ? '' : digits(more / less),
      percent(large.perSecond / limits.reads.perSecond),
      bare === null ? '' : percent(large.perSecond / bare),
    ];
  });
  return rows.length === 0
    ? ''
    : ['Growth with ten times the data', ...aligned([headings, ...rows]), ...notes].join('\n');
}

const notes = [
  '"times the CPU" is of api and PostgreSQL together and holds on a busy machine too. "of reads" and "of bare" are requests per',
  'second of the large one beside single-row reads out of PostgreSQL, and beside the bare server under the same load.',
];

const isBeside = (cell: Cell, { workload, processes, concurrency }: Cell) =>
  cell.workload === workload.replace('@small', '@large') &&
  cell.processes === processes &&
  cell.concurrency === concurrency;

const cpuOf = ({ serverCpuMs, postgresCpuMs }: Cell) =>
  serverCpuMs === null || postgresCpuMs === null ? null : serverCpuMs + postgresCpuMs;
