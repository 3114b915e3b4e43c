import { join } from 'node:path';
import { searchAttributes } from '../../workflows/search-attributes.js';
import type { Config } from '../config.js';
import { startInbox } from '../platform/embedded/inbox.js';
import { startLastingTemporal } from '../platform/embedded/lasting-temporal.js';
import { configuredPort } from '../platform/embedded/ports.js';
import { startPostgres } from '../platform/embedded/postgres.js';
import { findTemporalCli } from '../platform/embedded/temporal-cli.js';
import { findTemporalPrograms } from '../platform/embedded/temporal-programs.js';
import { startTemporalServer } from '../platform/embedded/temporal-server.js';
import { StartError } from '../platform/start-error.js';
import type { DevSecrets } from './secrets.js';
import type { Stops } from './stops.js';

/** The addresses of PostgreSQL, Temporal and the inbox, embedded here or configured elsewhere. */
export interface Parts {
  ownerUrl: string;
  databaseUrl: string;
  temporalAddress: string;
  temporalUiUrl: string | null;
  smtpUrl: string;
  inboxUrl: string | null;
}

export interface Starting {
  stops: Stops;
  say(line: string): void;
}

/** The composition of an installation on this machine. */
export interface Layout {
  /** Temporal's development server, or a server that stores its data in the service's PostgreSQL. */
  temporal: 'dev server' | 'on PostgreSQL';
  /** How many apis, and how many workers, there are. */
  copies: number;
}

/** Starts the parts that are not configured, in parallel unless one needs another. */
export async function startParts(
  config: Config,
  secrets: DevSecrets,
  starting: Starting,
  { temporal: kind }: Layout,
): Promise<Parts> {
  const databases = databaseOf(config, secrets, starting);
  const started = await Promise.allSettled([
    databases,
    kind === 'dev server'
      ? temporalOf(config, starting)
      : databases.then(({ ownerUrl }) => temporalServerOf(config, ownerUrl, starting)),
    inboxOf(config, starting),
  ]);
  const failed = started.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
  if (failed) throw failed.reason;
  const [database, temporal, inbox] = started.map((result) => (result as PromiseFulfilledResult<object>).value);
  return { ...database, ...temporal, ...inbox } as Parts;
}

async function databaseOf({ database, dataDir }: Config, { servicePassword }: DevSecrets, { stops, say }: Starting) {
  if (database.url) {
    if (!database.ownerUrl)
      throw new StartError('DATABASE_OWNER_URL is required with DATABASE_URL, for the migrations');
    return { databaseUrl: database.url, ownerUrl: database.ownerUrl };
  }
  const postgres = await startPostgres({ dataDir: join(dataDir, 'postgres'), log: say });
  stops.add({ name: 'PostgreSQL', ...postgres });
  const service = new URL(postgres.url);
  service.username = 'gatehouse_service';
  service.password = servicePassword;
  return { databaseUrl: service.href, ownerUrl: postgres.url };
}

async function temporalOf({ temporal, dataDir }: Config, { stops, say }: Starting) {
  if (temporal.address) return { temporalAddress: temporal.address, temporalUiUrl: null };
  const cliPath = await findTemporalCli({ configuredPath: temporal.cliPath ?? undefined, onProgress: say });
  if (process.env.TEMPORAL_UI_PORT) await configuredPort(temporal.uiPort, 'TEMPORAL_UI_PORT');
  const server = await startLastingTemporal({
    cliPath,
    namespace: temporal.namespace,
    dataDir: join(dataDir, 'temporal'),
    uiPort: temporal.uiPort,
    searchAttributes,
    log: say,
  });
  stops.add({ name: 'Temporal', ...server });
  return { temporalAddress: server.address, temporalUiUrl: server.uiUrl };
}

async function temporalServerOf({ temporal, dataDir }: Config, postgresUrl: string, { stops, say }: Starting) {
  if (temporal.address) return { temporalAddress: temporal.address, temporalUiUrl: null };
  const server = await startTemporalServer({
    programs: await findTemporalPrograms({ configured: temporal.programs, onProgress: say }),
    databases: { postgresUrl },
    namespace: temporal.namespace,
    dataDir: join(dataDir, 'temporal-server'),
    log: say,
  });
  stops.add({ name: 'Temporal', ...server });
  return { temporalAddress: server.address, temporalUiUrl: null };
}

async function inboxOf({ mail, dataDir }: Config, { stops, say }: Starting) {
  if (mail.smtpUrl) return { smtpUrl: mail.smtpUrl, inboxUrl: null };
  if (process.env.INBOX_PORT) await configuredPort(mail.inboxPort, 'INBOX_PORT');
  const inbox = await startInbox({ webPort: mail.inboxPort, mailDir: join(dataDir, 'mails'), log: say });
  stops.add({ name: 'inbox', ...inbox });
  return { smtpUrl: inbox.smtpUrl, inboxUrl: inbox.webUrl };
}
