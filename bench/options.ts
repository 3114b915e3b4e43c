import { workloadNames } from './workloads/index.js';

export interface Options {
  /** One column of load and short cells: a look, not a measurement. */
  quick: boolean;
  /** Where the results go besides the table. */
  json: string | null;
  /** Prints what external drivers need to reach a development installation, and measures nothing. */
  peers: boolean;
  /** Brings everything up, prints what external drivers need, and waits for Ctrl-C. */
  serve: boolean;
  /** How many registrations to hold open, instead of the workloads; empty: none. */
  registrations: number[];
  /** How many webhook subscriptions to deliver to, instead of the workloads; empty: none. */
  deliveries: number[];
  /** How many events to read, instead of the workloads; empty: none. */
  events: number[];
  /** How many claims of domains to poll, instead of the workloads; empty: none. */
  domains: number[];
  /** How many people directories are to have that are asked by SCIM, instead of the workloads; empty: none. */
  scim: number[];
  /** More sign-ins than an api can do, instead of the workloads. */
  overload: boolean;
  /** Parts of workload names; empty means all of them. */
  only: string[];
}

export const usage = `npm run bench -- [--quick] [--json FILE] [--peers] [--serve] [registrations [N…]] [deliveries [N…]] [events [N…]] [domains [N…]] [scim [N…]] [overload] [NAME…]

  --quick      few loads, short cells, less data: a few minutes for all workloads
  --json FILE  writes the results there too
  --peers      prints, from demo.json of a running \`npm start\`, what external drivers need to reach it; measures nothing
  --serve      brings up a seeded installation, prints the same of it, and waits for Ctrl-C; measures nothing
  registrations [N…]  holds a hundred and then ten thousand registrations open (or as many as named), and shows what waiting
               costs the worker; ten thousand take some ten minutes
  deliveries [N…]  delivers webhooks to a receiver on this machine, with 1, 100 and 1 000 subscriptions (or as many as named)
  events [N…]  reads the change feed and the audit log of 100 000 and of a million events (or as many as named)
  domains [N…]  polls a hundred and then ten thousand pending claims of domains (or as many as named), and shows what that costs
               the worker; ten thousand take some fifteen minutes
  scim [N…]    asks and changes a directory of 1 000 and of 100 000 people by SCIM (or of as many as named); some three minutes
  overload     has more people sign in than an api can serve, and shows who is refused, and what refreshes and probes notice of it
  NAME         only workloads whose name has this in it, such as "refresh"

  workloads: ${workloadNames.join(', ')}`;

/** Reads the command line. @throws Error with the usage when it has something else */
export function parseOptions(args: readonly string[]): Options {
  const options: Options = {
    ...{ quick: false, json: null, peers: false, serve: false, overload: false },
    ...{ registrations: [], deliveries: [], events: [], domains: [], scim: [], only: [] },
  };
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (arg === 'overload') options.overload = true;
    else if (arg === '--quick' || arg === '--peers' || arg === '--serve') options[arg.slice(2) as 'quick'] = true;
    else if (arg === '--json') options.json = rest.shift() ?? fail('--json needs a file');
    else if (arg === 'registrations') options.registrations = countsIn(rest, [100, 10_000]);
    else if (arg === 'deliveries') options.deliveries = countsIn(rest, [1, 100, 1_000]);
    else if (arg === 'events') options.events = countsIn(rest, [100_000, 1_000_000]);
    else if (arg === 'domains') options.domains = countsIn(rest, [100, 10_000]);
    else if (arg === 'scim') options.scim = countsIn(rest, [1_000, 100_000]);
    else if (arg.startsWith('-')) fail(`unknown option ${arg}`);
    else if (workloadNames.some((name) => name.includes(arg))) options.only.push(arg);
    else fail(`no workload is called ${arg}`);
  }
  return options;
}

/** Takes the numbers that follow, or else these. */
function countsIn(rest: string[], usual: number[]): number[] {
  const counts: number[] = [];
  while (/^[1-9]\d{0,6}$/.test(rest[0] ?? '')) counts.push(Number(rest.shift()));
  return counts.length > 0 ? counts : usual;
}

function fail(reason: string): never {
  throw new Error(`${reason}\n\n${usage}`);
}
