import { setTimeout as sleep } from 'node:timers/promises';
import { type Surroundings, startSurroundings } from '../../support/service.js';
import { checkAll } from '../faults/checks/index.js';
import type { Attempt } from '../faults/client.js';
import type { Kind } from '../faults/ledger.js';
import { type TemporalWatch, watchTemporal } from '../faults/temporal-watch.js';
import { type Running, underLoad, unexpectedErrors, worldOf } from '../faults/under-load.js';
import { startWitnesses } from '../faults/witnesses.js';
import { type Crossed, createCrossings, crossedWorkflows } from './crossings.js';
import { createFleet, type Fleet, serviceOf } from './fleet.js';
import { migrateWith, seedWith, type Version } from './versions.js';

export interface UpgradeOptions {
  from: Version;
  to: Version;
  /** How long each phase takes, in milliseconds. */
  phaseMs: number;
  say(line: string): void;
}

/** Which versions served when; times since the epoch. */
export interface Phase {
  title: string;
  from: number;
  until: number;
}

export interface UpgradeRun {
  from: Version;
  migrations: string[];
  phases: Phase[];
  attempts: Attempt[];
  acknowledged: [Kind, number][];
  looked: [what: string, count: number][];
  crossed: Crossed[];
  /** Findings of what is wrong. Empty: all is well. */
  findings: string[];
}

/**
 * Upgrades a service under load to another version and its schema, returns the processes to the old version on that
 * schema, and upgrades them again; then checks everything that was acknowledged on the way.
 */
export async function runUpgrade(options: UpgradeOptions): Promise<UpgradeRun> {
  const { from, say } = options;
  const stops: (() => Promise<unknown>)[] = [];
  try {
    const witnesses = await startWitnesses(11);
    stops.push(witnesses.stop);
    say('starting PostgreSQL, Temporal, two apis and two workers of the version before');
    // Waiting claims are checked all the time, by more and more workflows: seldom enough for however long the run
    // takes.
    const env = { ...witnesses.env, DOMAIN_POLL_SCHEDULE: '600x10s' };
    const around = await startSurroundings({ ownPostgres: true, keepHistories: true, env });
    stops.push(around.stop);
    const temporal = watchTemporal(around, say);
    stops.push(temporal.stop);
    await migrateWith(from, around.ownerUrl, around.databaseUrl);
    const findings: string[] = [];
    const fleet = createFleet(around, (what) => void findings.push(what));
    for (const role of ['worker', 'worker', 'api', 'api'] as const) await fleet.add(role, from);
    const seed = await seedWith(from, around.databaseUrl);
    const world = await worldOf(serviceOf(around, fleet), seed, witnesses, fleet.origins);
    const run = await upgradeUnderLoad({ world, around, fleet, temporal }, options);
    return { ...run, findings: [...findings, ...run.findings] };
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

interface Place {
  world: Running;
  around: Surroundings;
  fleet: Fleet;
  temporal: TemporalWatch;
}

async function upgradeUnderLoad(
  { world, around, fleet, temporal }: Place,
  options: UpgradeOptions,
): Promise<UpgradeRun> {
  const { client, ledger, findings } = world;
  const phases: Phase[] = [];
  const migrations: string[] = [];
  const { feed } = await underLoad(world, async () => {
    for await (const phase of passed(options, { world, around, fleet, migrations })) phases.push(phase);
  });
  const looked = await checkAll(world, feed);
  const crossed = await crossedWorkflows(around.temporalAddress, fleet.versionOf);
  findings.push(...unexpectedErrors(fleet.lines()), ...notAsPromised(client.attempts, crossed, temporal.restarts > 0));
  return {
    from: options.from,
    migrations,
    phases,
    attempts: client.attempts,
    acknowledged: ledger.counts(),
    looked: [...looked, temporal.counted()],
    crossed,
    findings: [...client.wrong, ...findings],
  };
}

/**
 * Checks what an upgrade promises beyond faults: every first attempt is answered, and no process is left.
 * @param wasTemporalRestarted whether Temporal's dev server failed by itself meanwhile, which no version can help
 */
function notAsPromised(
  attempts: readonly Attempt[],
  crossed: readonly Crossed[],
  wasTemporalRestarted: boolean,
): string[] {
  const counts = new Map<string, number>();
  for (const { name, status } of attempts) {
    // A worker that is late on a busy machine causes a 503 for a confirmation; the report counts those.
    if (typeof status === 'number' && (status !== 503 || name === 'confirm' || wasTemporalRestarted)) continue;
    counts.set(`${name}: ${status}`, (counts.get(`${name}: ${status}`) ?? 0) + 1);
  }
  const refused = [...counts].map(([what, count]) => `${what}, ${count} times`);
  const sum = (way: 'toNew' | 'toOld') => crossed.reduce((total, one) => total + one[way], 0);
  if (sum('toNew') === 0) refused.push('no workflow of the old version was gone on with by the new one');
  if (sum('toOld') === 0) refused.push('no workflow of the new version was gone on with by the old one');
  return refused;
}

/** Carries out the steps; yields each phase when it is over. */
async function* passed(
  { from, to, phaseMs, say }: UpgradeOptions,
  { world, around, fleet, migrations }: Omit<Place, 'temporal'> & { migrations: string[] },
): AsyncGenerator<Phase> {
  const crossings = createCrossings(world);
  let begun: Awaited<ReturnType<typeof crossings.begin>>[] = [];
  const replace = async (role: 'api' | 'worker', one: Version, other: Version) => {
    await fleet.add(role, other);
    await fleet.remove(role, one);
  };
  const replaceAll = async (roles: readonly ('api' | 'worker')[], one: Version, other: Version) => {
    for (const role of roles) await replace(role, one, other);
  };
  const steps: [title: string, step: () => Promise<unknown>][] = [
    ['old, before the migration', async () => {}],
    [
      'old, on the new schema',
      async () => migrations.push(...(await migrateWith(to, around.ownerUrl, around.databaseUrl))),
    ],
    ['workers of both, apis old', () => replaceAll(['worker'], from, to)],
    ['workers and apis of both', () => replaceAll(['api'], from, to)],
    ['new', () => replaceAll(['worker', 'api'], from, to)],
    ['taken back by half', () => replaceAll(['api', 'worker'], to, from)],
    ['old again, on the new schema', () => replaceAll(['api', 'worker'], to, from)],
    ['new again', () => replaceAll(['worker', 'worker', 'api', 'api'], from, to)],
  ];
  for (const [title, step] of steps) {
    const startedAt = Date.now();
    say(title);
    await step();
    const before = begun;
    begun = await Promise.all([crossings.begin(), crossings.begin()]);
    await sleep(phaseMs);
    for (const one of before) await crossings.end(one);
    yield { title, from: startedAt, until: Date.now() };
  }
  for (const one of begun) await crossings.end(one);
}
