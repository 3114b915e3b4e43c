import type { Stops } from '../src/dev/stops.js';
import type { CellSurroundings } from './cells.js';
import { type Installation, installBeside } from './installation.js';
import { createMailedCodes } from './mailed-codes.js';
import type { Seed } from './seed.js';
import { type Api, startApis } from './service.js';
import { seedSized } from './sized/seed.js';
import { type SizeName, sizeNames, sizesOf } from './sized/sizes.js';
import { createHolders, type Workload } from './workloads/index.js';

/** Seeded data with its own api processes. */
export interface Site extends CellSurroundings {
  apis: Api[];
  databaseUrl: string;
}

type SiteName = 'base' | 'hashing aside' | SizeName;
type Sited = Pick<Workload, 'size' | 'isHashingAside'>;

export interface Sites {
  /** Returns the site where a workload is measured. */
  of(workload: Sited): Site;
  databaseUrls: readonly string[];
}

const nameOf = ({ size, isHashingAside }: Sited): SiteName => (isHashingAside ? 'hashing aside' : (size ?? 'base'));

export interface BaseSite {
  installation: Installation;
  seed: Seed;
  apis: Api[];
  isQuick: boolean;
  /** Whether the api processes have an inspector. */
  isInspected?: boolean;
}

/**
 * Opens what the workloads need in addition to the base: for each size a database with as many api processes, and as
 * many processes on the base's database that remember hashes.
 */
export async function openSites(
  workloads: readonly Workload[],
  { installation, seed, apis, isQuick, isInspected = false }: BaseSite,
  stops: Stops,
  say: (line: string) => void,
): Promise<Sites> {
  const siteOf = (of: Installation, seeded: Seed, processes: Api[]): Site => ({
    apis: processes,
    databaseUrl: of.databaseUrl,
    seed: seeded,
    holders: createHolders(processes[0]!.origin, seeded),
    mailedCode: createMailedCodes(of, stops),
    postgresPid: of.postgresPid,
  });
  const sites = new Map<SiteName, Site>([['base', siteOf(installation, seed, apis)]]);
  if (workloads.some(({ isHashingAside }) => isHashingAside)) {
    const processes = await startApis(apis.length, installation, stops, { isInspected, isHashingAside: true });
    sites.set('hashing aside', siteOf(installation, seed, processes));
  }
  for (const name of sizeNames.filter((each) => workloads.some(({ size }) => size === each))) {
    const size = sizesOf(isQuick)[name];
    say(`seeding ${size.identities} identities, ${size.nodes} nodes, ${size.roleAssignments} role assignments`);
    const beside = await installBeside(installation, `bench_${name}`);
    const seeded = await seedSized(beside, size);
    sites.set(name, siteOf(beside, seeded, await startApis(apis.length, beside, stops, { isInspected })));
  }
  return {
    of: (workload) => sites.get(nameOf(workload)) as Site,
    databaseUrls: [...new Set([...sites.values()].map(({ databaseUrl }) => databaseUrl))],
  };
}
