import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '../../src/platform/database/migrations.js';
import { startInbox } from '../../src/platform/embedded/inbox.js';
import { freePort } from '../../src/platform/embedded/ports.js';
import { startPostgres } from '../../src/platform/embedded/postgres.js';
import type { EmbeddedTemporal } from '../../src/platform/embedded/temporal.js';
import { ensureWorkflowBundle } from '../../src/temporal/workflow-bundle.js';
import { newDatabase, serviceUrl } from './database.js';
import { type Part, type Running, restartable, sharedPart } from './parts.js';
import { type ProcessPart, startApi, startWorker } from './service-processes.js';
import { onPostgres, temporalLauncher } from './temporal-launcher.js';

export interface StartService {
  /** Settings of api and worker, over the defaults: `{ REGISTRATION_TTL: '5s' }`. */
  env?: Record<string, string>;
  /**
   * Starts a PostgreSQL server for this service, which can be killed; otherwise uses a database of the run's server.
   */
  ownPostgres?: boolean;
  /** Temporal keeps its histories on disk, where they survive its end; otherwise in memory, which is quicker. */
  keepHistories?: boolean;
  /** The number of apis and of workers; default 1 each. */
  copies?: number;
}

/** What api and worker work with, and the settings that point to it. */
export interface Surroundings {
  baseUrl: string;
  inboxUrl: string;
  temporalAddress: string;
  /** Connects as the service's role, to which row-level security applies. */
  databaseUrl: string;
  ownerUrl: string;
  masterKeys: string;
  /** Settings of api and worker. */
  settings: Record<string, string>;
  temporal: Part;
  inbox: Part;
  postgres: Part;
  /** Stops everything and removes its data, in reverse order of addition. Safe to call twice. */
  stop(): Promise<void>;
  /** Has `stop` stop this part too. */
  stopped<P extends { stop(): Promise<void> }>(part: P): P;
}

export interface Service extends Omit<Surroundings, 'settings' | 'stopped'> {
  api: ProcessPart;
  worker: ProcessPart;
  /** All apis, `api` and `worker` first. Each api has its own address in `healthUrl`, and the issuer of the first. */
  apis: ProcessPart[];
  workers: ProcessPart[];
}

/**
 * Starts the real service as `npm start` does: PostgreSQL, Temporal and an inbox, then the compiled api and worker as
 * separate processes on free ports. Rate limits and the breach check are off unless `env` sets them.
 */
export async function startService({ copies = 1, ...options }: StartService = {}): Promise<Service> {
  const { settings, stopped, ...around } = await startSurroundings(options);
  try {
    await migrate(around.ownerUrl, around.databaseUrl);
    const others = await Promise.all(Array.from({ length: copies - 1 }, () => freePort()));
    const [apis, workers] = await together([
      together([settings.PORT, ...others].map((one) => startApi({ ...settings, PORT: String(one) }).then(stopped))),
      together(Array.from({ length: copies }, () => startWorker(settings).then(stopped))),
    ]);
    return { ...around, api: apis[0] as ProcessPart, worker: workers[0] as ProcessPart, apis, workers };
  } catch (error) {
    await around.stop();
    throw error;
  }
}

/** Starts Temporal, an inbox, and PostgreSQL without a schema unless the run's server is used. */
export async function startSurroundings({
  env = {},
  ownPostgres,
  keepHistories,
}: Omit<StartService, 'copies'> = {}): Promise<Surroundings> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-service-'));
  await chmod(folder, 0o755); // or root's PostgreSQL, which runs as another user, would keep its data elsewhere
  const stops: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= (async () => {
      for (const stopOne of stops.reverse()) await stopOne();
    })();
    return stopping;
  };
  const stopped: Surroundings['stopped'] = (part) => {
    stops.push(part.stop);
    return part;
  };
  try {
    const needsServer = ownPostgres || !process.env.GATEHOUSE_TEST_TEMPLATE;
    const databases = needsServer ? ownDatabase(folder, stops) : sharedDatabase(stops);
    const dataDir = keepHistories ? join(folder, 'temporal') : undefined;
    const [database, temporal, inbox] = await together([
      databases,
      temporalPart({ dataDir, ...(onPostgres && { postgresUrl: (await databases).ownerUrl }) }).then(stopped),
      inboxPart(join(folder, 'inbox')).then(stopped),
      ensureWorkflowBundle(), // here once, instead of in whichever worker starts first
    ]);
    const masterKeys = `test:${randomBytes(32).toString('base64')}`;
    const port = Number(env.PORT ?? (await freePort()));
    const baseUrl = env.BASE_URL ?? `http://localhost:${port}`;
    const settings = {
      DATABASE_URL: database.databaseUrl,
      TEMPORAL_ADDRESS: temporal.first.address,
      SMTP_URL: inbox.first.smtpUrl,
      MASTER_KEYS: masterKeys,
      RATE_LIMITS: 'off',
      BREACH_CHECK_URL: 'off',
      MAX_EVENT_LOOP_DELAY: '0s', // a busy test machine is not an overload
      REQUEST_TIMEOUT: '5m',
      ...env,
      PORT: String(port),
      BASE_URL: baseUrl,
    };
    return {
      ...database,
      baseUrl,
      inboxUrl: inbox.first.webUrl,
      temporalAddress: temporal.first.address,
      masterKeys,
      settings,
      temporal,
      inbox,
      stop,
      stopped,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Waits for all of them even if one fails, so that those that started can be stopped. */
async function together<T extends unknown[]>(starting: [...{ [K in keyof T]: Promise<T[K]> }]): Promise<T> {
  const settled = await Promise.allSettled(starting);
  const failed = settled.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
  if (failed) throw failed.reason;
  return settled.map((result) => (result as PromiseFulfilledResult<unknown>).value) as T;
}

async function sharedDatabase(stops: (() => Promise<unknown>)[]) {
  const { url, ownerUrl, close } = await newDatabase({ poolSize: 1 });
  stops.push(close);
  return {
    databaseUrl: url,
    ownerUrl,
    postgres: sharedPart('PostgreSQL', 'start the service with { ownPostgres: true }'),
  };
}

async function ownDatabase(folder: string, stops: (() => Promise<unknown>)[]) {
  const dataDir = join(folder, 'postgres');
  const postgres = await restartable<Awaited<ReturnType<typeof startPostgres>>>(async (before) =>
    sameAddress(before?.url, await startPostgres({ dataDir, port: before?.port ?? (await freePort()) }), 'url'),
  );
  stops.push(postgres.stop);
  return { databaseUrl: serviceUrl(postgres.first.url), ownerUrl: postgres.first.url, postgres };
}

async function temporalPart(where: Parameters<typeof temporalLauncher>[0]) {
  const { launch, remove } = await temporalLauncher(where);
  const part = await restartable<EmbeddedTemporal>(async (before) =>
    sameAddress(before?.address, await launch(before?.port ?? (onPostgres ? undefined : await freePort())), 'address'),
  );
  const { stop } = part;
  return Object.assign(part, { stop: () => stop().then(remove) });
}

const inboxPart = (mailDir: string) =>
  restartable<Awaited<ReturnType<typeof startInbox>>>(async (before) => {
    const [smtpPort, webPort] = before
      ? [before.smtpUrl, before.webUrl].map((url) => Number(new URL(url).port))
      : [await freePort(), await freePort()];
    return sameAddress(before?.smtpUrl, await startInbox({ mailDir, smtpPort, webPort }), 'smtpUrl');
  });

/** Throws if a restarted part has another address: embedded parts choose another port when theirs is taken. */
function sameAddress<K extends string, R extends Running & Record<K, string>>(
  before: string | undefined,
  now: R,
  key: K,
): R {
  if (before && now[key] !== before) throw new Error(`${before} was taken by something else during the restart`);
  return now;
}
