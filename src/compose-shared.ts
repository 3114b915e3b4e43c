import type { Config } from './config.js';
import { createAccountIntents } from './domain/account-intents/account-intents.js';
import { createMfaGraces } from './domain/mfa/grace/grace.js';
import { createSigningKeys } from './domain/oidc/keys.js';
import { createRegistrations } from './domain/registration/registrations.js';
import { createDomainChecks } from './domain/sso-domains/checks.js';
import type { Clock } from './platform/clock.js';
import { createSealing } from './platform/crypto/sealing.js';
import type { Db } from './platform/database/db.js';
import { isUpToDate } from './platform/database/migrations.js';
import { createDns } from './platform/dns.js';
import { createResolveName } from './platform/outbound/names.js';
import type { ReadinessChecks } from './platform/readiness.js';
import { tracedDns } from './platform/tracing/traced-calls.js';

export interface SharedDeps {
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

/** Returns which of the tenants' URLs may be called, and how their names are resolved. */
export const outboundGuardOptions = (config: Pick<Config, 'outboundNetworks' | 'outboundHosts' | 'dnsServers'>) => ({
  allowedNetworks: config.outboundNetworks,
  allowedHosts: config.outboundHosts,
  resolveName: createResolveName({ servers: config.dnsServers }),
});

/** Composes what api and worker share: one reads what the other writes, so both use the same settings. */
export function composeShared({ config, db, now }: SharedDeps) {
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

/** Returns how to find out about each part that api and worker need. */
export const readinessChecks = ({
  db,
  processes,
}: {
  db: Pick<Db, 'ping' | 'statement'>;
  processes: { ping(): Promise<void> };
}) =>
  ({
    database: async () => db.ping().then(() => 'ok'),
    migrations: async () => ((await isUpToDate(db)) ? 'ok' : 'outdated'),
    temporal: async () => processes.ping().then(() => 'ok'),
  }) satisfies ReadinessChecks;
