import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import { composeShared, outboundGuardOptions, readinessChecks } from './compose-shared.js';
import type { Config } from './config.js';
import { createAssignments } from './domain/access/assignments/assignments.js';
import { createProductionGuard } from './domain/access/assignments/production-people.js';
import { createTakeoverGuard } from './domain/access/assignments/takeover.js';
import { createEvaluation } from './domain/access/decisions/evaluate.js';
import { createExplanations } from './domain/access/decisions/explain.js';
import { createSearch } from './domain/access/decisions/search.js';
import { createRights } from './domain/access/rights.js';
import { createPermissionCatalog } from './domain/access/roles/catalog.js';
import { createRoles } from './domain/access/roles/roles.js';
import { createAccessSetup } from './domain/access/roles/setup.js';
import { createAccounts } from './domain/accounts/account.js';
import { createMemberMfaReset } from './domain/accounts/member-mfa.js';
import { createAccountMembers } from './domain/accounts/members.js';
import { createAdministratorRoles } from './domain/accounts/roles.js';
import { createAdministratorInvites } from './domain/administrator-invites/administrator-invites.js';
import { createApiKeyManagement } from './domain/api-keys/api-keys.js';
import { createApiKeyAuthentication } from './domain/api-keys/authenticate.js';
import { createApplications } from './domain/applications/applications.js';
import { createAuditLog } from './domain/audit/audit-log.js';
import { cachedCredentialsChannel } from './domain/cached-credentials.js';
import { createChangeFeed } from './domain/changes/feed.js';
import { createEnvironments } from './domain/environments/environments.js';
import { createEnvironmentSettings } from './domain/environments/settings.js';
import { changesChannel } from './domain/events/record.js';
import { createHierarchy } from './domain/hierarchy/hierarchy.js';
import { createNodeTypeSchemas } from './domain/hierarchy/schema.js';
import { createIdempotentRequests } from './domain/idempotency.js';
import { createIdentityAdministration } from './domain/identities/administration.js';
import { createBulkIdentities } from './domain/identities/bulk.js';
import { createDirectory } from './domain/identities/directory.js';
import { createIdentities } from './domain/identities/identities.js';
import { createAccountIdentityInvites } from './domain/identity-invites/account-invites.js';
import { createIdentityInvites } from './domain/identity-invites/identity-invites.js';
import { withdrawFromMember } from './domain/identity-invites/issue.js';
import { createOrganizationInvitations } from './domain/identity-invites/organization-invitations.js';
import { createMailingInvite } from './domain/invites/mails-to-address.js';
import { createBroadReads } from './domain/limits/broad-reads.js';
import { connectionsInTurn } from './domain/limits/connection-turns.js';
import { createLargeMessages } from './domain/limits/large-messages.js';
import { createApiLogins } from './domain/logins/api-logins.js';
import { createLogins } from './domain/logins/logins.js';
import { createGraceStarts } from './domain/mfa/grace/start-grace.js';
import { createClientManagement } from './domain/oidc/clients/management.js';
import { createProvider } from './domain/oidc/provider.js';
import { createRefreshTokens } from './domain/oidc/tokens/refresh-tokens.js';
import { createAuthenticationPolicies } from './domain/organizations/authentication-policies.js';
import { createMemberships } from './domain/organizations/memberships.js';
import { createOrganizations } from './domain/organizations/organizations.js';
import { createStrangerGuard } from './domain/organizations/strangers.js';
import { createPasswords } from './domain/passwords/passwords.js';
import { tracedPasswords } from './domain/passwords/traced.js';
import { createAccountProcesses } from './domain/processes/account-processes.js';
import { createScimGroupMappings } from './domain/scim/groups/mappings.js';
import { createScim } from './domain/scim/scim.js';
import { createScimTokens } from './domain/scim/tokens.js';
import { createSsoConnections } from './domain/sso-connections/connections.js';
import { createSsoRecoveryCodes } from './domain/sso-connections/recovery-codes.js';
import { createSsoDomains } from './domain/sso-domains/domains.js';
import { createSso } from './domain/sso-sign-in/sso.js';
import { createApplicationStates } from './domain/users/application-state.js';
import { createUsers } from './domain/users/users.js';
import { createWebhookDeliveryLog } from './domain/webhooks/delivery-log.js';
import { createWebhooks } from './domain/webhooks/webhooks.js';
import { adminAuth } from './http/admin-auth/index.js';
import { buildApp } from './http/app.js';
import { mountAuthzen } from './http/authzen/index.js';
import { identityAuth } from './http/identity-auth/index.js';
import { createHttpMetrics, watchQueues } from './http/metrics.js';
import { oauth } from './http/oauth/index.js';
import { mountPortalApi } from './http/portal-api.js';
import { createAdminPrincipals } from './http/principals/admin.js';
import { createPublicPrincipals } from './http/principals/public.js';
import { mountPublicApi } from './http/public-api.js';
import { scim } from './http/scim/index.js';
import { sso as ssoPages } from './http/sso/index.js';
import { createRateLimits } from './http/surfaces/rate-limits.js';
import { wellKnown } from './http/well-known.js';
import { createCaptcha } from './platform/captcha.js';
import { type Clock, systemClock } from './platform/clock.js';
import type { Db } from './platform/database/db.js';
import { listenToChannel } from './platform/database/listen.js';
import { createNotificationWaiters } from './platform/database/notifications.js';
import { notingOutages } from './platform/metrics/metrics.js';
import { createRegistry, watchPools } from './platform/metrics/server.js';
import { createOutbound } from './platform/outbound/fetch.js';
import { createGuard } from './platform/outbound/guard.js';
import { watchReadiness } from './platform/readiness.js';
import { tracedCaptcha, tracedOutbound } from './platform/tracing/traced-calls.js';
import type { Services } from './services.js';
import { createProcesses } from './temporal/processes.js';

export interface ComposedApi {
  app: FastifyInstance;
  services: Services;
  registry: Registry;
  /** Makes load balancers send requests elsewhere from now on; requests that still arrive are answered. */
  leave(): void;
  /** Closes what `db` does not own. */
  close(): Promise<void>;
}

/** Composes the api from its settings, from top to bottom: each line only uses those above it. */
export async function composeApi(
  config: Config,
  opened: Db,
  log: FastifyBaseLogger,
  now: Clock = systemClock,
): Promise<ComposedApi> {
  const { adminAppUrl, baseUrl, rateLimits } = config;
  const db = connectionsInTurn(opened);
  const registry = createRegistry('api');
  watchPools(registry, db);
  const { sealing, keys, registrations, accountIntents, graces, domainChecks } = composeShared({ config, db, now });
  const refreshTokens = createRefreshTokens({ db, sealing, now });
  const passwords = tracedPasswords(
    createPasswords({
      breachUrl: config.breachUrl,
      hashing: config.hashing,
      onOutage: notingOutages(log, 'breach_check'),
    }),
  );
  const broadReads = createBroadReads({ poolSize: config.database.poolSize });
  watchQueues(registry, { passwords: passwords.load, broadReads: broadReads.load });
  const processes = createProcesses({ ...config.temporal, address: config.temporal.address as string });
  const onRehashError = (error: unknown) => log.warn({ err: error }, 'a password could not be rehashed');
  const users = createUsers({
    db,
    keys,
    refreshTokens,
    sealing,
    passwords,
    onRehashError,
    registrations,
    accountIntents,
    processes,
    rateLimits,
    totpDriftSteps: config.adminTotpDriftSteps,
    baseUrl,
    now,
  });
  const apiKeys = createApiKeyAuthentication({ db, now });
  const url = config.database.url as string;
  const changes = createNotificationWaiters({ url, channel: changesChannel, log });
  const callable = outboundGuardOptions(config);
  const outbound = tracedOutbound(createOutbound(callable));
  const guard = createGuard(callable);
  const logins = createLogins({
    db,
    sealing,
    passwords,
    graces: createGraceStarts({ db, graces, processes, now }),
    rateLimits,
    baseUrl,
    onRehashError,
    now,
  });
  const provider = createProvider({ db, keys, refreshTokens, outbound, baseUrl, now });
  const forgetCached = () => {
    apiKeys.forget();
    provider.clients.forget();
  };
  const changedCredentials = listenToChannel({ url, channel: cachedCredentialsChannel, onWake: forgetCached, log });
  const sso = createSso({ db, sealing, outbound, passwords, users, baseUrl, rateLimits, now });
  const apiLogins = createApiLogins({ db, sealing, passwords, logins, provider, now });
  const captcha = tracedCaptcha(
    createCaptcha({
      ...config.turnstile,
      onOutage: notingOutages(log, 'captcha'),
    }),
  );

  const mailing = createMailingInvite({ db, rateLimits });
  const administratorInvites = createAdministratorInvites({ db, sealing, now, ttlMs: config.inviteTtlMs, mailing });
  const evaluation = createEvaluation({ db, now });
  const rights = createRights({ db, evaluation, now });
  const assignments = createAssignments({ db, evaluation, rights, now });
  const inviting = { db, sealing, assignments, mailing, now, ttlMs: config.inviteTtlMs };
  const identityInvites = createIdentityInvites(inviting);
  const connecting = { db, sealing, guard, outbound, assignments, baseUrl, now };
  const hasCaptcha = captcha.siteKey !== null;
  const services: Services = {
    accessSearch: createSearch({ db, now }),
    accessSetup: createAccessSetup({ db, now }),
    db,
    accountMembers: createAccountMembers({ db, administratorInvites }),
    accounts: createAccounts({ db, now }),
    accountProcesses: createAccountProcesses({
      db,
      now,
      processes,
      administratorInvites,
      mfaReminders: config.mfaGraceReminders,
      roleNotices: config.roleAssignmentNotices,
      domainSchedule: config.domainSchedule,
      temporalUi: { url: config.temporal.uiUrl, namespace: config.temporal.namespace },
    }),
    administratorInvites,
    accountIdentityInvites: createAccountIdentityInvites({ db, identityInvites }),
    administratorRoles: createAdministratorRoles({ db, now }),
    apiKeyManagement: createApiKeyManagement({ db, evaluation, now, forgetCached }),
    assertMayTakeOver: createTakeoverGuard({ db, evaluation, assertRecent: apiLogins.assertRecentOn, now }),
    assertNoStranger: createStrangerGuard({ db, rights }),
    assertStaysInTest: createProductionGuard({ db }),
    assignments,
    authenticationPolicies: createAuthenticationPolicies({ db }),
    broadReads,
    ...createLargeMessages(),
    bulkIdentities: createBulkIdentities({ db, sealing, passwords, assignments, now }),
    applicationStates: createApplicationStates({ db, now }),
    applications: createApplications({ db, now }),
    auditLog: createAuditLog({ db, broadReads }),
    changeFeed: createChangeFeed({ db, notifications: changes }),
    clientManagement: createClientManagement({ db, now, guard, forgetCached }),
    directory: createDirectory({ db, now, processes }),
    environmentSettings: createEnvironmentSettings({ db, graces, hasCaptcha, forgetCached, now }),
    environments: createEnvironments({ db, now }),
    evaluation,
    explanations: createExplanations({ db, now }),
    hierarchy: createHierarchy({ db, now }),
    nodeTypeSchemas: createNodeTypeSchemas({ db, now }),
    idempotentRequests: createIdempotentRequests({ db, sealing, requestMs: config.requestTimeoutMs }),
    identities: createIdentities({ db, now, passwords }),
    identityAdministration: createIdentityAdministration({ ...logins, db, sealing, passwords, processes, now }),
    identityInvites,
    memberships: createMemberships({ db, assignments, endInvitations: withdrawFromMember, now }),
    organizationInvitations: createOrganizationInvitations(inviting),
    organizations: createOrganizations({ db, now }),
    permissionCatalog: createPermissionCatalog({ db, now }),
    resetMemberMfa: createMemberMfaReset({ db, now }),
    rights,
    roles: createRoles({ db, evaluation, now }),
    scimGroupMappings: createScimGroupMappings({ db, assignments, now }),
    scimTokens: createScimTokens({ db, now }),
    ssoConnections: createSsoConnections({ ...connecting, forgetCached }),
    ssoDomains: createSsoDomains({ db, now, schedule: config.domainSchedule, checks: domainChecks, processes }),
    ssoRecoveryCodes: createSsoRecoveryCodes({ db, passwords, now }),
    ssoTests: sso.tests,
    webhookDeliveryLog: createWebhookDeliveryLog({ db, rateLimits, now, processes }),
    webhooks: createWebhooks({ db, sealing, now, guard }),
  };

  const limits = createRateLimits({ enabled: config.rateLimits, db, perMinute: config.requestsPerMinute });
  const admins = createAdminPrincipals({ tokens: users.tokens, portal: users.portal, limits });
  const callers = createPublicPrincipals({ apiKeys, identityTokens: provider.accessTokens, limits });

  const checks = readinessChecks({ db, processes });
  watchReadiness(registry, checks);

  let isStopping = false;
  const app = await buildApp({
    baseUrl,
    logger: log,
    trustProxy: config.trustProxy,
    answerWithinMs: config.requestTimeoutMs,
    metrics: createHttpMetrics(registry),
    shedding: { ...config.overload, registry, log, waitingForDatabase: db.waiting, isHashingFull: passwords.isFull },
    isStopping: () => isStopping,
    health: { checks, dispensable: ['temporal'] }, // the outbox keeps what waits for it
    surfaces: [
      async (surface) => surface.register(wellKnown, { baseUrl, keys }),
      async (surface) => surface.register(oauth, { provider, logins, sso, captcha, limits }),
      async (surface) => surface.register(ssoPages, { provider, logins, sso, captcha, limits, adminAppUrl }),
      async (surface) => {
        const { idempotentRequests } = services;
        const options = { users, sso, admins, limits, idempotentRequests, baseUrl, adminAppUrl, now };
        await surface.register(adminAuth, { prefix: '/v1/auth', ...options });
      },
      async (surface) => {
        const { idempotentRequests } = services;
        const { leaving } = sso;
        const options = { provider, logins, api: apiLogins, leaving, captcha, limits, idempotentRequests };
        await surface.register(identityAuth, { prefix: '/v1/identity/auth', ...options });
      },
      async (surface) => {
        surface.addHook('preClose', changes.stop); // answers the requests that wait for a change
        mountPublicApi(surface, { principals: callers, provider, services });
      },
      async (surface) => mountAuthzen(surface, { principals: callers, services, baseUrl }),
      async (surface) => mountPortalApi(surface, { admins, services, pages: { baseUrl, adminAppUrl } }),
      async (surface) => {
        const directories = createScim({ db, broadReads, assignments, processes, now });
        await surface.register(scim, { prefix: '/scim/v2', ...directories, limits, baseUrl });
      },
    ],
  });
  return {
    app,
    services,
    registry,
    leave() {
      isStopping = true;
    },
    close: async () =>
      void (await Promise.all([processes.close(), outbound.close(), changedCredentials.stop(), changes.stop()])),
  };
}
