import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { v7 as uuidv7 } from 'uuid';
import type { EnvironmentSettings } from '../../entities/environment-settings.js';
import type { SsoConnection } from '../../entities/sso-connection.js';
import { loopback } from '../../src/platform/outbound/addresses.js';
import { codeIn } from '../support/mfa.js';
import {
  authorizeUrl,
  type Browser,
  newPkce,
  newProvider,
  redeem,
  redirectUri,
  type TestClient,
  type TestEnvironment,
  type TestProvider,
} from '../support/oauth.js';
import { type OpenIdProvider, signInThere, startOpenIdProvider } from '../support/openid-provider.js';
import { newOrganization, type TestOrganization } from '../support/organizations.js';
import { newOidcConnection, newVerifiedDomain, plannedConnections } from '../support/sso.js';

const baseUrl = 'http://localhost:3000';
const planned = plannedConnections(baseUrl, 12);
let world: TestProvider;
let idp: OpenIdProvider;
beforeAll(async () => {
  idp = await startOpenIdProvider({ callbacks: planned.callbacks });
  world = await newProvider({ baseUrl, allowedNetworks: loopback });
});
afterAll(async () => {
  await world.close();
  await idp.stop();
});

interface Place {
  environment: TestEnvironment;
  client: TestClient;
  organization: TestOrganization;
  connection: SsoConnection;
}

let used = 0;
/** An Environment with an organization whose provider signs in people of acme.example. */
async function place(
  overrides: Partial<SsoConnection> = {},
  settings: Partial<EnvironmentSettings> = {},
): Promise<Place> {
  const environment = await world.newEnvironment({ mfaPolicy: 'off', emailOtpLoginEnabled: true, ...settings });
  const client = await environment.newClient();
  const organization = await newOrganization(world, environment);
  await newVerifiedDomain(world, environment, 'acme.example', organization.id);
  const connection = await newOidcConnection(world, environment, idp, {
    id: planned.ids[used++] ?? uuidv7(),
    organizationId: organization.id,
    ...overrides,
  });
  return { environment, client, organization, connection };
}
const somebody = (claims: object = {}) => {
  const login = `ana-${uuidv7()}`;
  const email = `${login}@acme.example`;
  idp.people.set(login, { email, email_verified: true, given_name: 'Ana', family_name: 'Arendt', ...claims });
  return { login, email };
};

/** What comes after the provider: the answer of `/sso/complete`. */
async function walk(browser: Browser, url: string, login: string, jar?: Map<string, string>) {
  const away = await browser.get(url);
  expect(String(away.headers.location)).toContain(idp.issuer);
  const back = await signInThere(String(away.headers.location), login, jar);
  const answered = await browser.get(back.replace(baseUrl, ''));
  expect(answered.statusCode).toBe(303);
  return browser.get(String(answered.headers.location));
}
describe('the way there and back', () => {
  test('somebody new signs in by their organization, becomes its member, and the client gets a code', async () => {
    const { client, organization, connection } = await place();
    const { login, email } = somebody({ amr: ['pwd', 'face', 'made-up'] });
    const { verifier, challenge } = newPkce();
    const browser = world.browser();
    const url = authorizeUrl(client, {
      organization: organization.slug,
      code_challenge: challenge,
      scope: 'openid email profile org',
    });
    const code = codeIn(await walk(browser, url, login));
    const tokens = (await redeem(world.app, client, { code: code ?? '', verifier, redirect: redirectUri })).json();
    const claims = decodeJwt(tokens.id_token);
    expect(claims).toMatchObject({
      email,
      email_verified: true,
      given_name: 'Ana',
      amr: ['face', 'pwd'],
      acr: 'urn:gatehouse:aal1',
    });
    expect(claims.organizations).toEqual([expect.objectContaining({ id: organization.id })]);
    const [session] = await world.query('select sso_connection_id as id from sessions where identity_id = $1', [
      claims.sub,
    ]);
    expect(session).toEqual({ id: connection.id });
    const signedIn = await world.query<{ metadata: object }>(
      `select metadata from events where action = 'identity.signed_in' and resource_id = $1`,
      [claims.sub],
    );
    expect(signedIn).toEqual([{ metadata: expect.objectContaining({ connection_id: connection.id }) }]);
    // The session of before is enough the next time.
    expect(codeIn(await browser.get(url))).toBeTruthy();
  });
});
