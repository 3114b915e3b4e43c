import { v7 as uuidv7 } from 'uuid';
import { Account } from '../../entities/account.js';
import { Application } from '../../entities/application.js';
import { Environment } from '../../entities/environment.js';
import { Membership } from '../../entities/membership.js';
import { OAuthClient } from '../../entities/oauth-client.js';
import { User } from '../../entities/user.js';
import { createEvaluation } from '../domain/access/decisions/evaluate.js';
import { provisionAccount } from '../domain/accounts/provisioning.js';
import { createApiKeyManagement } from '../domain/api-keys/api-keys.js';
import { createApiKeyAuthentication } from '../domain/api-keys/authenticate.js';
import { addApplication } from '../domain/applications/add.js';
import { addEnvironment } from '../domain/environments/add.js';
import { DomainError } from '../domain/errors.js';
import { createIdentities } from '../domain/identities/identities.js';
import { createClientManagement } from '../domain/oidc/clients/management.js';
import { createPasswords } from '../domain/passwords/passwords.js';
import { systemClock as now } from '../platform/clock.js';
import type { Db } from '../platform/database/db.js';
import { openDb } from '../platform/database/open-db.js';
import type { EnvironmentScope } from '../platform/scope.js';
import type { DevSecrets } from './secrets.js';

const applicationName = 'Acme Portal';
export const demoAdmin = 'admin@acme.example';
export const demoIdentities = ['ana@acme.example', 'ben@acme.example'];
/** The redirect URI of the example relying party; a loopback address may vary its port (RFC 8252 §7.3). */
export const demoRedirectUri = 'http://127.0.0.1:3001/callback';

export interface DemoData {
  scope: EnvironmentScope;
  accountSlug: string;
  applicationSlug: string;
  environmentSlug: string;
  clientId: string;
  apiKey: string;
}

/**
 * Makes an Account to try things with, by the same rules as any other. It keeps what exists already.
 * @param earlierApiKey the key of an earlier start: the database holds only its hash
 */
export async function prepareDemoData(
  databaseUrl: string,
  secrets: DevSecrets,
  earlierApiKey: string | null,
): Promise<DemoData> {
  return withDb(databaseUrl, async (db) => {
    const passwords = createPasswords({ breachUrl: null });
    const { account, application, environment } =
      (await findDemo(db)) ?? (await makeDemo(db, await passwords.hash(secrets.adminPassword)));
    const scope = { accountId: account.id, applicationId: application.id, environmentId: environment.id };
    const identities = createIdentities({ db, now, passwords });
    for (const email of demoIdentities) await identities.create(scope, demoIdentity(email, secrets)).catch(unlessThere);
    return {
      scope,
      accountSlug: account.slug,
      applicationSlug: application.slug,
      environmentSlug: environment.slug,
      clientId: await clientOf(db, scope),
      apiKey: await apiKeyOf(db, scope, earlierApiKey),
    };
  });
}

/**
 * Registers where the example relying party receives logout tokens (docs/decisions/0110): it may listen at another port
 * after each start, and this address is called.
 */
export async function registerLogoutAddress(
  databaseUrl: string,
  { scope, clientId }: Pick<DemoData, 'scope' | 'clientId'>,
  relyingPartyUrl: string,
): Promise<void> {
  await withDb(databaseUrl, async (db) => {
    const { environmentId } = scope;
    const client = await db.transaction(scope, (tx) => tx.findOneByOrFail(OAuthClient, { environmentId, clientId }));
    const backchannelLogoutUri = `${relyingPartyUrl}/backchannel-logout`;
    await createClientManagement({ db, now }).update(scope, client.id, { backchannelLogoutUri });
  });
}

async function withDb<T>(url: string, work: (db: Db) => Promise<T>): Promise<T> {
  const db = await openDb({ url, poolSize: 2, applicationName: 'gatehouse demo', onError: () => {} });
  try {
    return await work(db);
  } finally {
    await db.close();
  }
}

const findDemo = (db: Db) =>
  db.transaction('system', async (tx) => {
    const user = await tx.findOneBy(User, { email: demoAdmin });
    const membership =
      user && (await tx.findOne(Membership, { where: { userId: user.id }, order: { createdAt: 'asc' } }));
    if (!membership) return null;
    const account = await tx.findOneByOrFail(Account, { id: membership.accountId });
    const ofAccount = { where: { accountId: account.id }, order: { createdAt: 'asc' } } as const;
    // Replaces an Application or Environment that somebody deleted as a test.
    const application =
      (await tx.findOne(Application, ofAccount)) ??
      (await addApplication(tx, { accountId: account.id, name: applicationName, now: now() })).application;
    const scope = { accountId: account.id, applicationId: application.id };
    const environment =
      (await tx.findOneBy(Environment, { ...scope, type: 'development' })) ??
      (await addEnvironment(tx, scope, { name: 'Development', type: 'development', now: now() }));
    return { account, application, environment };
  });

const makeDemo = (db: Db, passwordHash: string) =>
  db.transaction('system', async (tx) => {
    const at = now();
    const times = { passwordChangedAt: at, emailVerifiedAt: at, createdAt: at, updatedAt: at };
    const user = { id: uuidv7(), email: demoAdmin, firstName: 'Ada', lastName: 'Admin', passwordHash, ...times };
    await tx.insert(User, user);
    const names = { accountName: 'Acme', applicationName };
    const { account, application, environments } = await provisionAccount(tx, { userId: user.id, ...names, now: at });
    return { account, application, environment: environments.development };
  });

const demoIdentity = (email: string, { identityPassword }: DevSecrets) => ({
  email,
  firstName: email.startsWith('ana') ? 'Ana' : 'Ben',
  lastName: 'Example',
  emailVerified: true,
  password: identityPassword,
});

function unlessThere(error: unknown) {
  if (!(error instanceof DomainError && error.code === 'identity.email_taken')) throw error;
}

async function clientOf(db: Db, scope: EnvironmentScope): Promise<string> {
  const name = 'Demo relying party';
  const there = await db.transaction(scope, (tx) =>
    tx.findOneBy(OAuthClient, { environmentId: scope.environmentId, name }),
  );
  if (there) return there.clientId;
  const { client } = await createClientManagement({ db, now }).create(scope, {
    name,
    clientType: 'public',
    redirectUris: [demoRedirectUri],
    postLogoutRedirectUris: ['http://127.0.0.1:3001/'],
    tokenEndpointAuthMethod: 'none',
    requirePkce: true,
    rotateRefreshTokens: true,
    jwks: null,
    jwksUri: null,
    logoUrl: null,
  });
  return client.clientId;
}

async function apiKeyOf(db: Db, scope: EnvironmentScope, kept: string | null): Promise<string> {
  if (kept && (await createApiKeyAuthentication({ db, now }).authenticate(kept))) return kept;
  const { secret } = await createApiKeyManagement({ db, evaluation: createEvaluation({ db, now }), now }).create(
    scope,
    demoCreator,
    {
      name: 'Demo key',
      description: null,
      accessMode: 'full',
      scopes: [],
      expiresAt: null,
    },
  );
  return secret;
}

const capabilities = ['env_api_keys.manage'] as const;
const demoCreator = {
  type: 'platform_admin',
  userId: '',
  sessionId: '',
  capabilities,
  roles: [{ id: '', name: 'Makes the demo key', capabilities, limits: null }],
} as const;
