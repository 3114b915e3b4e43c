import { v7 as uuidv7 } from 'uuid';
import { Account } from '../../../entities/account.js';
import { Application } from '../../../entities/application.js';
import { Environment } from '../../../entities/environment.js';
import { EnvironmentMembership } from '../../../entities/environment-membership.js';
import { EnvironmentSettings } from '../../../entities/environment-settings.js';
import { Erasure } from '../../../entities/erasure.js';
import { Identity } from '../../../entities/identity.js';
import { OAuthClient } from '../../../entities/oauth-client.js';
import { environmentDefaults } from '../../../src/domain/environments/defaults.js';
import { hashSecret, newSecret } from '../../../src/platform/crypto/one-time-secret.js';
import type { EnvironmentScope } from '../../../src/platform/scope.js';
import type { TestDatabase } from '../database.js';
import { hashPassword } from '../password-hashing.js';

export const password = 'correct horse battery';
export const redirectUri = 'https://app.example.com/callback?tenant=1';
export const loggedOutUri = 'https://app.example.com/signed-out';
let passwordHash: Promise<string> | undefined;

type Db = TestDatabase['db'];

/** Creates an Account with an Application and one Environment. */
export async function newEnvironment(db: Db, at: Date, settings: Partial<EnvironmentSettings>) {
  const [accountId, applicationId, environmentId] = [uuidv7(), uuidv7(), uuidv7()];
  const scope = { accountId, applicationId, environmentId };
  const times = { createdAt: at, updatedAt: at };
  await db.transaction('system', async (tx) => {
    await tx.insert(Account, { id: accountId, name: 'Acme', slug: `acme-${accountId}`, ...times });
    await tx.insert(Application, { id: applicationId, accountId, name: 'Shop', slug: 'shop', ...times });
    const names = { name: 'Development', slug: 'development', type: 'development' } as const;
    await tx.insert(Environment, { id: environmentId, accountId, applicationId, ...names, ...times });
    await tx.insert(EnvironmentSettings, {
      environmentId,
      accountId,
      ...environmentDefaults(),
      branding: { name: 'Acme', logo_url: null, primary_color: null, support_email: null },
      updatedAt: at,
      ...settings,
    });
  });

  return {
    ...scope,
    newClient: (overrides: Partial<OAuthClient> = {}) => newClient(db, scope, at, overrides),
    newIdentity: (overrides: NewIdentity = {}) => newIdentity(db, scope, at, overrides),
    /** Begins the erasure of a person without a worker that carries it out. */
    async beginErasure(identityId: string) {
      const erasure = { id: uuidv7(), accountId, identityId, status: 'running' as const, actorType: 'system' };
      const rest = { actorId: null, correlationId: uuidv7(), endedReason: null, rest: null, endedAt: null };
      await db.transaction('system', (tx) => tx.insert(Erasure, { ...erasure, ...rest, createdAt: at }));
    },
  };
}

async function newClient(db: Db, scope: EnvironmentScope, at: Date, overrides: Partial<OAuthClient>) {
  const method = overrides.tokenEndpointAuthMethod ?? 'none';
  const secret = method.startsWith('client_secret') ? newSecret() : null;
  const client = {
    ...scope,
    id: uuidv7(),
    clientId: uuidv7(),
    name: 'Shop web',
    clientType: method === 'none' ? 'public' : 'confidential',
    redirectUris: [redirectUri, 'http://127.0.0.1/cb'],
    postLogoutRedirectUris: [loggedOutUri],
    tokenEndpointAuthMethod: method,
    secretHash: secret === null ? null : hashSecret(secret),
    previousSecretHash: null,
    previousSecretExpiresAt: null,
    requirePkce: true,
    rotateRefreshTokens: method === 'none',
    scopes: ['openid', 'profile', 'email', 'org', 'permissions'],
    consentRequired: false,
    jwks: null,
    jwksUri: null,
    logoUrl: null,
    initiateLoginUri: null,
    backchannelLogoutUri: null,
    backchannelLogoutSessionRequired: false,
    createdAt: at,
    updatedAt: at,
    ...overrides,
  } satisfies OAuthClient;
  await db.transaction('system', (tx) => tx.insert(OAuthClient, client));
  return { ...client, secret };
}

type NewIdentity = Partial<Identity & { isActive: boolean; isMember: boolean }>;

/** Creates a person, unless told otherwise a member of the Environment who signs in with `password`. */
async function newIdentity(db: Db, { accountId, environmentId }: EnvironmentScope, at: Date, overrides: NewIdentity) {
  const { isActive = true, isMember = true, ...fields } = overrides;
  const id = uuidv7();
  passwordHash ??= hashPassword(password);
  const identity = {
    id,
    accountId,
    email: `ana-${id}@example.com`,
    emailVerifiedAt: at,
    firstName: 'Ana',
    lastName: 'Arendt',
    avatarUrl: null,
    externalId: null,
    metadata: {},
    passwordHash: await passwordHash,
    passwordChangedAt: at,
    createdAt: at,
    updatedAt: at,
    ...fields,
  };
  await db.transaction('system', async (tx) => {
    await tx.insert(Identity, identity);
    if (!isMember) return;
    const membership = { id: uuidv7(), accountId, environmentId, identityId: id, isActive, createdAt: at };
    await tx.insert(EnvironmentMembership, membership);
  });
  return identity;
}

export type TestEnvironment = Awaited<ReturnType<typeof newEnvironment>>;
export type TestClient = Awaited<ReturnType<TestEnvironment['newClient']>>;
export type TestIdentity = Awaited<ReturnType<TestEnvironment['newIdentity']>>;
