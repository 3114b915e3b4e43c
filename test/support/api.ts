import { randomBytes } from 'node:crypto';
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify';
import { type Logger, pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { AdministratorRole, type AdministratorRoleKey } from '../../entities/administrator-role.js';
import { Membership } from '../../entities/membership.js';
import { MembershipRole } from '../../entities/membership-role.js';
import { User } from '../../entities/user.js';
import { UserSession } from '../../entities/user-session.js';
import { type ComposedApi, composeApi } from '../../src/compose.js';
import { loadConfig } from '../../src/config.js';
import { provisionAccount } from '../../src/domain/accounts/provisioning.js';
import { createSigningKeys } from '../../src/domain/oidc/keys.js';
import { createAdminTokens } from '../../src/domain/users/admin-tokens.js';
import { createSealing } from '../../src/platform/crypto/sealing.js';
import type { EnvironmentScope } from '../../src/platform/scope.js';
import { checkAgainstDocument } from './conformance.js';
import { newDatabase, type TestDatabase } from './database.js';
import { keyKeeper } from './key-keeper.js';
import { patience } from './patience.js';

export const baseUrl = 'http://localhost:3000';

export interface TestApi extends ComposedApi {
  database: TestDatabase;
  /** Advances the clock that the api's rules read. */
  clock: { now: Date; advance(ms: number): void };
  stop(): Promise<void>;
}

/**
 * Starts the whole api in this process, on its own database; tests inject requests. There is no Temporal.
 * @param log for tests of what is logged
 * @param shared the database of another api, which has to stop after this one
 */
export async function startApi(
  env: Record<string, string> = {},
  log: Logger = pino({ level: process.env.TEST_LOG ?? 'silent' }),
  shared?: TestDatabase,
): Promise<TestApi> {
  const database = shared ?? (await newDatabase());
  const config = loadConfig('api', {
    NODE_ENV: 'test',
    BASE_URL: baseUrl,
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    MASTER_KEYS: `test:${Buffer.alloc(32, 7).toString('base64')}`,
    BREACH_CHECK_URL: 'off',
    RATE_LIMITS: 'off',
    MAX_EVENT_LOOP_DELAY: '0s', // a busy test machine is not an overload
    REQUEST_TIMEOUT: '5m',
    DNS_SERVERS: '127.0.0.1:1', // nothing listens: tests ask no real DNS
    ...env,
  });
  const clock = {
    now: new Date(),
    advance(ms: number) {
      clock.now = new Date(clock.now.getTime() + ms);
    },
  };
  const composed = await composeApi(config, database.db, log, () => clock.now);
  checkAgainstDocument(composed.app);
  return {
    ...composed,
    database,
    clock,
    async stop() {
      await composed.app.close();
      await composed.close();
      if (!shared) await database.close();
    },
  };
}

export interface TestAccount {
  accountSlug: string;
  applicationSlug: string;
  scope: EnvironmentScope;
  /** The other Environment of the same Application. */
  productionScope: EnvironmentScope;
  userId: string;
  /** Returns a path below the Development Environment's Portal prefix. */
  portalPath(path: string, environmentSlug?: string): string;
  /** Returns the `Authorization` header of a signed-in administrator with this built-in role. */
  as(role: AdministratorRoleKey): Promise<Record<string, string>>;
  /** Returns the header of a new API key. @param place another Environment than the Development one */
  apiKey(scopes?: 'full' | string[], place?: EnvironmentScope): Promise<Record<string, string>>;
}

/** Creates an Account with an Application and both Environments; tests share none, so nothing has to be truncated. */
export async function newAccount({ database: { db }, clock, services }: TestApi): Promise<TestAccount> {
  const name = `acme-${randomBytes(4).toString('hex')}`;
  const now = clock.now;
  const made = await db.transaction('system', async (tx) => {
    const user = userNamed(`${name}-owner`, now);
    await tx.insert(User, user);
    return {
      user,
      ...(await provisionAccount(tx, { userId: user.id, accountName: name, applicationName: 'Portal', now })),
    };
  });
  const { account, application, environments, user } = made;
  const scopeOf = (environment: { id: string }) => ({
    accountId: account.id,
    applicationId: application.id,
    environmentId: environment.id,
  });
  const scope = scopeOf(environments.development);
  const keys = createSigningKeys({
    db,
    sealing: createSealing([{ id: 'test', key: Buffer.alloc(32, 7) }]),
    issuer: baseUrl,
    now: () => clock.now,
  });
  const tokens = createAdminTokens({ keys, baseUrl, now: () => clock.now });
  return {
    accountSlug: account.slug,
    applicationSlug: application.slug,
    scope,
    productionScope: scopeOf(environments.production),
    userId: user.id,
    portalPath: (path, environmentSlug = 'development') =>
      `/portal/v1/accounts/${account.slug}/applications/${application.slug}/environments/${environmentSlug}${path}`,
    async as(role) {
      const member = role === 'owner' ? user : userNamed(`${name}-${role}-${randomBytes(2).toString('hex')}`, now);
      const session = sessionOf(member.id, scope, clock.now);
      await db.transaction('system', async (tx) => {
        if (member !== user) {
          const membership = { id: uuidv7(), accountId: account.id, userId: member.id, createdAt: now };
          const { id: roleId } = await tx.findOneByOrFail(AdministratorRole, {
            accountId: account.id,
            systemKey: role,
          });
          await tx.insert(User, member);
          await tx.insert(Membership, membership);
          await tx.insert(MembershipRole, { membershipId: membership.id, roleId, accountId: account.id });
        }
        await tx.insert(UserSession, session);
      });
      const { accessToken } = await tokens.issue({
        userId: member.id,
        sessionId: session.id,
        accountId: account.id,
        applicationId: application.id,
        authenticatedAt: now,
        amr: ['pwd'],
        acr: 'urn:gatehouse:aal1',
      });
      return { authorization: `Bearer ${accessToken}` };
    },
    async apiKey(scopes = 'full', place = scope) {
      const { secret } = await services.apiKeyManagement.create(place, keyKeeper(user.id), {
        name: 'test',
        description: null,
        accessMode: scopes === 'full' ? 'full' : 'scoped',
        scopes: (scopes === 'full' ? [] : scopes) as never,
        expiresAt: null,
      });
      return { 'x-api-key': secret };
    },
  };
}

/** Sends a request and checks its status; shows the answer if the status differs. */
export async function send(
  app: FastifyInstance,
  status: number,
  options: InjectOptions,
): Promise<LightMyRequestResponse> {
  const response = await app.inject(options);
  if (response.statusCode !== status) {
    throw new Error(
      `${options.method ?? 'GET'} ${String(options.url)}: ${response.statusCode} instead of ${status}\n${response.body}`,
    );
  }
  return response;
}

/**
 * Repeats a request until it is refused with 401: a process may cache an API key for a second (contract §5), which
 * takes longer on a machine that is ten times slower.
 */
export async function untilRefused(app: FastifyInstance, options: InjectOptions): Promise<void> {
  const deadline = Date.now() + patience;
  for (;;) {
    const { statusCode } = await app.inject(options);
    if (statusCode === 401) return;
    if (Date.now() > deadline) throw new Error(`${String(options.url)} still answers ${statusCode}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const userNamed = (name: string, now: Date): User => ({
  id: uuidv7(),
  email: `${name}@example.com`,
  firstName: 'Test',
  lastName: 'Admin',
  passwordHash: null,
  passwordChangedAt: null,
  mfaResetAt: null,
  emailChangedAt: null,
  emailVerifiedAt: now,
  createdAt: now,
  updatedAt: now,
});

const sessionOf = (userId: string, { accountId, applicationId }: EnvironmentScope, now: Date): UserSession => ({
  id: uuidv7(),
  userId,
  accountId,
  applicationId,
  authenticatedAt: now,
  authTime: null,
  amr: ['pwd'],
  acr: 'urn:gatehouse:aal1',
  ssoConnectionId: null,
  ssoSessionId: null,
  ipAddress: null,
  userAgent: null,
  createdAt: now,
  lastUsedAt: now,
  expiresAt: new Date(now.getTime() + 86_400_000),
  revokedAt: null,
});
