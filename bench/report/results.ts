import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectRoot } from '../../src/platform/root.js';
import { grownCells } from '../growth.js';
import { benchParts } from '../parts/index.js';
import { hello, workloads } from '../workloads/index.js';
import { type Part, partSection, workloadsSection } from './markdown.js';
import { growthPlot, latencyPlot, speedPlot } from './plots.js';
import { type Results, shareOf } from './text.js';

/** The folder with the newest figures of each measurement, and the report that is made from them. */
const resultsFolder = join(projectRoot, 'bench/results');

/** The suffix of a part that was measured with a Temporal server on PostgreSQL, which has its own section. */
export const onServer = '-server';

/** Stores a measurement (`workloads`, or one of the parts), and writes the report again. */
export async function keepResults(name: string, content: Results | Part, folder = resultsFolder): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, `${name}.json`), `${JSON.stringify(content, null, 2)}\n`);
  await writeReport(folder);
}

async function writeReport(folder: string): Promise<void> {
  const kept = await readdir(folder);
  const sections = ['# What was measured', introduction];
  if (kept.includes('workloads.json')) sections.push(await workloadsIn(folder));
  const parts = benchParts.flatMap(({ name }) => [name, `${name}${onServer}`]);
  for (const name of parts.filter((one) => kept.includes(`${one}.json`))) {
    sections.push(partSection(await read<Part>(folder, name)));
  }
  await writeFile(join(folder, 'README.md'), `${sections.join('\n\n')}\n`);
}

async function workloadsIn(folder: string): Promise<string> {
  const results = await read<Results>(folder, 'workloads');
  const shown = [hello, ...workloads];
  const share = (cell: Results['cells'][number]) => {
    const workload = shown.find(({ name }) => name === cell.workload);
    return workload ? shareOf(cell, workload, results) : null;
  };
  const plots: Record<string, Promise<string> | null> = {
    speed: speedPlot(results, share),
    latency: latencyPlot(results, share),
    growth: growthPlot(grownCells(results)),
  };
  const drawn: string[] = [];
  for (const [name, svg] of Object.entries(plots)) {
    if (!svg) continue;
    await writeFile(join(folder, `${name}.svg`), `${await svg}\n`);
    drawn.push(name);
  }
  return workloadsSection(results, shown, { shareOf: share, plots: drawn });
}

const read = async <T>(folder: string, name: string): Promise<T> =>
  JSON.parse(await readFile(join(folder, `${name}.json`), 'utf8'));

const introduction =
  'Made by `npm run bench` out of the figures beside it; each run replaces its own part. How they are measured and what they ' +
  'mean is in [docs/performance.md](../../docs/performance.md).';
