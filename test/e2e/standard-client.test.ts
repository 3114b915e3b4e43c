import { createRemoteJWKSet, jwtVerify } from 'jose';
import * as oidc from 'openid-client';
import { postLogoutRedirectUri, redirectUri, type Seed, seed } from '../support/seed.js';
import { type Service, startService } from '../support/service.js';
import { createUserAgent, type UserAgent } from '../support/user-agent.js';

let service: Service;
let data: Seed;
beforeAll(async () => {
  service = await startService();
  data = await seed(service.databaseUrl);
});
afterAll(() => service?.stop());

/** Configures the library as an application does: issuer, client id and authentication. Signatures are verified. */
const configure = (clientId: string, authentication: oidc.ClientAuth) =>
  oidc.discovery(new URL(service.baseUrl), clientId, {}, authentication, {
    execute: [oidc.allowInsecureRequests, oidc.enableNonRepudiationChecks],
  });

interface SignIn {
  agent?: UserAgent;
  pkce?: boolean;
  /** Replaces the verifier from which the challenge was made. */
  otherVerifier?: string;
  parameters?: Record<string, string>;
}

/** Runs the authorization code flow by the library; the person types email and password unless already signed in. */
async function signIn(
  config: oidc.Configuration,
  { agent = createUserAgent(), pkce = true, otherVerifier, parameters }: SignIn = {},
) {
  const pkceCodeVerifier = pkce ? oidc.randomPKCECodeVerifier() : undefined;
  const state = oidc.randomState();
  const nonce = oidc.randomNonce();
  const url = oidc.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope: 'openid profile email',
    state,
    nonce,
    ...(pkceCodeVerifier && {
      code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
    }),
    ...parameters,
  });
  let page = await agent.open(url, { until: redirectUri });
  if (page.html) {
    page = await agent.submit(page, { email: data.ana.email, password: data.ana.password }, { until: redirectUri });
  }
  const verifier = otherVerifier ?? pkceCodeVerifier;
  const checks = { expectedState: state, expectedNonce: nonce, ...(verifier && { pkceCodeVerifier: verifier }) };
  const tokens = await oidc.authorizationCodeGrant(config, new URL(page.url), checks);
  return { agent, tokens, claims: tokens.claims() as oidc.IDToken };
}

describe('discovery', () => {
  test('the provider metadata is what the specification lists', async () => {
    const response = await fetch(`${service.baseUrl}/.well-known/openid-configuration`);
    expect(response.status).toBe(200);
    const metadata = (await response.json()) as Record<string, unknown>;
    expect(metadata).toMatchObject({
      issuer: service.baseUrl,
      authorization_endpoint: `${service.baseUrl}/oauth/authorize`,
      token_endpoint: `${service.baseUrl}/oauth/token`,
      userinfo_endpoint: `${service.baseUrl}/oauth/userinfo`,
      revocation_endpoint: `${service.baseUrl}/oauth/revoke`,
      introspection_endpoint: `${service.baseUrl}/oauth/introspect`,
      end_session_endpoint: `${service.baseUrl}/oauth/logout`,
      jwks_uri: `${service.baseUrl}/.well-known/jwks.json`,
      authorization_response_iss_parameter_supported: true,
    });
    expect(metadata.response_types_supported).toEqual(['code']);
    expect(metadata.grant_types_supported).toEqual(['authorization_code', 'refresh_token']);
    expect(metadata.id_token_signing_alg_values_supported).toEqual(['RS256']);
    expect(metadata.scopes_supported).toEqual(['openid', 'profile', 'email', 'org', 'permissions']);
    expect(metadata.code_challenge_methods_supported).toEqual(['S256']);
    expect([...(metadata.token_endpoint_auth_methods_supported as string[])].sort()).toEqual(
      ['client_secret_basic', 'client_secret_post', 'none', 'private_key_jwt'].sort(),
    );
  });

  test('the OAuth metadata is the same', async () => {
    const [openid, oauth] = await Promise.all(
      ['openid-configuration', 'oauth-authorization-server'].map(async (name) => {
        const response = await fetch(`${service.baseUrl}/.well-known/${name}`);
        expect(response.status).toBe(200);
        return (await response.json()) as Record<string, unknown>;
      }),
    );
    for (const [name, value] of Object.entries(oauth!)) expect([name, value]).toEqual([name, openid![name]]);
    expect(oauth).toMatchObject({ issuer: service.baseUrl, token_endpoint: `${service.baseUrl}/oauth/token` });
  });

  test('the published keys are public RS256 keys', async () => {
    const response = await fetch(`${service.baseUrl}/.well-known/jwks.json`);
    const { keys } = (await response.json()) as { keys: Record<string, string>[] };
    expect(keys.length).toBeGreaterThan(0);
    for (const key of keys) {
      expect(key).toMatchObject({ kty: 'RSA', alg: 'RS256', use: 'sig', kid: expect.any(String) });
      expect(Object.keys(key).sort()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use']);
    }
  });
});

describe('a public client', () => {
  const config = () => configure(data.publicClient, oidc.None());

  test('signs a person in with authorization code and PKCE, and the tokens have the right content', async () => {
    const { tokens, claims } = await signIn(await config(), { parameters: { max_age: '600' } });
    expect(tokens).toMatchObject({ token_type: 'bearer', expires_in: 900, scope: 'openid profile email' });
    expect(claims).toMatchObject({
      iss: service.baseUrl,
      aud: data.publicClient,
      email: data.ana.email,
      email_verified: true,
      given_name: 'Ana',
      family_name: 'Example',
      amr: ['pwd'],
      acr: 'urn:gatehouse:aal1',
      sid: expect.any(String),
      at_hash: expect.any(String),
    });
    expect(Math.abs((claims.auth_time as number) - Date.now() / 1000)).toBeLessThan(60);

    const keys = createRemoteJWKSet(new URL(`${service.baseUrl}/.well-known/jwks.json`));
    const { payload } = await jwtVerify(tokens.access_token, keys, { issuer: service.baseUrl, typ: 'at+jwt' });
    expect(payload).toMatchObject({
      sub: claims.sub,
      client_id: data.publicClient,
      scope: 'openid profile email',
      principal_type: 'identity',
      account_id: data.scope.accountId,
      application_id: data.scope.applicationId,
      environment_id: data.scope.environmentId,
    });
  });

  test('reads userinfo', async () => {
    const client = await config();
    const { tokens, claims } = await signIn(client);
    expect(await oidc.fetchUserInfo(client, tokens.access_token, claims.sub)).toMatchObject({
      sub: claims.sub,
      email: data.ana.email,
      email_verified: true,
      name: 'Ana Example',
    });
  });

  test('refreshes with a new refresh token each time, and stops when it is revoked', async () => {
    const client = await config();
    const { tokens, claims } = await signIn(client);
    const second = await oidc.refreshTokenGrant(client, tokens.refresh_token as string);
    const third = await oidc.refreshTokenGrant(client, second.refresh_token as string);
    expect(new Set([tokens.refresh_token, second.refresh_token, third.refresh_token]).size).toBe(3);
    expect(third.claims()).toMatchObject({ sub: claims.sub, auth_time: claims.auth_time });

    await oidc.tokenRevocation(client, third.refresh_token as string);
    await expect(oidc.refreshTokenGrant(client, third.refresh_token as string)).rejects.toMatchObject({
      error: 'invalid_grant',
    });
    await expect(oidc.fetchUserInfo(client, third.access_token, claims.sub)).rejects.toThrow();
  });

  test('cannot use a verifier other than the one of its challenge', async () => {
    const attempt = signIn(await config(), { otherVerifier: oidc.randomPKCECodeVerifier() });
    await expect(attempt).rejects.toMatchObject({ error: 'invalid_grant' });
  });

  test('gets single sign-on for a signed-in person, and none after the person signed out', async () => {
    const client = await config();
    const { agent, tokens, claims } = await signIn(client);
    const other = await configure(data.otherPublicClient, oidc.None());
    const silent = await signIn(other, { agent, parameters: { prompt: 'none' } });
    expect(silent.claims).toMatchObject({ sub: claims.sub, aud: data.otherPublicClient, auth_time: claims.auth_time });

    const parameters = { id_token_hint: tokens.id_token as string, post_logout_redirect_uri: postLogoutRedirectUri };
    const end = oidc.buildEndSessionUrl(client, { ...parameters, state: 'bye' });
    const left = await agent.open(end, { until: postLogoutRedirectUri });
    expect(left.url).toBe(`${postLogoutRedirectUri}?state=bye`);
    await expect(signIn(other, { agent, parameters: { prompt: 'none' } })).rejects.toMatchObject({
      error: 'login_required',
    });
  });
});

describe.each([
  ['client_secret_basic', () => data.basicClient, oidc.ClientSecretBasic],
  ['client_secret_post', () => data.postClient, oidc.ClientSecretPost],
] as const)('a confidential client with %s', (_method, clientOf, authentication) => {
  const config = () => configure(clientOf().clientId, authentication(clientOf().secret));

  test('signs a person in without PKCE, refreshes, and introspects its tokens', async () => {
    const client = await config();
    const { tokens, claims } = await signIn(client, { pkce: false });
    expect(claims).toMatchObject({ aud: clientOf().clientId, email: data.ana.email });

    const refreshed = await oidc.refreshTokenGrant(client, tokens.refresh_token as string);
    expect(refreshed.refresh_token ?? tokens.refresh_token).toBe(tokens.refresh_token); // the same one stays valid

    expect(await oidc.tokenIntrospection(client, refreshed.access_token)).toMatchObject({
      active: true,
      client_id: clientOf().clientId,
      sub: claims.sub,
      iss: service.baseUrl,
      scope: 'openid profile email',
    });
    await oidc.tokenRevocation(client, tokens.refresh_token as string);
    for (const token of [refreshed.access_token, tokens.access_token, tokens.refresh_token as string]) {
      expect(await oidc.tokenIntrospection(client, token)).toEqual({ active: false });
    }
  });

  test('may use PKCE, and then has to complete it', async () => {
    const client = await config();
    expect((await signIn(client, { pkce: true })).claims.email).toBe(data.ana.email);
    const otherVerifier = oidc.randomPKCECodeVerifier();
    for (const pkce of [true, false]) {
      await expect(signIn(client, { pkce, otherVerifier })).rejects.toMatchObject({ error: 'invalid_grant' });
    }
  });

  test('is refused with a wrong secret', async () => {
    const impostor = await configure(clientOf().clientId, authentication('not-the-secret'));
    // With Basic the library reads the WWW-Authenticate header instead of the body.
    await expect(signIn(impostor, { pkce: false })).rejects.toMatchObject({ status: 401 });
  });

  test('signs its person out', async () => {
    const client = await config();
    const { agent, tokens } = await signIn(client, { pkce: false });
    const url = oidc.buildEndSessionUrl(client, {
      id_token_hint: tokens.id_token as string,
      post_logout_redirect_uri: postLogoutRedirectUri,
    });
    const { url: left } = await agent.open(url, { until: postLogoutRedirectUri });
    expect(left).toBe(postLogoutRedirectUri);
    await expect(signIn(client, { agent, pkce: false, parameters: { prompt: 'none' } })).rejects.toMatchObject({
      error: 'login_required',
    });
  });
});
