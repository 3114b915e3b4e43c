import type { Cell } from '../cells.js';
import type { Workload } from '../workloads/index.js';
import { type Reached, reachedAims } from './aims.js';
import { digits, headOf, percent, type Results, type Share } from './text.js';

/** A measurement apart from the workloads: what waiting, delivering or reading costs. */
export interface Part {
  title: string;
  at: string;
  /** Markdown. */
  table: string;
}

/** Returns the workloads of one run as Markdown: the machine and its limits, aims, plots by name, every cell. */
export function workloadsSection(
  results: Results,
  workloads: readonly Workload[],
  { shareOf, plots }: { shareOf: (cell: Cell) => Share | null; plots: readonly string[] },
): string {
  return [
    `Measured ${results.at.slice(0, 10)}${results.quick ? ' (quick: only a look)' : ''}.`,
    ['```', ...headOf(results), '```'].join('\n'),
    aimsTable(reachedAims(results, shareOf)),
    ...plots.map((name) => `![${name}](${name}.svg)`),
    cellsTable(results.cells, workloads, shareOf),
  ]
    .filter(Boolean)
    .join('\n\n');
}

export const partSection = ({ title, at, table }: Part): string =>
  `## ${title}\n\nMeasured ${at.slice(0, 10)}.\n\n${table}`;

function aimsTable(reached: readonly Reached[]): string {
  if (reached.length === 0) return '';
  const rows = reached.map(({ aim, peer, wanted, reached: value, share, processes }) => {
    const [got, aimed] = [value, wanted].map(peer ? digits : percent) as [string, string];
    const isThere = share >= 1 ? 'yes' : '**no**';
    return [aim.workload, got, aimed, percent(share), isThere, String(processes), whatItIs({ aim, peer })];
  });
  return markdownTable(['workload', 'a second', 'aim', 'of it', 'reached', 'processes', 'what the aim is'], rows);
}

/** Returns what an aim is about, with the peer's figure if that was measured with this run. */
function whatItIs({ aim, peer }: Pick<Reached, 'aim' | 'peer'>): string {
  if ('limit' in aim) return `of the ${aim.limit} limit`;
  const name = aim.times === 1 ? aim.peer.name : `${aim.times} × ${aim.peer.name}`;
  const beside = peer?.isBeside ? ` (${digits(peer.perSecond)} here)` : '';
  return `${name}${beside}${aim.but ? `, ${aim.but}` : ''}`;
}

function cellsTable(
  cells: readonly Cell[],
  workloads: readonly Workload[],
  shareOf: (cell: Cell) => Share | null,
): string {
  const order = workloads.map(({ name }) => name);
  const rows = [...cells]
    .sort((a, b) => order.indexOf(a.workload) - order.indexOf(b.workload))
    .map((cell) => [
      cell.workload,
      `${cell.processes}, ${cell.concurrency}`,
      digits(cell.perSecond),
      digits(cell.p50),
      digits(cell.p99),
      `${digits(cell.serverCpuMs)} + ${digits(cell.postgresCpuMs)} (${digits(cell.clientCpuMs)})`,
      cell.rssMb === null ? '' : String(cell.rssMb),
      shareText(shareOf(cell)),
      cell.othersPercent === null ? '' : `${cell.othersPercent.toFixed(0)} %`,
      String(cell.errors),
    ]);
  const headings = [
    'workload',
    'processes, c',
    'per s',
    'p50 ms',
    'p99 ms',
    'CPU ms api + PostgreSQL (load)',
    'api MB',
  ];
  return markdownTable([...headings, 'of limit', 'others', 'errors'], rows);
}

const shareText = (share: Share | null): string => (share === null ? '' : percent(share.ofLimit));

/** Returns a Markdown table; numbers are right-aligned. */
export function markdownTable(headings: readonly string[], rows: readonly string[][]): string {
  const line = (texts: readonly string[]) => `| ${texts.join(' | ')} |`;
  const rule = headings.map((_, column) => (column === 0 ? '---' : '--:'));
  return [line(headings), line(rule), ...rows.map(line)].join('\n');
}
