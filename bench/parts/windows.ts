import { setTimeout as sleep } from 'node:timers/promises';
import { v7 as uuidv7 } from 'uuid';
import { Identity } from '../../entities/identity.js';
import { Node } from '../../entities/node.js';
import { Role } from '../../entities/role.js';
import { RoleAssignment } from '../../entities/role-assignment.js';
import { openWindows } from '../../src/domain/access/windows/rows.js';
import { after, hours, seconds } from '../../src/platform/clock.js';
import type { Db } from '../../src/platform/database/db.js';
import { openDb } from '../../src/platform/database/open-db.js';
import { partsOf } from '../../src/platform/parts.js';
import type { EnvironmentScope } from '../../src/platform/scope.js';
import { install } from '../installation.js';
import { newNeighbour } from '../neighbour.js';
import { percentile } from '../percentile.js';
import { markdownTable } from '../report/markdown.js';
import { seed } from '../seed.js';
import type { Surroundings } from '../surroundings.js';
import { cpuOfEach, type DurableCpu, durableCpu } from '../temporal.js';
import { startWorker } from '../worker.js';
import { createEventSource, loneEventsOf } from './deliveries-events.js';

/** What it costs when `ending` roles end at the same moment, like those of contractors at the end of a quarter. */
export interface EndingRoles {
  ending: number;
  /** From the commit of the assignments until each has its workflow. */
  openedMs: number;
  /** Milliseconds from the end to its event. No decision waits for the event: decisions read the window. */
  lateMs: { p50: number; most: number };
  /** Milliseconds from the commit of another Account's event to its delivery meanwhile, with one event per second. */
  neighbourMs: { p50: number; most: number };
  /** CPU time of worker, Temporal and PostgreSQL from the end to the last event; null if not on Linux. */
  cpu: DurableCpu | null;
}

const neighbourEvents = 20;
const toldWithinMs = hours(1);
/** The time in which they must be open, at 25 per second; a slower machine fails, and says how many are not. */
const openingMs = (ending: number) => seconds(20) + ending * 40;

/** Makes `ending` roles end at the same instant, while an unrelated Account has events. */
export async function measureWindows(
  ending: number,
  { stops, say, startTemporal }: Surroundings,
): Promise<EndingRoles> {
  say(`${ending} roles that end together: starting PostgreSQL and a worker`);
  const installation = await install(stops);
  const temporal = await startTemporal(installation);
  const { scope } = await seed(installation.databaseUrl);
  const db = await openDb({ url: installation.databaseUrl, poolSize: 4, applicationName: 'bench', onError: () => {} });
  const worker = await startWorker(installation, { temporal: temporal.address, smtpUrl: 'smtp://127.0.0.1:1' }, stops);
  const neighbour = await createEventSource({
    db,
    installation,
    stops,
    subscriptions: 1,
    scope: await newNeighbour(db),
  });
  try {
    await loneEventsOf(neighbour, 1, 0); // warms up
    const begun = performance.now();
    const endsAt = after(new Date(), openingMs(ending));
    await assign(db, scope, { ending, endsAt });
    await untilStarted(db, endsAt);
    const openedMs = performance.now() - begun;
    say(`open after ${Math.round(openedMs / 1000)} s; waiting for their end`);
    await worker.settles();
    await sleep(Math.max(0, endsAt.getTime() - Date.now()));
    const spent = durableCpu(worker, temporal, installation);
    const told = untilTold(db, scope, ending).then((lateMs) => ({ lateMs, cpu: spent() }));
    const waits = await loneEventsOf(neighbour, neighbourEvents, seconds(1));
    const neighbourMs = { p50: percentile(waits, 0.5), most: Math.max(...waits) };
    return { ending, openedMs, neighbourMs, ...(await told) };
  } finally {
    await worker.stop();
    await db.close();
  }
}

/** Gives `ending` people one role each, all until the same moment. */
async function assign(db: Db, scope: EnvironmentScope, { ending, endsAt }: { ending: number; endsAt: Date }) {
  const { accountId, applicationId, environmentId } = scope;
  const at = new Date();
  const ofAccount = { accountId, createdAt: at, updatedAt: at };
  const role = {
    ...ofAccount,
    id: uuidv7(),
    applicationId,
    environmentId,
    name: 'Contractor',
    isActive: true,
    version: 1,
  };
  const people = Array.from({ length: ending }, (_, i) => ({
    ...ofAccount,
    id: uuidv7(),
    email: `contractor${i}@bench.example`,
    firstName: 'Ana',
    lastName: `Example ${i}`,
    metadata: {},
  }));
  await db.transaction(scope, async (tx) => {
    const { id: nodeId } = await tx.findOneByOrFail(Node, { environmentId });
    await tx.insert(Role, role);
    for (const part of partsOf(people, 1_000)) {
      await tx.insert(Identity, part);
      const assignments = part.map(({ id: identityId }) => ({
        id: uuidv7(),
        accountId,
        environmentId,
        identityId,
        roleId: role.id,
        nodeId,
        effectiveFrom: null,
        effectiveTo: endsAt,
        notifyHolder: false,
        createdAt: at,
        removedAt: null,
      }));
      await tx.insert(RoleAssignment, assignments);
      await openWindows(tx, assignments, at);
    }
  });
}

/** Waits until the relay has started all of them. */
async function untilStarted(db: Db, endsAt: Date): Promise<void> {
  for (let left = 1; left > 0; await sleep(200)) {
    left = (await db.transaction('system', (tx) => tx.query('select count(*)::int as left from outbox')))[0].left;
    if (left > 0 && Date.now() > endsAt.getTime()) throw new Error(`${left} were not open by the moment of their end`);
  }
}

/** Waits until each has had its event. @returns how late the events were, in milliseconds */
async function untilTold(db: Db, { environmentId }: EnvironmentScope, ending: number): Promise<EndingRoles['lateMs']> {
  const text = `select extract(epoch from created_at - (metadata ->> 'at')::timestamptz)::float8 * 1000 as late from events
     where environment_id = $1 and action = 'role_assignment.expired'`;
  const told = () => db.transaction('system', (tx) => tx.query<{ late: number }[]>(text, [environmentId]));
  for (const end = performance.now() + toldWithinMs; ; await sleep(1_000)) {
    const rows = await told();
    if (rows.length === ending) {
      const late = rows.map((row) => row.late);
      return { p50: percentile(late, 0.5), most: late.reduce((most, ms) => Math.max(most, ms), 0) };
    }
    if (performance.now() > end) throw new Error(`only ${rows.length} of ${ending} ends were told`);
  }
}

/** Returns Markdown with a line for each number of roles. */
export function windowsTable(results: readonly EndingRoles[]): string {
  const rows = results.map(({ ending, openedMs, lateMs, neighbourMs, cpu }) =>
    [
      ending,
      `${(openedMs / 1000).toFixed(1)} s`,
      inSeconds(lateMs.p50),
      inSeconds(lateMs.most),
      inSeconds(neighbourMs.p50),
      inSeconds(neighbourMs.most),
      cpuOfEach(cpu, ending),
    ].map(String),
  );
  const headings = [
    'roles that end',
    'to open them',
    'told after: p50',
    'last',
    "another Account's delivery meanwhile: p50",
    'slowest of twenty',
    'CPU ms of each: worker + Temporal + PostgreSQL',
  ];
  return markdownTable(headings, rows);
}

const inSeconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;
