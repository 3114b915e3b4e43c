import { benchParts } from './parts/index.js';
import type { TemporalKind } from './temporal.js';
import { workloadNames } from './workloads/index.js';

export interface PartOption {
  name: string;
  /** The sizes to measure, one after the other. */
  counts: readonly number[];
}

export interface Options {
  /** One level of load and short cells: a quick check, not a measurement. */
  quick: boolean;
  /** A file with the figures of other services on this machine, for the aims; null: figures of another machine. */
  beside: string | null;
  /** A file to which the results are also written. */
  json: string | null;
  /** The folder for flame graphs of the workloads, which are then drawn instead of a full measurement. */
  flame: string | null;
  /** Only prints what external drivers need to reach a development installation. */
  peers: boolean;
  /** Starts everything, prints what external drivers need, and waits for Ctrl-C. */
  serve: boolean;
  /** The part to measure instead of the workloads. */
  part: PartOption | null;
  /** The Temporal that runs the durable processes of a part. */
  temporal: TemporalKind;
  /** Parts of workload names; empty: all workloads. */
  only: string[];
}

const partUsage = ({ name, about }: (typeof benchParts)[number]) =>
  `  ${`${name} [N…]`.padEnd(11)}  ${about.join(`\n${' '.repeat(15)}`)}`;

const durable = benchParts
  .filter(({ isDurable }) => isDurable)
  .map(({ name }) => name)
  .join(', ');

export const usage = `npm run bench -- [--quick] [--json FILE] [--beside FILE] [--flame FOLDER] [--peers] [--serve] [--temporal server] [PART [N…] | NAME…]

  --quick      few loads, short cells, less data: a few minutes for all workloads
  --json FILE  writes the results there too
  --beside FILE  takes the aims from what other services were measured to do on this machine: lines of JSON with target,
               workload, c (connections) and rps (operations a second)
  --flame FOLDER  draws where an api process spends its CPU time under each workload, one SVG each; at full size, and
               with short cells and less data by --quick
  --peers      prints, from demo.json of a running \`npm start\`, what external drivers need to reach it; measures nothing
  --serve      brings up a seeded installation, prints the same of it, and waits for Ctrl-C; measures nothing
  --temporal server  runs the durable processes of a part (${durable}) on a Temporal server
               that keeps everything in PostgreSQL, instead of the development server in memory
  NAME         only workloads whose name has this in it, such as "refresh"

What is measured whole and not quickly goes into the report in bench/results. Parts, instead of the workloads:

${benchParts.map(partUsage).join('\n')}

  workloads: ${workloadNames.join(', ')}`;

/** Parses the command line. @throws Error with the usage if an argument is unknown */
export function parseOptions(args: readonly string[]): Options {
  const options: Options = {
    quick: false,
    beside: null,
    json: null,
    flame: null,
    peers: false,
    serve: false,
    part: null,
    temporal: 'in memory',
    only: [],
  };
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (arg === '--quick' || arg === '--peers' || arg === '--serve') options[arg.slice(2) as 'quick'] = true;
    else if (arg === '--json') options.json = rest.shift() ?? fail('--json needs a file');
    else if (arg === '--beside') options.beside = rest.shift() ?? fail('--beside needs a file');
    else if (arg === '--flame') options.flame = rest.shift() ?? fail('--flame needs a folder');
    else if (arg === '--temporal') options.temporal = temporalNamed(rest.shift());
    else if (partNamed(arg)) options.part = { name: arg, counts: countsIn(rest, partNamed(arg)?.usual ?? []) };
    else if (arg.startsWith('-')) fail(`unknown option ${arg}`);
    else if (workloadNames.some((name) => name.includes(arg))) options.only.push(arg);
    else fail(`no workload is called ${arg}`);
  }
  const isDurable = options.part !== null && partNamed(options.part.name)?.isDurable;
  if (options.beside !== null && options.part) fail('--beside is for workloads');
  if (options.flame !== null && options.part) fail('--flame is for workloads');
  if (options.temporal !== 'in memory' && !isDurable) fail(`--temporal is for ${durable}`);
  return options;
}

const temporalNamed = (name: string | undefined): TemporalKind =>
  name === 'server' ? 'on PostgreSQL' : fail('--temporal takes "server"');

const partNamed = (name: string) => benchParts.find((one) => one.name === name);

/** Takes the numbers that follow from `rest`; returns `usual` if there are none. */
function countsIn(rest: string[], usual: readonly number[]): readonly number[] {
  const counts: number[] = [];
  while (/^[1-9]\d{0,6}$/.test(rest[0] ?? '')) counts.push(Number(rest.shift()));
  return counts.length > 0 ? counts : usual;
}

function fail(reason: string): never {
  throw new Error(`${reason}\n\n${usage}`);
}
