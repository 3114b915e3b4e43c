import { randomBytes } from 'node:crypto';
import { demoAdmin, demoIdentities, demoRedirectUri, prepareDemoData } from '../../src/dev/demo-data.js';
import { createClientManagement } from '../../src/domain/oidc/clients/management.js';
import { systemClock as now } from '../../src/platform/clock.js';
import { openDb } from '../../src/platform/database/open-db.js';
import type { EnvironmentScope } from '../../src/platform/scope.js';

/** On this computer, where any port matches; nothing has to listen there. */
export const redirectUri = demoRedirectUri;
export const postLogoutRedirectUri = new URL('/', demoRedirectUri).href;

export interface Person {
  email: string;
  password: string;
}

export interface ConfidentialClient {
  clientId: string;
  secret: string;
}

export interface Seed {
  scope: EnvironmentScope;
  accountSlug: string;
  applicationSlug: string;
  environmentSlug: string;
  /** Owner of the Account. */
  admin: Person;
  /** End users, members of the development Environment with a verified address. */
  ana: Person;
  ben: Person;
  /** A key of the development Environment with every permission. */
  apiKey: string;
  /** Two public clients of the development Environment. */
  publicClient: string;
  otherPublicClient: string;
  /** Confidential clients, which may leave PKCE out. */
  basicClient: ConfidentialClient;
  postClient: ConfidentialClient;
}

/** Creates the demo's Account, people and key, and clients of every kind. Call it once for a database. */
export async function seed(databaseUrl: string): Promise<Seed> {
  const adminPassword = randomBytes(12).toString('base64url');
  const identityPassword = randomBytes(12).toString('base64url');
  const secrets = { adminPassword, identityPassword, masterKeys: '', servicePassword: '' };
  const demo = await prepareDemoData(databaseUrl, secrets, null);
  const db = await openDb({ url: databaseUrl, poolSize: 2, applicationName: 'seed', onError: () => {} });
  try {
    const clients = createClientManagement({ db, now });
    const create = (name: string, method: 'none' | 'client_secret_basic' | 'client_secret_post') =>
      clients.create(demo.scope, {
        name,
        clientType: method === 'none' ? 'public' : 'confidential',
        redirectUris: [redirectUri],
        postLogoutRedirectUris: [postLogoutRedirectUri],
        tokenEndpointAuthMethod: method,
        requirePkce: method === 'none',
        rotateRefreshTokens: method === 'none',
        jwks: null,
        jwksUri: null,
        logoUrl: null,
      });
    const confidential = async (method: 'client_secret_basic' | 'client_secret_post') => {
      const { client, secret } = await create(`Server application (${method})`, method);
      return { clientId: client.clientId, secret: secret as string };
    };
    const [ana, ben] = demoIdentities.map((email) => ({ email, password: identityPassword })) as [Person, Person];
    return {
      scope: demo.scope,
      accountSlug: demo.accountSlug,
      applicationSlug: demo.applicationSlug,
      environmentSlug: demo.environmentSlug,
      admin: { email: demoAdmin, password: adminPassword },
      ana,
      ben,
      apiKey: demo.apiKey,
      publicClient: demo.clientId,
      otherPublicClient: (await create('Acme Portal', 'none')).client.clientId,
      basicClient: await confidential('client_secret_basic'),
      postClient: await confidential('client_secret_post'),
    };
  } finally {
    await db.close();
  }
}
