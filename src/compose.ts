import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import type { Config } from './config.js';
import { createAccountIntents } from './domain/account-intents/account-intents.js';
import { createAccounts } from './domain/accounts/account.js';
import { createAccountMembers } from './domain/accounts/members.js';
import { createAdministratorRoles } from './domain/accounts/roles.js';
import { createApiKeyManagement } from './domain/api-keys/api-keys.js';
import { createApiKeyAuthentication } from './domain/api-keys/authenticate.js';
import { createApplications } from './domain/applications/applications.js';
import { createEnvironments } from './domain/environments/environments.js';
import { createEnvironmentSettings } from './domain/environments/settings.js';
import { createIdempotentRequests } from './domain/idempotency.js';
import { createIdentities } from './domain/identities/identities.js';
import { createAdministratorInvites } from './domain/invites/administrator-invites.js';
import { createAttempts } from './domain/logins/attempts.js';
import { createPasswordLogin } from './domain/logins/password.js';
import { createClientManagement } from './domain/oidc/client-management.js';
import { createSigningKeys } from './domain/oidc/keys.js';
import { createProvider } from './domain/oidc/provider.js';
import { createRefreshTokens } from './domain/oidc/refresh-tokens.js';
import { createPasswords } from './domain/passwords/passwords.js';
import { createAccountProcesses } from './domain/processes/account-processes.js';
import { createRegistrations } from './domain/registration/registrations.js';
import { createApplicationStates } from './domain/users/application-state.js';
import { createUsers } from './domain/users/users.js';
import { adminAuth } from './http/admin-auth/index.js';
import { buildApp } from './http/app.js';
import { createHttpMetrics } from './http/metrics.js';
import { oauth } from './http/oauth/index.js';
import { mountPortalApi } from './http/portal-api.js';
import { createAdminPrincipals } from './http/principals/admin.js';
import { createPublicPrincipals } from './http/principals/public.js';
import { mountPublicApi } from './http/public-api.js';
import { createRateLimits } from './http/rate-limits.js';
import { wellKnown } from './http/well-known.js';
import { type Clock, systemClock } from './platform/clock.js';
import { createSealing } from './platform/crypto/sealing.js';
import type { Db } from './platform/db.js';
import { createRegistry } from './platform/metrics-server.js';
import { pendingMigrations } from './platform/migrations.js';
import { createOutbound } from './platform/outbound/fetch.js';
import { createProcesses } from './platform/processes.js';
import type { Services } from './services.js';

export interface ComposedApi {
  app: FastifyInstance;
  services: Services;
  registry: Registry;
  /** Lets go of what `db` does not own. */
  close(): Promise<void>;
}

/** The api, from its settings: reads top to bottom, each line given what stands above it. */
export async function composeApi(
  config: Config,
  db: Db,
  log: FastifyBaseLogger,
  now: Clock = systemClock,
): Promise<ComposedApi> {
  const { baseUrl } = config;
  const registry = createRegistry('api');
  const sealing = createSealing(config.masterKeys);
  const keys = createSigningKeys({ db, sealing, issuer: baseUrl, now });
  const refreshTokens = createRefreshTokens({ db, sealing, now });
  const passwords = createPasswords({
    breachUrl: config.breachUrl,
    onOutage: () => log.warn('the breach check does not answer; the bundled list of common passwords decides'),
  });
  const processes = createProcesses({ ...config.temporal, address: config.temporal.address as string });
  const registrations = createRegistrations({
    db,
    sealing,
    now,
    intentTtlMs: config.intentTtlMs,
    ...config.registration,
  });
  const { intentTtlMs, rateLimits } = config;
  const accountIntents = createAccountIntents({ db, sealing, now, intentTtlMs });
  const users = createUsers({
    db,
    keys,
    refreshTokens,
    sealing,
    passwords,
    registrations,
    accountIntents,
    processes,
    rateLimits,
    baseUrl,
    now,
  });
  const apiKeys = createApiKeyAuthentication({ db, now });
  const outbound = createOutbound({ allowedNetworks: config.outboundNetworks });
  const passwordLogin = createPasswordLogin({
    db,
    passwords,
    attempts: createAttempts({ db, enabled: config.rateLimits }),
    onRehashError: (error) => log.warn({ err: error }, 'a password could not be rehashed'),
  });
  const provider = createProvider({ db, keys, refreshTokens, passwordLogin, outbound, baseUrl, now });

  const administratorInvites = createAdministratorInvites({ db, sealing, now, ttlMs: config.inviteTtlMs });
  const services: Services = {
    db,
    accountMembers: createAccountMembers({ db }),
    accounts: createAccounts({ db, now }),
    accountProcesses: createAccountProcesses({
      db,
      now,
      processes,
      administratorInvites,
      mfaReminders: config.mfaGraceReminders,
      temporalUi: { url: config.temporal.uiUrl, namespace: config.temporal.namespace },
    }),
    administratorInvites,
    administratorRoles: createAdministratorRoles({ db, now }),
    apiKeyManagement: createApiKeyManagement({ db, now }),
    applicationStates: createApplicationStates({ db, now }),
    applications: createApplications({ db, now }),
    clientManagement: createClientManagement({ db, now }),
    environmentSettings: createEnvironmentSettings({ db, now }),
    environments: createEnvironments({ db, now }),
    idempotentRequests: createIdempotentRequests({ db, sealing, now }),
    identities: createIdentities({ db, now, passwords }),
  };

  const limits = createRateLimits({ enabled: config.rateLimits, db, perMinute: config.requestsPerMinute });
  const admins = createAdminPrincipals({ tokens: users.tokens, portal: users.portal, limits });
  const callers = createPublicPrincipals({ apiKeys, identityTokens: provider.accessTokens, limits });

  const app = await buildApp({
    baseUrl,
    logger: log,
    trustProxy: config.trustProxy,
    metrics: createHttpMetrics(registry),
    health: {
      dispensable: ['temporal'], // what waits for it is kept in the outbox
      checks: {
        database: async () => db.ping().then(() => 'ok'),
        migrations: async () => ((await pendingMigrations(db.source)).length === 0 ? 'ok' : 'outdated'),
        temporal: async () => processes.ping().then(() => 'ok'),
      },
    },
    surfaces: [
      async (surface) => surface.register(wellKnown, { baseUrl, keys }),
      async (surface) => surface.register(oauth, { provider, limits }),
      async (surface) => {
        const { idempotentRequests } = services;
        const options = { users, admins, limits, idempotentRequests, baseUrl, adminAppUrl: config.adminAppUrl };
        await surface.register(adminAuth, { prefix: '/v1/auth', ...options });
      },
      async (surface) => mountPublicApi(surface, callers, services),
      async (surface) => mountPortalApi(surface, admins, services),
    ],
  });
  return {
    app,
    services,
    registry,
    close: async () => void (await Promise.all([processes.close(), outbound.close()])),
  };
}
