import type pg from 'pg';
import type { Config } from './config.js';
import { createAccountIntents } from './domain/account-intents/account-intents.js';
import { reportEventFaults } from './domain/event-declarations.js';
import { noteMasterKey, wrongMasterKeys } from './domain/master-keys/required.js';
import { createMfaGraces } from './domain/mfa/grace.js';
import { createSigningKeys } from './domain/oidc/keys.js';
import { createRegistrations } from './domain/registration/registrations.js';
import { createDomainChecks } from './domain/sso/domain-checks.js';
import { type Clock, systemClock } from './platform/clock.js';
import { createSealing } from './platform/crypto/sealing.js';
import type { Db } from './platform/db.js';
import { createDns } from './platform/dns.js';
import { keepsItsSession } from './platform/kept-connections.js';
import { createLog } from './platform/log.js';
import { pendingMigrations } from './platform/migrations.js';
import { createResolveName } from './platform/outbound/names.js';
import { StartError } from './platform/start-error.js';
import { startTracing, traceOfLine } from './platform/tracing.js';
import { tracedDns } from './platform/tracing-calls.js';

export interface CommonDeps {
  config: Pick<
    Config,
    | 'masterKeys'
    | 'baseUrl'
    | 'registration'
    | 'intentTtlMs'
    | 'mfaGraceReminders'
    | 'dnsServers'
    | 'domainSchedule'
    | 'outboundNetworks'
    | 'signingKeyBits'
  >;
  db: Db;
  now: Clock;
}

/** The log of a process, and its traces where the settings ask for them: before any part of it is put together. */
export async function startLog(process: 'api' | 'worker', { logLevel, traces }: Pick<Config, 'logLevel' | 'traces'>) {
  const log = createLog(process, logLevel, traces ? traceOfLine : undefined);
  if (traces) await startTracing({ ...traces, serviceName: `gatehouse-${process}`, log });
  logEventFaults(log);
  return log;
}

/** A process of the service goes on where a test would fail. */
const logEventFaults = (log: { error(fields: object, message: string): void }): void =>
  reportEventFaults((fault) => log.error({ fault }, 'an event is not as declared'));

type OfDatabase = Pick<Config, 'masterKeys' | 'baseUrl' | 'signingKeyBits'>;

/**
 * @throws StartError where the database is not one that this version, with this role and these master keys, can work on. The very
 *   first start makes the first signing key, so that every later one, also one at the same time, is held to its master keys.
 */
export async function checkDatabase(db: Db, { masterKeys, baseUrl, signingKeyBits }: OfDatabase): Promise<void> {
  await assertSessions(db);
  const pending = await pendingMigrations(db.source);
  if (pending.length > 0) throw new StartError(`the schema is old (${pending.join(', ')}): run npm run migrate`);
  const [role] = await db.source.query<{ user: string; bound: boolean }[]>(whoWeAre);
  if (!role?.bound) {
    throw new StartError(
      `DATABASE_URL names ${role?.user}, which row-level security does not bind: use a role that is no superuser and owns nothing`,
    );
  }
  const deps = { db, sealing: createSealing(masterKeys), now: systemClock };
  const keys = createSigningKeys({ ...deps, issuer: baseUrl, keyBits: signingKeyBits });
  await assertMasterKeys(deps);
  await keys.jwks();
  await assertMasterKeys(deps); // of those that begin at the same time, one has made it
  await noteMasterKey(deps);
  await assertMasterKeys(deps);
}

async function assertMasterKeys(deps: Parameters<typeof wrongMasterKeys>[0]): Promise<void> {
  const reason = await wrongMasterKeys(deps);
  if (reason) throw new StartError(reason);
}

/** With one of either pool, since each may have a single one. */
async function assertSessions({ pool, source }: Db): Promise<void> {
  const [one, other] = [await pool.connect(), source.createQueryRunner()];
  try {
    const transactions = (await other.connect()) as pg.PoolClient;
    if (await keepsItsSession(one, transactions)) return;
    throw new StartError(
      'PostgreSQL is behind a pooler in transaction mode: use its session mode, or connect directly',
    );
  } finally {
    one.release();
    await other.release();
  }
}

/** Owners of a table, superusers and roles with BYPASSRLS see every tenant's rows. */
const whoWeAre = `select current_user as "user", row_security_active('accounts') as bound`;

/** Which URLs of tenants are called, and how their names are looked up. */
export const whatIsCallable = (config: Pick<Config, 'outboundNetworks' | 'outboundHosts' | 'dnsServers'>) => ({
  allowedNetworks: config.outboundNetworks,
  allowedHosts: config.outboundHosts,
  resolveName: createResolveName({ servers: config.dnsServers }),
});

/** What api and worker have alike: one writes what the other reads, so both make it from the same settings. */
export function composeCommon({ config, db, now }: CommonDeps) {
  const { masterKeys, baseUrl, signingKeyBits: keyBits, registration, intentTtlMs } = config;
  const sealing = createSealing(masterKeys);
  return {
    sealing,
    keys: createSigningKeys({ db, sealing, issuer: baseUrl, keyBits, now }),
    registrations: createRegistrations({ db, sealing, now, intentTtlMs, ...registration }),
    accountIntents: createAccountIntents({ db, sealing, now, intentTtlMs }),
    graces: createMfaGraces({ db, now, reminders: config.mfaGraceReminders }),
    domainChecks: createDomainChecks({
      db,
      now,
      dns: tracedDns(createDns({ servers: config.dnsServers, allowedNetworks: config.outboundNetworks })),
      schedule: config.domainSchedule,
    }),
  };
}
