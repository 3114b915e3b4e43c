import { setTimeout as sleep } from 'node:timers/promises';
import type { LightMyRequestResponse } from 'fastify';
import type { Db, Statement } from '../../../src/platform/database/db.js';
import { createProcesses, type Processes } from '../../../src/temporal/processes.js';
import { sealing } from '../administrators.js';
import { outcomeOf } from '../answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../api.js';
import { type Call, callsOf } from '../calls.js';
import { patience } from '../patience.js';
import { createRandom, type Random } from '../random.js';
import { rowsOf } from '../rows.js';
import { namespace, startTestTemporal, type TestTemporal } from '../temporal.js';
import { startTestWorker } from '../test-worker.js';
import { Model, schedule, type Told } from './model.js';
import { type Receivers, startReceivers } from './receivers.js';

/** The whole api, a worker that can be stopped and can die, Temporal, and receivers. */
export interface Service {
  api: TestApi;
  temporal: TestTemporal;
  processes: Processes;
  receivers: Receivers;
  deaths: Deaths;
  /** The names of the mails that were sent. */
  mails(): string[];
  startWorker(): void;
  stopWorker(): Promise<void>;
  stop(): Promise<void>;
}

export async function startService(): Promise<Service> {
  const temporal = await startTestTemporal();
  const api = await startApi({ TEMPORAL_ADDRESS: temporal.address, WEBHOOK_ALLOW_PRIVATE_ADDRESSES: 'true' });
  const processes = createProcesses({ address: temporal.address, namespace, apiKey: null });
  const receivers = await startReceivers();
  const deaths = dying(api.database.db);
  const webhooks = { sealing, outbound: receivers.outbound, db: deaths.db };
  const sent: string[] = [];
  const start = () => startTestWorker(api.database, temporal, processes, { webhookRetries: schedule, webhooks });
  let worker: ReturnType<typeof start> | null = start();
  const stopWorker = async () => {
    await worker?.stop();
    sent.push(...(worker?.sent ?? []).map(({ name }) => name));
    worker = null;
  };
  return {
    ...{ api, temporal, processes, receivers, deaths, stopWorker },
    mails: () => [...sent, ...(worker?.sent ?? []).map(({ name }) => name)],
    startWorker() {
      worker ??= start();
    },
    async stop() {
      await receivers.stop();
      await stopWorker();
      await processes.close();
      await api.stop();
      await temporal.stop();
    },
  };
}

type Death = 'before the call' | 'after the answer';
type Deaths = ReturnType<typeof dying>;

/** A worker that dies during the next attempt, as far as its rows can tell: what it would do next does not happen. */
function dying(db: Db) {
  let next: Death | null = null;
  const die = (): never => {
    next = null;
    throw new Error('the worker has died');
  };
  const mortal: Db = Object.assign(Object.create(db), {
    async statement(...sent: Parameters<Db['statement']>) {
      const rows = await db.statement<{ number: number | null }>(...sent);
      const isBegun = sent[0].name === 'begin_webhook_attempt' && rows[0] && rows[0].number !== null;
      return isBegun && next === 'before the call' ? die() : rows;
    },
    async transaction(...sent: Parameters<Db['transaction']>) {
      return next === 'after the answer' ? die() : db.transaction(...sent);
    },
  });
  return {
    db: mortal,
    await(death: Death) {
      next = death;
    },
    isOver: () => next === null,
  };
}

/** An Account with two Environments, what is known of it, and what happens to it. */
export interface World extends Service {
  random: Random;
  account: TestAccount;
  model: Model;
  owner: Call;
  /** The Environments that there are, by their slugs. */
  places: Map<string, string>;
  /** What has happened since the last comparison. */
  happened: Told[];
  seen: Set<string>;
}

export async function newWorld(service: Service, seed: number): Promise<World> {
  service.api.clock.now = new Date();
  const account = await newAccount(service.api);
  const calling = callsOf(service.api, account.accountSlug, await account.as('owner'));
  const owner: Call = (...sent) => {
    service.api.clock.now = new Date();
    return calling(...sent);
  };
  const { scope, productionScope } = account;
  const world: World = {
    ...service,
    ...{ random: createRandom(seed), account, model: new Model(), owner, happened: [], seen: new Set() },
    places: new Map([
      ['development', scope.environmentId],
      ['production', productionScope.environmentId],
    ]),
  };
  await hear(world, 0);
  world.happened = []; // nobody could hear of the Account's beginning
  return world;
}

/** Returns the path of an Environment's operations, or that of the Account's. */
export const pathOf = ({ account, places }: World, environmentId: string | null): string => {
  const [slug] = [...places].find(([, id]) => id === environmentId) ?? [];
  return slug ? `/applications/${account.applicationSlug}/environments/${slug}` : '';
};

/** Returns an answer's data. @throws if it is none of these outcomes */
export function expected<Data = Record<string, unknown>>(answer: LightMyRequestResponse, ...outcomes: string[]): Data {
  const outcome = outcomeOf(answer);
  if (!outcomes.includes(outcome)) throw new Error(`${outcome} instead of ${outcomes.join(', ')}\n${answer.body}`);
  return answer.body ? (answer.json().data ?? answer.json()) : (null as Data);
}

/** Takes in the events that have been recorded. @param from the state of the model before them */
export async function hear(world: World, from: number): Promise<void> {
  const rows = await rowsOf<{ id: string; action: string; environmentId: string | null }>(
    world.api,
    `select id, action, environment_id as "environmentId" from events
     where account_id = $1 and is_domain_event order by transaction_id, created_at, id`,
    [world.account.scope.accountId],
  );
  for (const row of rows) {
    if (world.seen.has(row.id)) continue;
    world.seen.add(row.id);
    world.happened.push({ ...row, from });
  }
}

/** Makes a change and takes it in. */
export async function change<T>(world: World, make: () => Promise<T>): Promise<T> {
  const before = world.model.remember();
  const made = await make();
  await hear(world, before);
  world.model.remember();
  return made;
}

/** Deliveries that are due so soon are waited for. */
const soon = `interval '2s'`;

const unsettled: Statement = {
  name: 'webhook_histories_unsettled',
  text: `
select (select count(*) from webhook_queue) + (select count(*) from outbox where process <> 'emailDelivery')
  + (select count(*) from webhook_attempts where account_id = $1 and duration_ms is null and error is null)
  + (select count(*) from webhook_deliveries d where account_id = $1 and status = 'pending' and next_attempt_at < now() + ${soon}
      and exists (select from webhooks w where w.id = d.webhook_id and w.is_active)
      and not exists (select from webhook_stops s where s.webhook_id = d.webhook_id and s.stopped_at >= coalesce(d.retried_at, d.created_at)))
  + (select count(*) from environment_removals where account_id = $1 and status = 'running') as left`,
};

/** Waits until everything that is due has been done. */
export async function settle({ api, account }: World): Promise<void> {
  let left = '';
  for (const end = Date.now() + patience; Date.now() < end; await sleep(30)) {
    const [row] = await api.database.db.statement<{ left: string }>(unsettled, [account.scope.accountId]);
    left = row?.left ?? '';
    if (left === '0') return;
  }
  throw new Error(`${left} things are not done`);
}

/** What has a time, in tables that have a column for the Account. */
const timed: Record<string, string[]> = {
  webhook_deliveries: ['created_at', 'next_attempt_at', 'retried_at', 'settled_at'],
  webhook_attempts: ['started_at'],
  webhook_stops: ['stopped_at'],
  webhooks: ['failing_since', 'previous_secret_until'],
};

/** Lets time pass, by moving everything into the past, and wakes up the processes whose time has come. */
export async function age(world: World, ms: number): Promise<void> {
  const { api, account, model, temporal } = world;
  const { accountId } = account.scope;
  for (const [table, columns] of Object.entries(timed)) {
    const earlier = columns.map((column) => `${column} = ${column} - $2 * interval '1ms'`).join();
    await rowsOf(api, `update ${table} set ${earlier} where account_id = $1`, [accountId, ms]);
  }
  model.age(ms);
  const due = await rowsOf<{ id: string }>(
    api,
    `select id from webhook_deliveries where account_id = $1 and status = 'pending' and next_attempt_at < now() + interval '15min'`,
    [accountId],
  );
  for (const { id } of due) {
    const handle = temporal.client.workflow.getHandle(`webhook-delivery/${id}`);
    await handle.signal('retryNow').catch(() => undefined); // it has ended: its receiver was switched off
  }
}
