import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { migrate } from '../../../src/platform/database/migrations.js';
import { reconcileNow } from '../../../src/temporal/schedules.js';
import { seed as seedData } from '../../support/seed.js';
import { type Surroundings, startSurroundings } from '../../support/service.js';
import { startApi } from '../../support/service-processes.js';
import { until } from '../../support/until.js';
import { startReceiver } from '../../support/webhooks.js';
import { checkAll } from '../faults/checks/index.js';
import type { Kind } from '../faults/ledger.js';
import { type Running, underLoad, unexpectedErrors, worldOf } from '../faults/under-load.js';
import { startWitnesses } from '../faults/witnesses.js';
import { dataOf, viaApi } from '../faults/world.js';
import { createCrossings } from '../upgrade/crossings.js';
import { createFleet, type Fleet, serviceOf } from '../upgrade/fleet.js';
import { thisVersion } from '../upgrade/versions.js';
import { doLater, laterIsGone } from './after-the-moment.js';
import { type Archive, startArchiving } from './archive.js';

export interface DrillOptions {
  /** Milliseconds of load before the backup, and again after it. */
  loadMs: number;
  say(line: string): void;
}

export interface DrillRun {
  acknowledged: [Kind, number][];
  looked: [what: string, count: number][];
  /** Milliseconds from the loss until PostgreSQL ran again, and until api and worker were ready. */
  restoredMs: number;
  readyMs: number;
  /** The output of a process with wrong master keys. */
  refusal: string;
  /** Findings of what is wrong. Empty: all is well. */
  findings: string[];
}

/** Lets a receiver refuse for as long as all of this takes on a slow machine. */
const patientSchedule = Array.from({ length: 300 }, () => '3s').join();

interface Place {
  around: Surroundings;
  fleet: Fleet;
  archive: Archive;
  world: Running;
  options: DrillOptions;
}

/**
 * Deletes PostgreSQL's files and all of Temporal under a busy service, restores PostgreSQL to a moment before, and
 * checks that everything acknowledged until then is there and continues, and nothing acknowledged later.
 */
export async function runDrill(options: DrillOptions): Promise<DrillRun> {
  const stops: (() => Promise<unknown>)[] = [];
  try {
    const witnesses = await startWitnesses(11);
    stops.push(witnesses.stop);
    options.say('starting PostgreSQL with an archive, Temporal, api and worker');
    const env = { ...witnesses.env, WEBHOOK_RETRY_SCHEDULE: patientSchedule, DOMAIN_POLL_SCHEDULE: '600x10s' };
    const around = await startSurroundings({ ownPostgres: true, env });
    stops.push(around.stop);
    const archive = await startArchiving(around.ownerUrl, around.postgres);
    await migrate(around.ownerUrl, around.databaseUrl);
    const findings: string[] = [];
    const fleet = createFleet(around, (what) => void findings.push(what));
    for (const role of ['worker', 'api'] as const) await fleet.add(role, thisVersion);
    const seed = await seedData(around.databaseUrl);
    const world = await worldOf(serviceOf(around, fleet), seed, witnesses, fleet.origins);
    const run = await loseAndRestore({ around, fleet, archive, world, options });
    return { ...run, findings: [...findings, ...run.findings] };
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

async function loseAndRestore(place: Place): Promise<DrillRun> {
  const { archive, world, fleet, options } = place;
  const { loadMs, say } = options;
  const crossings = createCrossings(world);
  const held: Awaited<ReturnType<typeof crossings.begin>>[] = [];
  const refusing = await startRefusing(world);
  try {
    const { feed } = await underLoad(world, async () => {
      await sleep(loadMs);
      say('backing up under load');
      await archive.backUp();
      for (let i = 0; i < 5; i++) held.push(await crossings.begin());
      await refusing.begin();
      await sleep(loadMs);
    });
    const moment = await archive.now();
    say(`the moment that will be restored: ${moment}`);
    const later = await doLater(world);
    await archive.flushed();
    const times = await restore(place, moment);

    say('looking at what is there');
    await laterIsGone(world, later);
    refusing.relent();
    const healing = healedBy(place.around.temporalAddress);
    for (const one of held) await crossings.end(one);
    await refusing.isDone();
    const looked = await checkAll(world, feed);
    await healing.stop();
    return {
      ...times,
      acknowledged: world.ledger.counts(),
      looked,
      findings: [...world.client.wrong, ...world.findings, ...unexpectedErrors(fleet.lines())],
    };
  } finally {
    await refusing.stop();
  }
}

/** Kills everything at once, and restores it from the archive. */
async function restore({ around, fleet, archive, options: { say } }: Place, moment: string) {
  const { postgres, temporal, settings } = around;
  const processes = fleet.members.map(({ part }) => part);
  say("PostgreSQL's files and Temporal are lost");
  await Promise.all([postgres, temporal, ...processes].map((part) => part.kill('SIGKILL')));
  await archive.lose();
  const lostAt = Date.now();
  await archive.restore(moment);
  const restoredMs = Date.now() - lostAt;
  say(`PostgreSQL is back after ${restoredMs} ms`);
  const wrong = { ...settings, MASTER_KEYS: `test:${randomBytes(32).toString('base64')}` };
  const wrongAt = Date.now();
  const refusal = await startApi(wrong).then(
    async (part) => {
      await part.stop();
      return 'none: it started';
    },
    (error: Error) => /gatehouse api: (.*)/.exec(error.message)?.[1] ?? error.message,
  );
  const wrongMs = Date.now() - wrongAt;
  await temporal.start();
  await Promise.all(processes.map((part) => part.start()));
  return { refusal, restoredMs, readyMs: Date.now() - lostAt - wrongMs };
}

/**
 * Runs the reconciler more often than in production, where it runs every five minutes and at a worker's start, over
 * rows older than a minute: the drill does not have to wait that long.
 */
function healedBy(address: string) {
  let isOver = false;
  const running = (async () => {
    const connection = await Connection.connect({ address });
    for (; !isOver; await sleep(5_000)) await reconcileNow(new Client({ connection })).catch(() => undefined);
    await connection.close();
  })();
  return {
    async stop(): Promise<void> {
      isOver = true;
      await running;
    },
  };
}

/** Starts a receiver that refuses three messages until told to accept, so that they are pending across the restore. */
async function startRefusing(world: Running) {
  let isRefusing = true;
  const taken: string[] = [];
  const receiver = await startReceiver(({ headers }, _before, response) => {
    if (!isRefusing) taken.push(String(headers['webhook-id']));
    response.writeHead(isRefusing ? 503 : 204).end();
  });
  const wanted = new Set<string>();
  return {
    stop: receiver.stop,
    async begin(): Promise<void> {
      const json = { url: receiver.url('/refusing'), event_types: ['permission.created'] };
      const made = await viaApi(world, 'create webhook', { path: '/webhooks', json });
      dataOf(world, 'subscribe a receiver that refuses', made, 201);
      for (let i = 0; i < 3; i++) {
        const permission = { key: `drill.p${i}`, name: 'A permission' };
        dataOf(world, 'permission', await viaApi(world, 'permission', { path: '/permissions', json: permission }), 201);
      }
      const seen = () => new Set(receiver.at('/refusing').map(({ headers }) => String(headers['webhook-id'])));
      await until('three messages are refused', () => seen().size === 3);
      for (const id of seen()) wanted.add(id);
    },
    relent(): void {
      isRefusing = false;
    },
    async isDone(): Promise<void> {
      await until('what was refused is taken', () => new Set(taken).size === wanted.size);
      if (taken.length !== wanted.size) world.find(`${wanted.size} messages were taken ${taken.length} times`);
      for (const id of taken) if (!wanted.has(id)) world.find(`message ${id} is another one than before the restore`);
    },
  };
}
