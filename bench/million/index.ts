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

/** An Environment of so many people: what it took to load them, and what is measured beside them. */
export interface MillionResult {
  identities: number;
  loaded: Loaded;
  cells: Cell[];
}

const concurrency = 16;
/** What reads as much as it finds would have all others wait for a connection. */
const concurrencyOfGrowing = 2;
/** Of everybody, spread over all, so that each sign-in reads rows that nobody else has read lately. */
const signingIn = 20_000;

const sizeOf = (identities: number): Size => ({
  identities,
  nodes: Math.max(200, Math.round(identities / 100)),
  roleAssignments: Math.round(identities / 10),
  moved: 10,
});

/** Loads people by the bulk operation, and measures one api at 16 connections beside them. */
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
      // The Environment was seeded with what SizedSeed has.
      const cell = await measureCell(work as unknown as Workload, plan, surroundings);
      if (cell.error) throw new Error(`${work.name}, ${identities} identities: ${cell.error}`);
      say(`${work.name}, ${identities} identities: ${cell.perSecond.toFixed(1)}/s`);
      cells.push(cell);
    }
    results.push({ identities, loaded, cells });
  }
  return results;
}

/** One in a hundred, among those who hold no role: a decision about them has another reason. */
const isInactive = (number: number, { identities }: Size) => number % 100 === 99 && number >= identities / 2;

/** The same with the people who were loaded as those who sign in. */
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
