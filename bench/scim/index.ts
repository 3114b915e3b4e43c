import { cpus } from 'node:os';
import type { Stops } from '../../src/dev/stops.js';
import { closedLoop, type Measurement } from '../closed-loop.js';
import { connect } from '../connection.js';
import { install } from '../installation.js';
import { startApis } from '../service.js';
import { createScimWork, type ScimWork } from './operations.js';
import { seedScim } from './seed.js';

/** What requests to a directory of `people` people cost. */
export interface ScimResult {
  people: number;
  /** By request, in the order in which they were measured: changes come last. */
  measured: Record<string, Measurement>;
}

const concurrency = 4;

/** Reads and changes a directory of few and then of many people, with one api process. */
export async function measureScim(
  stops: Stops,
  counts: readonly number[],
  times: { warm: number; measured: number },
  say: (line: string) => void,
): Promise<ScimResult[]> {
  const results: ScimResult[] = [];
  for (const people of counts) {
    say(`${people} people: starting PostgreSQL and making them`);
    const installation = await install(stops);
    const seed = await seedScim(installation, people);
    const [api] = await startApis(1, installation, stops);
    const measured: ScimResult['measured'] = {};
    for (const [name, work] of Object.entries(createScimWork(seed))) {
      const load = { concurrency, warmMs: times.warm, measuredMs: times.measured, worker: workerOf(api!.origin, work) };
      const cell = await closedLoop(load, { server: [api!.pid], postgres: installation.postgresPid });
      if (cell.error) throw new Error(`${name}, ${people} people: ${cell.error}`);
      say(`${name}, ${people} people: ${cell.perSecond.toFixed(1)}/s`);
      measured[name] = cell;
    }
    results.push({ people, measured });
  }
  return results;
}

const workerOf = (origin: string, work: ScimWork) => async (index: number) => {
  const connection = connect(origin);
  return { run: work(connection, { index, of: concurrency }), close: () => connection.close() };
};

/** Returns Markdown with a line for each request. */
export function scimTable(results: readonly ScimResult[]): string {
  const show = (one: Measurement | undefined) => {
    if (!one) return '–';
    const cpu = [one.serverCpuMs, one.postgresCpuMs].map((ms) => ms?.toFixed(1) ?? '–').join(' + ');
    return `${Number(one.perSecond.toPrecision(3))} | ${one.p50.toFixed(1)}, ${one.p99.toFixed(1)} | ${cpu}`;
  };
  const names = Object.keys(results[0]?.measured ?? {});
  const lines = names.map((name) => [name, ...results.map(({ measured }) => show(measured[name]))].join(' | '));
  const others = results.map(({ people, measured }) => {
    const busy = Object.values(measured).map(({ othersPercent }) => othersPercent ?? 0);
    return `${people} people: others took ${Math.min(...busy).toFixed(0)} to ${Math.max(...busy).toFixed(0)} % of a core`;
  });
  const head = [
    '',
    ...results.flatMap(({ people }) => [`${people} people, per s`, 'p50, p99 ms', 'CPU ms api + PostgreSQL']),
  ];
  const rule = ['---', ...head.slice(1).map(() => '--:')].join(' | ');
  return [
    ...[head.join(' | '), rule, ...lines].map((line) => `| ${line} |`),
    '',
    `${cpus().length} cores, ${concurrency} connections; ${others.join('; ')}`,
  ].join('\n');
}
