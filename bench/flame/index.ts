import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Stops } from '../../src/dev/stops.js';
import { type Cell, measureCell } from '../cells.js';
import { install } from '../installation.js';
import { digits } from '../report/text.js';
import { seed as seedData } from '../seed.js';
import { type Api, startApis } from '../service.js';
import { openSites, type Site } from '../sites.js';
import type { Workload } from '../workloads/index.js';
import { type Frame, framesOf } from './frames.js';
import { profiled } from './inspector.js';
import { createPlaces } from './places.js';
import { flameSvg } from './svg.js';

/** The same number as in the report's plots and aims. */
const connections = 16;

export interface FlameOptions {
  folder: string;
  quick: boolean;
  times: { warm: number; measured: number };
}

/**
 * Draws where one api process spends its main thread's time under each workload, as `folder/NAME.svg`. The figures of
 * these cells include the profiler.
 */
export async function measureFlames(
  chosen: readonly Workload[],
  { folder, quick, times }: FlameOptions,
  stops: Stops,
  say: (line: string) => void,
): Promise<Cell[]> {
  say('starting PostgreSQL and seeding');
  const installation = await install(stops);
  const seed = await seedData(installation.databaseUrl);
  const apis = await startApis(1, installation, stops, { isInspected: true });
  const base = { installation, seed, apis, isQuick: quick, isInspected: true };
  const sites = await openSites(chosen, base, stops, say);
  await mkdir(folder, { recursive: true });
  const placeOf = createPlaces();
  const cells: Cell[] = [];
  for (const workload of chosen) {
    const { cell, profile } = await profiledCell(workload, sites.of(workload), times);
    const file = join(folder, `${workload.name.replace('@', '-')}.svg`);
    await writeFile(file, flameOf(cell, framesOf(profile, placeOf)));
    say(`${file}: ${digits(cell.perSecond)} a second`);
    cells.push(cell);
  }
  return cells;
}

async function profiledCell(workload: Workload, site: Site, { warm, measured }: FlameOptions['times']) {
  const api = site.apis[0] as Api;
  const concurrency = workload.isAlone ? 1 : connections;
  const plan = { servers: [api], concurrency, warmMs: warm, measuredMs: measured };
  await measureCell(workload, plan, site); // meanwhile V8 compiles the hot code
  const measuring = () => measureCell(workload, { ...plan, warmMs: 0 }, site);
  const { result: cell, profile } = await profiled(api.inspectorPort as number, measuring);
  return { cell, profile };
}

const flameOf = ({ workload, concurrency }: Cell, root: Frame): string =>
  flameSvg(root, {
    title: `${workload}: one api process, ${concurrency === 1 ? 'one connection' : `${concurrency} connections`}`,
    caption:
      `Share of ${root.samples} CPU samples of the main thread, idleness left out. ` +
      'Argon2 and signatures run in threads of libuv, which V8 does not sample.',
  });
