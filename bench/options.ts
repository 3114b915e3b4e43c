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
  /** Parts of workload names; empty means all of them. */
  only: string[];
}

export const usage = `npm run bench -- [--quick] [--json FILE] [--peers] [--serve] [NAME…]

  --quick      every workload at one concurrency, short cells: under a minute
  --json FILE  writes the results there too
  --peers      prints, from demo.json of a running \`npm start\`, what external drivers need to reach it; measures nothing
  --serve      brings up a seeded installation, prints the same of it, and waits for Ctrl-C; measures nothing
  NAME         only workloads whose name has this in it, such as "refresh"

  workloads: ${workloadNames.join(', ')}`;

/** Reads the command line. @throws Error with the usage when it has something else */
export function parseOptions(args: readonly string[]): Options {
  const options: Options = { quick: false, json: null, peers: false, serve: false, only: [] };
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (arg === '--quick' || arg === '--peers' || arg === '--serve') options[arg.slice(2) as 'quick'] = true;
    else if (arg === '--json') options.json = rest.shift() ?? fail('--json needs a file');
    else if (arg.startsWith('-')) fail(`unknown option ${arg}`);
    else if (workloadNames.some((name) => name.includes(arg))) options.only.push(arg);
    else fail(`no workload is called ${arg}`);
  }
  return options;
}

function fail(reason: string): never {
  throw new Error(`${reason}\n\n${usage}`);
}
