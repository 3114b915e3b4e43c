import { v7 as uuidv7 } from 'uuid';
import type { EnvironmentSettings } from '../../entities/environment-settings.js';
import { SsoConnection } from '../../entities/sso-connection.js';
import { SsoDomain } from '../../entities/sso-domain.js';
import { clientSecretContext } from '../../src/domain/sso-connections/secrets.js';
import { callbackUrlOf, signedOutUrlOf } from '../../src/domain/sso-protocols/oidc/oidc.js';
import { loopback } from '../../src/platform/outbound/addresses.js';
import { type Browser, locationOf } from './oauth/browser.js';
import type { TestClient, TestEnvironment } from './oauth/environment.js';
import { redirectUri } from './oauth/environment.js';
import { newProvider, type TestProvider } from './oauth/provider.js';
import { type OpenIdProvider, signInThere, startOpenIdProvider } from './openid-provider.js';
import { newOrganization, type TestOrganization } from './organizations.js';

type Where = Pick<TestEnvironment, 'accountId' | 'environmentId'>;
type World = Pick<TestProvider, 'db' | 'now' | 'sealing'>;

/** Returns ids for connections to be created, with the callbacks that a provider has to know. */
export const plannedConnections = (baseUrl: string, count: number) => {
  const ids = Array.from({ length: count }, () => uuidv7());
  return {
    ids,
    callbacks: ids.map((id) => callbackUrlOf(baseUrl, id)),
    signedOut: ids.map((id) => signedOutUrlOf(baseUrl, id)),
  };
};

const baseUrl = 'http://localhost:3000';

/**
 * Starts a service, and an OpenID provider that sends people back to it.
 * @param connections how many connections to the provider will be created
 */
export async function startSsoWorld(connections: number) {
  const { ids, callbacks } = plannedConnections(baseUrl, connections);
  const idp = await startOpenIdProvider({ callbacks });
  const world = await newProvider({ baseUrl, allowedNetworks: loopback, startsAt: new Date() });
  return {
    idp,
    world,
    /** Returns the id of another connection, whose callback the provider knows. */
    nextConnectionId(): string {
      const id = ids.pop();
      if (id === undefined) throw new Error(`only ${connections} connections are planned`);
      return id;
    },
    /** Makes a person of acme.example known to the provider. @param claims besides the confirmed address */
    newPerson(claims: object = {}) {
      const email = acmeAddress();
      const login = email.replace('@acme.example', '');
      idp.people.set(login, { email, email_verified: true, ...claims });
      return { login, email };
    },
    async stop() {
      await world.close();
      await idp.stop();
    },
  };
}

/** Creates an active connection to an OpenID provider, for an Environment or an organization in it. */
export async function newOidcConnection(
  { db, now, sealing }: World,
  { accountId, environmentId }: Where,
  idp: Pick<OpenIdProvider, 'issuer' | 'clientId' | 'clientSecret'>,
  overrides: Partial<SsoConnection> = {},
): Promise<SsoConnection> {
  const id = overrides.id ?? uuidv7();
  const connection: SsoConnection = {
    id,
    accountId,
    environmentId,
    organizationId: null,
    scope: overrides.organizationId ? 'organization' : 'identity',
    type: 'oidc',
    name: 'The provider',
    status: 'active',
    ownedByOrganization: false,
    samlEntityId: null,
    samlSsoUrl: null,
    samlSloUrl: null,
    samlSloResponseUrl: null,
    samlSigningCert: null,
    samlCertificateWarnedAt: null,
    samlSignatureAlgorithm: null,
    samlWantAssertionsSigned: true,
    samlNameIdFormat: null,
    samlAllowIdpInitiated: false,
    forceAuthn: false,
    singleLogoutEnabled: true,
    oidcDiscoveryUrl: idp.issuer,
    oidcClientId: idp.clientId,
    oidcClientSecretSealed: sealing.seal(idp.clientSecret, clientSecretContext(id)),
    oidcScopes: ['openid', 'profile', 'email'],
    jitProvisioningEnabled: true,
    attributeMapping: {},
    defaultRoleId: null,
    lastLoginAt: null,
    lastLoginFailureAt: null,
    consecutiveFailures: 0,
    autoDisabledAt: null,
    createdAt: now(),
    updatedAt: now(),
    ...overrides,
  };
  await db.transaction('system', (tx) => tx.insert(SsoConnection, connection as never));
  return connection;
}

/** Inserts a verified domain of an organization or of the Account. */
export async function newVerifiedDomain(
  { db, now }: World,
  { accountId, environmentId }: Where,
  domain: string,
  organizationId: string | null = null,
): Promise<void> {
  const at = now();
  await db.transaction('system', (tx) =>
    tx.insert(SsoDomain, {
      id: uuidv7(),
      accountId,
      environmentId: organizationId && environmentId,
      organizationId,
      domain,
      token: 'token',
      status: 'verified',
      claimedByType: 'api_key',
      claimedBy: uuidv7(),
      createdAt: at,
      startedAt: at,
      verifiedAt: at,
    }),
  );
}

/** An Environment with an organization whose people sign in by its provider. */
export interface SsoPlace {
  environment: TestEnvironment;
  client: TestClient;
  organization: TestOrganization;
  connection: SsoConnection;
}

/**
 * Creates an Environment with an organization whose provider signs in people of acme.example.
 * @param idp the OpenID provider, or null if the overrides describe the whole connection, as for SAML
 */
export async function newSsoPlace(
  world: TestProvider,
  idp: Parameters<typeof newOidcConnection>[2] | null,
  overrides: Partial<SsoConnection> = {},
  settings: Partial<EnvironmentSettings> = {},
): Promise<SsoPlace> {
  const environment = await world.newEnvironment({ mfaPolicy: 'off', ...settings });
  const client = await environment.newClient();
  const organization = await newOrganization(world, environment);
  await newVerifiedDomain(world, environment, 'acme.example', organization.id);
  const none = { issuer: '', clientId: '', clientSecret: '' };
  const fields = { organizationId: organization.id, ...overrides };
  return {
    environment,
    client,
    organization,
    connection: await newOidcConnection(world, environment, idp ?? none, fields),
  };
}

/**
 * Signs in at the provider and comes back; returns the answer of `/sso/complete`.
 * @param away the URL at the provider to which the service has sent the browser
 * @param jar the browser's cookies at the provider
 */
export async function returnFromProvider(browser: Browser, away: string, login: string, jar?: Map<string, string>) {
  const answered = await browser.get((await signInThere(away, login, jar)).replace(baseUrl, ''));
  return browser.get(String(answered.headers.location));
}

/** Follows redirects, through the provider too, up to a page of ours, or to the client. */
export async function followThroughProvider(
  browser: Browser,
  url: string,
  { idp, login, jar }: { idp: Pick<OpenIdProvider, 'issuer'>; login: string; jar: Map<string, string> },
) {
  let at = await browser.get(url);
  for (let hops = 0; at.statusCode === 303 && hops < 9; hops++) {
    const to = String(at.headers.location);
    if (to.startsWith(redirectUri)) return at;
    if (to.startsWith(idp.issuer)) at = await browser.get((await signInThere(to, login, jar)).replace(baseUrl, ''));
    else at = await browser.get(locationOf(at).pathname + locationOf(at).search);
  }
  return at;
}

/** Returns the address of a person who is new. */
export const acmeAddress = () => `ana-${uuidv7()}@acme.example`;

/** Returns why sign-ins of an Environment were refused, in the order of the events. */
export async function reasonsAt(world: Pick<TestProvider, 'query'>, { environment }: SsoPlace): Promise<string[]> {
  const rows = await world.query<{ reason: string }>(
    `select metadata->>'reason' as reason from events
     where action = 'auth.identity_sign_in_failed' and environment_id = $1 order by id`,
    [environment.environmentId],
  );
  return rows.map(({ reason }) => reason);
}

/** Returns the status of a page, and the code in it that explains why a sign-in by a provider failed. */
export const failureIn = (page: { body: string; statusCode: number }) => [
  page.statusCode,
  /<dd class="code">(sso\.[a-z_]+)</.exec(page.body)?.[1],
];
