import { setTimeout as sleep } from 'node:timers/promises';
import { seed as seedData } from '../../support/seed.js';
import { startService } from '../../support/service.js';
import { caughtUp } from './backlog.js';
import { checkAll } from './checks/index.js';
import type { Attempt } from './client.js';
import { type Disruption, disrupt } from './disrupt.js';
import type { Kind } from './ledger.js';
import { doTheMainJob } from './main-job.js';
import { outageOf, planOf } from './plan.js';
import { watchTemporal } from './temporal-watch.js';
import { type Running, underLoad, unexpectedErrors, worldOf } from './under-load.js';
import { startWitnesses } from './witnesses.js';

export interface RunOptions {
  seed: number;
  /** How long the faults go on, in milliseconds. */
  ms: number;
  /** How long a part is halted. */
  stopMs: number;
  /** Whether Temporal is away for all of this time instead, under a light load, and nothing else fails. */
  isOutage?: boolean;
  say(line: string): void;
}

export interface FaultsRun {
  seed: number;
  plan: Disruption[];
  attempts: Attempt[];
  acknowledged: [Kind, number][];
  /** What was checked afterwards, and how many of it. */
  looked: [what: string, count: number][];
  /** Findings of what is wrong. Empty: all is well. */
  findings: string[];
  /** Families of refresh tokens that ended because an outage was longer than their window. */
  ended: string[];
  loadMs: number;
  settledMs: number;
}

/** Starts the whole service, breaks it under load as the seed decides, lets it recover, and checks everything. */
export async function runFaults(options: RunOptions): Promise<FaultsRun> {
  const stops: (() => Promise<unknown>)[] = [];
  try {
    const witnesses = await startWitnesses(options.seed);
    stops.push(witnesses.stop);
    options.say('starting PostgreSQL, Temporal, two apis and two workers');
    // In a longer run invites expire meanwhile, by a timer that has to survive all faults. An invite that expires before
    // its mail could be sent is not sent.
    const asInProduction = { REQUEST_TIMEOUT: '25s' };
    const inviteTtl = options.ms >= 60_000 && !options.isOutage ? '90s' : '7d';
    const env = { ...witnesses.env, ...asInProduction, INVITE_TTL: inviteTtl };
    const service = await startService({ ownPostgres: true, keepHistories: true, copies: 2, env });
    stops.push(service.stop);
    const origins = service.apis.map(({ healthUrl }) => healthUrl);
    const world = await worldOf(service, await seedData(service.databaseUrl), witnesses, origins);
    options.say('the main job, with one api and one worker killed in the middle of it');
    await doTheMainJob(world);
    return await loadAndBreak(world, options);
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

async function loadAndBreak(world: Running, options: RunOptions): Promise<FaultsRun> {
  const { seed, ms, stopMs, isOutage = false, say } = options;
  const { service, client, ledger, findings, ended } = world;
  const begunAt = Date.now();
  const temporal = watchTemporal(service, say);
  const plan: Disruption[] = [];
  const outage: [what: string, count: number][] = [];
  const breaking = async () => {
    const faults = isOutage ? outageOf(ms) : planOf({ seed, ms, stopMs });
    plan.push(...(await disrupt(service, faults, { say, find: world.find, temporal })));
    if (isOutage) outage.push(...(await caughtUp(world)));
    await sleep(2_000);
    say('no more faults: what was begun is finished');
  };
  const { feed, loadMs } = await underLoad(world, breaking, { isLight: isOutage });
  const looked = await checkAll(world, feed);
  await temporal.stop();
  for (const { lines } of [...service.apis, ...service.workers]) findings.push(...unexpectedErrors(lines));
  return {
    seed,
    plan,
    attempts: client.attempts,
    acknowledged: ledger.counts(),
    looked: [...looked, ...outage, temporal.counted()],
    findings: [...client.wrong, ...findings],
    ended,
    loadMs,
    settledMs: Date.now() - begunAt - loadMs,
  };
}
