import { v7 as uuidv7 } from 'uuid';
import { EnvironmentMembership } from '../entities/environment-membership.js';
import { EnvironmentSettings } from '../entities/environment-settings.js';
import { Identity } from '../entities/identity.js';
import { prepareDemoData } from '../src/dev/demo-data.js';
import { addToCounter } from '../src/domain/lists/counters.js';
import { createClientManagement, type NewClient } from '../src/domain/oidc/clients/management.js';
import { createHashing } from '../src/domain/passwords/hashing.js';
import { systemClock as now } from '../src/platform/clock.js';
import { openDb } from '../src/platform/database/open-db.js';
import type { EnvironmentScope } from '../src/platform/scope.js';
import { newSamlSeed, type SamlSeed } from './saml/seed.js';

export interface Client {
  id: string;
  /** Null for a public client. */
  secret: string | null;
}

/** The data for the load: one Environment with two clients, an API key and identities that share a password. */
export interface Seed {
  scope: EnvironmentScope;
  publicClient: Client;
  confidentialClient: Client;
  redirectUri: string;
  apiKey: string;
  emails: string[];
  /** The ids of the same people, in the same order. */
  identityIds: string[];
  password: string;
  /** An identity provider with which all of them can sign in; it names them by their addresses. */
  saml: SamlSeed;
}

const identities = 200;
const redirectUri = 'http://127.0.0.1:9/callback';
const password = 'correct horse battery';

/** Seeds the demo Account and adds what the load needs, through the service's own rules where these are fast. */
export async function seed(databaseUrl: string): Promise<Seed> {
  const secrets = { masterKeys: '', servicePassword: '', adminPassword: password, identityPassword: password };
  const { scope, apiKey } = await prepareDemoData(databaseUrl, secrets, null);
  const db = await openDb({ url: databaseUrl, poolSize: 2, applicationName: 'gatehouse bench', onError: () => {} });
  try {
    const clients = createClientManagement({ db, now });
    const made = async (input: NewClient): Promise<Client> => {
      const { client, secret } = await clients.create(scope, input);
      return { id: client.clientId, secret };
    };
    const publicClient = await made(newClient('public'));
    const confidentialClient = await made(newClient('confidential'));
    // All share one hash: two hundred hashes would take longer than a cell.
    const rows = identityRows(scope, await createHashing({ atOnce: 2 }).hash(password));
    await db.transaction(scope, async (tx) => {
      await tx.insert(Identity, rows.profiles);
      await tx.insert(EnvironmentMembership, rows.memberships);
      await addToCounter(tx, scope, 'identities', identities);
      await tx.update(EnvironmentSettings, { environmentId: scope.environmentId }, { emailOtpLoginEnabled: true });
    });
    const emails = rows.profiles.map(({ email }) => email);
    const identityIds = rows.profiles.map(({ id }) => id);
    const saml = await newSamlSeed(db, scope, rows.profiles, now());
    return { scope, publicClient, confidentialClient, redirectUri, apiKey, emails, identityIds, password, saml };
  } finally {
    await db.close();
  }
}

const newClient = (clientType: 'public' | 'confidential'): NewClient => ({
  name: `Bench, ${clientType}`,
  clientType,
  redirectUris: [redirectUri],
  postLogoutRedirectUris: [],
  tokenEndpointAuthMethod: clientType === 'public' ? 'none' : 'client_secret_basic',
  requirePkce: true,
  rotateRefreshTokens: clientType === 'public',
  jwks: null,
  jwksUri: null,
  logoUrl: null,
});

function identityRows({ accountId, environmentId }: EnvironmentScope, passwordHash: string) {
  const at = now();
  const times = { emailVerifiedAt: at, passwordChangedAt: at, createdAt: at, updatedAt: at };
  const none = { avatarUrl: null, externalId: null, metadata: {} };
  const profiles = Array.from({ length: identities }, (_, i) => {
    const [email, firstName] = [`login${i}@bench.example`, `Person${i}`];
    return { id: uuidv7(), accountId, email, firstName, lastName: 'Example', passwordHash, ...none, ...times };
  });
  const memberships = profiles.map(({ id: identityId }) => {
    return { id: uuidv7(), accountId, environmentId, identityId, isActive: true, createdAt: at };
  });
  return { profiles, memberships };
}
