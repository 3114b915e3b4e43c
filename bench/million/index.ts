import type { Stops } from '../../src/dev/stops.js';
import { createHashing } from '../../src/domain/passwords/hashing.js';
import { type Cell, measureCell } from '../cells.js';
import { install } from '../installation.js';
import { seed as seedBase } from '../seed.js';
import { type Api, startApis } from '../service.js';
import { emailOf, fillSized, type SizedSeed } from '../sized/seed.js';
import type { Size } from '../sized/sizes.js';
import { createHolders, type Workload } from '../workloads/index.js';
import { type Loaded, loadByBulk } from './load.js';
import { growing, millionWorks } from './works.js';

/** An Environment with `identities` people: the cost of loading them, and what was measured with them. */
export interface MillionResult {
  identities: number;
  loaded: Loaded;
  cells: Cell[];
}

const concurrency = 16;
/** For workloads that read as much as they find: more of them would make all others wait for a connection. */
const concurrencyOfGrowing = 2;
/** How many people sign in, spread over all, so that each sign-in reads rows that were not read recently. */
const signingIn = 20_000;

const sizeOf = (identities: number): Size => ({
  identities,
  nodes: Math.max(200, Math.round(identities / 100)),
  roleAssignments: Math.round(identities / 10),
  moved: 10,
});

/** Loads people with the bulk operation, then measures one api at 16 connections. */
export async function measureMillion(
  stops: Stops,
  counts: readonly number[],
  times: { warm: number; measured: number },
  say: (line: string) => void,
): Promise<MillionResult[]> {
  const results: MillionResult[] = [];
  for (const identities of counts) {
    say(`${identities} identities: starting PostgreSQL and loading them by the bulk operation`);
    const installation = await install(stops);
    const base = await seedBase(installation.databaseUrl);
    const [api] = (await startApis(1, installation, stops)) as [Api];
    const passwordHash = await createHashing({ atOnce: 2 }).hash(base.password);
    const { postgresPid } = installation;
    const wanted = { count: identities, passwordHash };
    const { ids, loaded } = await loadByBulk(api, base, wanted, { postgresPid, say });
    say(`${identities} identities: ${loaded.perSecond.toFixed(0)} a second; nodes and role assignments by SQL`);
    const sized = await fillSized(installation, base, sizeOf(identities), { memberIds: ids, isInactive });
    const seed = signedInBy(sized);
    const surroundings = { seed, holders: createHolders(api.origin, seed), mailedCode: async () => '', postgresPid };
    const cells: Cell[] = [];
    for (const work of millionWorks) {
      const plan = {
        servers: [api],
        concurrency: growing.has(work.name) ? concurrencyOfGrowing : concurrency,
        warmMs: times.warm * 2,
        measuredMs: times.measured * 2,
      };
      // The Environment has the data of a SizedSeed.
      const cell = await measureCell(work as unknown as Workload, plan, surroundings);
      if (cell.error) throw new Error(`${work.name}, ${identities} identities: ${cell.error}`);
      say(`${work.name}, ${identities} identities: ${cell.perSecond.toFixed(1)}/s`);
      cells.push(cell);
    }
    results.push({ identities, loaded, cells });
  }
  return results;
}

/** One in a hundred, but only people without a role: otherwise decisions about them would have another reason. */
const isInactive = (number: number, { identities }: Size) => number % 100 === 99 && number >= identities / 2;

/** Returns the seed with loaded people as those who sign in. */
function signedInBy(seed: SizedSeed): SizedSeed {
  const step = Math.max(1, Math.floor(seed.size.identities / signingIn));
  const numbers = Array.from({ length: Math.min(signingIn, seed.size.identities) }, (_, i) => i * step).filter(
    (number) => !isInactive(number, seed.size),
  );
  return {
    ...seed,
    emails: numbers.map(emailOf),
    identityIds: numbers.map((number) => seed.memberIds[number] as string),
  };
}
