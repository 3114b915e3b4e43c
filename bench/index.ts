import 'reflect-metadata';
import { writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { createStops, type Stops } from '../src/dev/stops.js';
import { isCompiled } from '../src/domain/passwords/argon2.js';
import { type Cell, type CellPlan, measureCell, type Server } from './cells.js';
import { createCounting } from './counting.js';
import { measureFlames } from './flame/index.js';
import { growthTable } from './growth.js';
import { install } from './installation.js';
import { measureLimits, startHellos } from './limits/index.js';
import { type Options, type PartOption, parseOptions } from './options.js';
import { measurePages } from './page-weights.js';
import { type BenchPart, benchParts } from './parts/index.js';
import { targetOf, targetOfDemo } from './peers.js';
import { isHeldAgainst } from './report/aims.js';
import { readPeerFigures } from './report/peer-figures.js';
import { keepResults, onServer } from './report/results.js';
import { type Results, shareOf, textTable } from './report/text.js';
import { seed as seedData } from './seed.js';
import { startApis } from './service.js';
import { openSites } from './sites.js';
import { temporalStarter } from './temporal.js';
import { warmUp } from './warm-up.js';
import { hello, type Workload, workloads } from './workloads/index.js';

const idleFor = 15_000;
const cores = cpus().length;
const say = (line: string) => process.stderr.write(`${line}\n`);

/** How long each part may take, in ms. */
const fullTimes = {
  limit: 3000,
  warm: 1000,
  measured: 2200,
  /** For cells that are compared with an aim: as long as other services were measured. */
  aimed: { warmMs: 3000, measuredMs: 6000 },
  young: { operations: 5000, atMost: 20_000, step: 500 },
};
const flameTimes = { warm: 3000, measured: 5000 };
const quickTimes = {
  limit: 800,
  warm: 150,
  measured: 700,
  aimed: { warmMs: 150, measuredMs: 700 },
  young: { operations: 1, atMost: 0, step: 150 },
};

async function main(options: Options): Promise<number> {
  if (options.peers) {
    process.stdout.write(`${JSON.stringify(await targetOfDemo(), null, 2)}\n`);
    return 0;
  }
  const stops = createStops(); // a signal ends everything too
  try {
    if (options.part) return await measurePart({ ...options, part: options.part }, stops);
    if (options.flame) return await draw({ ...options, flame: options.flame }, stops);
    return await (options.serve ? serve(stops) : measure(options, stops));
  } finally {
    await stops.all();
  }
}

/** Runs one seeded api process that external drivers can measure, until a signal arrives. */
async function serve(stops: Stops): Promise<never> {
  const installation = await install(stops);
  const seed = await seedData(installation.databaseUrl);
  const [api] = await startApis(1, installation, stops);
  process.stdout.write(`${JSON.stringify(targetOf(api!, seed), null, 2)}\n`);
  stops.untilSignalled();
  return new Promise(() => {});
}

/** Measures only one part, and adds it to the report. */
async function measurePart(options: Options & { part: PartOption }, stops: Stops) {
  const { part, quick, json, temporal } = options;
  const { name, counts } = part;
  const { title, measure } = benchParts.find((one) => one.name === name) as BenchPart;
  const { table, results } = await measure(counts, {
    stops,
    say,
    times: quick ? quickTimes : fullTimes,
    startTemporal: temporalStarter(temporal, stops, say),
  });
  process.stdout.write(`${table}\n`);
  if (json) await writeFile(json, `${JSON.stringify(results, null, 2)}\n`);
  const at = new Date().toISOString();
  if (quick) return 0;
  if (temporal === 'in memory') await keepResults(name, { title, at, table });
  else await keepResults(`${name}${onServer}`, { title: `${title}, Temporal on PostgreSQL`, at, table });
  return 0;
}

/** Draws only the flame graphs of the workloads. */
async function draw({ flame: folder, ...options }: Options & { flame: string }, stops: Stops): Promise<number> {
  const times = options.quick ? quickTimes : flameTimes;
  return reportErrors(await measureFlames(chosenBy(options), { folder, quick: options.quick, times }, stops, say));
}

const chosenBy = ({ only }: Pick<Options, 'only'>): Workload[] =>
  workloads.filter(({ name }) => only.length === 0 || only.some((part) => name.includes(part)));

async function measure(options: Options, stops: Stops): Promise<number> {
  const chosen = chosenBy(options);
  const times = options.quick ? quickTimes : fullTimes;
  const peers = options.beside === null ? [] : await readPeerFigures(options.beside); // fails early
  say('starting PostgreSQL and seeding');
  const installation = await install(stops);
  const seed = await seedData(installation.databaseUrl);
  say(`measuring what this machine can do on ${cores} cores`);
  const limits = await measureLimits({ cores, ms: times.limit }, installation);
  say(`starting ${cores} api processes`);
  const apis = await startApis(cores, installation, stops);
  const hellos = await startHellos(cores, stops);
  const sites = await openSites(chosen, { installation, seed, apis, isQuick: options.quick }, stops, say);

  const count = createCounting(sites.databaseUrls);
  const cells: Cell[] = [];
  const run = async (processes: number, concurrency: number, isFirst: boolean) => {
    const plan = (servers: readonly Server[]): CellPlan => ({
      servers: servers.slice(0, processes),
      concurrency,
      warmMs: times.warm,
      measuredMs: times.measured,
    });
    const needsHello = chosen.some(({ limit, size }) => limit === 'hello' || size);
    const all = chosen
      .filter(({ isAlone }) => !isAlone || concurrency === 1)
      .map((workload): [Workload, readonly Server[]] => [workload, sites.of(workload).apis]);
    if (needsHello) all.unshift([hello, hellos]);
    for (const [workload, servers] of isFirst ? all : []) {
      const warming = { ...plan(servers), concurrency: workload.isAlone ? 1 : 16, warmMs: 0 };
      const load = (measuredMs: number) => measureCell(workload, { ...warming, measuredMs }, sites.of(workload));
      await warmUp(load, times.young);
    }
    for (const [workload, servers] of all) {
      await count();
      const longer = isHeldAgainst(workload.name, concurrency) ? times.aimed : {};
      const cell = await measureCell(workload, { ...plan(servers), ...longer }, sites.of(workload));
      say(progressOf(cell));
      cells.push(cell);
    }
  };

  const idle = apis.at(-1)!.rssAfter(idleFor); // the last one gets no requests until its memory has been read
  if (cores === 1) await idle;
  for (const c of options.quick ? [1] : [1, 16, 64]) await run(1, c, c === 1);
  const idleRssMb = await idle;
  if (cores > 1) for (const c of options.quick ? [16] : [16, 64]) await run(cores, c, c === 16);

  const results: Results = {
    at: new Date().toISOString(),
    machine: {
      cores,
      model: cpus()[0]?.model.trim() ?? 'unknown',
      node: process.versions.node,
      argon2: isCompiled ? 'compiled' : 'brought',
    },
    quick: options.quick,
    limits,
    readyMs: apis.map(({ readyMs }) => readyMs),
    idleRssMb,
    pages: await measurePages(apis[0]!.origin, seed),
    cells,
    ...(peers.length > 0 && { peers }),
  };
  const shown = [hello, ...chosen];
  process.stdout.write(`${[textTable(results, shown), growthTable(results)].filter(Boolean).join('\n\n')}\n`);
  if (options.json) await writeFile(options.json, `${JSON.stringify(withShares(results, shown), null, 2)}\n`);
  if (!options.quick && options.only.length === 0) await keepResults('workloads', results);
  return reportErrors(cells);
}

const progressOf = ({ workload, processes, concurrency, perSecond }: Cell) =>
  `${workload}, ${processes} process${processes > 1 ? 'es' : ''}, c=${concurrency}: ${perSecond.toFixed(1)}/s`;

const withShares = (results: Results, shown: readonly Workload[]) => ({
  ...results,
  cells: results.cells.map((cell) => {
    const workload = shown.find(({ name }) => name === cell.workload) as Workload;
    return { ...cell, share: shareOf(cell, workload, results) };
  }),
});

/** Reports wrong answers, which are failures; slowness is none. @returns the exit code */
function reportErrors(cells: readonly Cell[]): number {
  const failed = cells.filter(({ errors }) => errors > 0);
  for (const { workload, processes, concurrency, errors, error } of failed)
    say(`${workload}, ${processes} processes, c=${concurrency}: ${errors} wrong answers, such as: ${error}`);
  return failed.length > 0 ? 1 : 0;
}

try {
  process.exitCode = await main(parseOptions(process.argv.slice(2)));
} catch (error) {
  say((error as Error).message);
  process.exitCode = 1;
}
process.exit();
