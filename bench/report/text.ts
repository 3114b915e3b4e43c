import type { Cell } from '../cells.js';
import type { Limit, Limits } from '../limits/index.js';
import type { PageWeight } from '../page-weights.js';
import type { Workload } from '../workloads/index.js';
import type { PeerFigure } from './peer-figures.js';

export interface Results {
  at: string;
  /**
   * `argon2`: the package's binary, or compiled for AVX2 (docs/decisions/0087); if absent, in older runs, the former.
   */
  machine: { cores: number; model: string; node: string; argon2?: 'brought' | 'compiled' };
  quick: boolean;
  limits: Limits;
  /** The start-up time of each api process, in the order of their starts. */
  readyMs: number[];
  /** Memory of an api process 15 s after it was ready, without any other request; null if not on Linux. */
  idleRssMb: number | null;
  /** The pages as served: the sign-in page first, then the others by descending size. */
  pages: PageWeight[];
  cells: Cell[];
  /** Other services, measured on this machine shortly before; if absent, the aims use another machine's figures. */
  peers?: PeerFigure[];
}

export interface Share {
  /** The share of the machine's limit, in the unit of the limit: signatures, hashes, bare answers. */
  ofLimit: number;
  /** The share per operation: a grant with two signatures counts once. */
  perOperation: number;
  /** The share of api's and PostgreSQL's CPU time spent on what the limit counts; null if none, or not on Linux. */
  ofCpu: number | null;
}

/** Returns how close a workload came to its limit; null if the limit was not measured. */
export function shareOf(cell: Cell, { limit, uses }: Workload, { limits, cells }: Results): Share | null {
  const most = limit === 'hello' ? helloBeside(cell, cells) : limits[limit];
  if (!most) return null;
  const { serverCpuMs: server, postgresCpuMs: postgres } = cell;
  const knowsCpu = uses > 0 && server !== null && postgres !== null && most.cpuMs !== null;
  return {
    ofLimit: (cell.perSecond * Math.max(1, uses)) / most.perSecond,
    perOperation: cell.perSecond / most.perSecond,
    ofCpu: knowsCpu ? (uses * (most.cpuMs as number)) / (server + postgres) : null,
  };
}

function helloBeside({ processes, concurrency }: Cell, cells: readonly Cell[]) {
  const found = cells.find(
    (cell) => cell.workload === 'hello' && cell.processes === processes && cell.concurrency === concurrency,
  );
  return found && { perSecond: found.perSecond, cpuMs: found.serverCpuMs };
}

/** Returns the speed of a bare route under the same load. */
export const bareRoute = (cell: Cell, cells: readonly Cell[]) => helloBeside(cell, cells)?.perSecond ?? null;

const headings = [
  'workload',
  'processes',
  'c',
  'per s',
  'p50 ms',
  'p99 ms',
  'errors',
  'CPU ms api',
  'PostgreSQL',
  'client',
  'api MB',
  'others',
  'of limit',
  'of CPU',
];

/** Returns the results as a table for people. */
export function textTable(results: Results, workloads: readonly Workload[]): string {
  const rows = workloads.flatMap((workload) =>
    results.cells
      .filter((cell) => cell.workload === workload.name)
      .map((cell) => rowOf(cell, shareOf(cell, workload, results), workload)),
  );
  return [...headOf(results), '', ...aligned([headings, ...rows]), '', ...notes(workloads)].join('\n');
}

export function headOf({ machine, limits, readyMs, idleRssMb, pages, quick }: Results): string[] {
  const { cores, model, node, argon2 } = machine;
  return [
    `${cores} cores (${model}), Node ${node}; load, service and PostgreSQL share them${quick ? '; quick: only a look' : ''}`,
    `RSA-2048 signatures on all cores   ${limit(limits.signatures)}; jose ${limit(limits.signaturesByJose)}, node:crypto ${limit(limits.signaturesByNode)}`,
    `argon2id m=19456 t=2 p=1           ${limit(limits.argon2)}${argon2 === 'compiled' ? ', compiled for AVX2' : ''}`,
    `one row by its key                 ${limit(limits.reads)}, from 16 connections, with PostgreSQL's share`,
    `durable commits of one row         ${whole(limits.commitsAlone)}/s alone, ${whole(limits.commits)}/s from 16 connections`,
    `api: start to first answer         ${readyMs.map((ms) => `${(ms / 1000).toFixed(2)} s`).join(', ')}`,
    ...(idleRssMb === null ? [] : [`api: memory, idle for 15 s         ${idleRssMb} MB`]),
    `pages, compressed (plain)          ${pages.map(weight).join(', ')}`,
  ];
}

function rowOf(cell: Cell, share: Share | null, { uses }: Workload): string[] {
  return [
    cell.workload,
    String(cell.processes),
    String(cell.concurrency),
    digits(cell.perSecond),
    digits(cell.p50),
    digits(cell.p99),
    String(cell.errors),
    digits(cell.serverCpuMs),
    digits(cell.postgresCpuMs),
    digits(cell.clientCpuMs),
    cell.rssMb === null ? '' : String(cell.rssMb),
    cell.othersPercent === null ? '' : `${cell.othersPercent.toFixed(0)} %`,
    share === null ? '' : `${uses > 1 ? `(each ${percent(share.perOperation)}) ` : ''}${percent(share.ofLimit)}`,
    share?.ofCpu ? percent(share.ofCpu) : '',
  ];
}

const notes = (workloads: readonly Workload[]): string[] => [
  ...workloads
    .filter(({ size }) => size !== 'large') // both sizes have the same requests
    .map(({ name, about }) => `${name.replace(/@.*/, '').padEnd(22)} ${about}`),
  '',
  'The limit is RSA signatures for refresh and SAML, argon2id hashes for both logins, single-row reads for what has a size (@small,',
  '@large), the bare server under the same load for the rest. Where an operation needs several, "each" counts it once.',
  '"of limit" is speed against speed, with the load on the same cores. "of CPU" is what the limit costs of the CPU time that',
  'api and PostgreSQL spend on an operation; it holds on a busy machine too. "others" is what unrelated processes took of',
  'one core: above 15 % speeds and times mean little.',
];

export function aligned(rows: string[][]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows.map((row) =>
    row
      .map((text, column) =>
        column === 0 ? text.padEnd(widths[column] as number) : text.padStart(widths[column] as number),
      )
      .join('  ')
      .trimEnd(),
  );
}

const weight = ({ name, compressed, bytes }: PageWeight) =>
  `${name} ${(compressed / 1000).toFixed(1)} kB (${(bytes / 1000).toFixed(1)})`;
const limit = ({ perSecond, cpuMs }: Limit) => `${digits(perSecond)}/s at ${digits(cpuMs)} ms of CPU`;
const whole = (value: number) => value.toFixed(0);
export const percent = (share: number) =>
  `${share > 0 && share < 0.1 ? (share * 100).toPrecision(2) : (share * 100).toFixed(0)} %`;
/** Rounds to three digits: a noisy machine is no more precise. */
export const digits = (value: number | null) =>
  value === null
    ? ''
    : value >= 100
      ? value.toFixed(0)
      : value
          .toPrecision(3)
          .replace(/(\.\d*?)0+$/, '$1')
          .replace(/\.$/, '');
