import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  buildEndSessionUrl,
  Configuration,
  calculatePKCECodeChallenge,
  clockSkew,
  customFetch,
  enableNonRepudiationChecks,
  fetchUserInfo,
  randomNonce,
  randomPKCECodeVerifier,
  type ServerMetadata,
} from 'openid-client';
import type { SsoConnection } from '../../../../entities/sso-connection.js';
import type { Clock } from '../../../platform/clock.js';
import type { Outbound } from '../../../platform/outbound/fetch.js';
import { createKeySets } from '../../../platform/outbound/key-sets.js';
import { type Assertion, SsoRefused } from '../assertion.js';
import { assertionOf, mappedClaims } from './claims.js';
import { authenticationBy } from './client-authentication.js';
import { guardedFetch } from './guarded-fetch.js';
import { assertSignedBy } from './id-token.js';
import { type LogoutToken, verifyLogoutToken } from './logout-token.js';
import { algorithmsOf, createMetadata } from './metadata.js';
import { promptOf } from './prompt.js';
import { asRefusal, refused } from './refusals.js';

/** What is kept of a request until its response arrives. */
export interface OidcSecrets extends Record<string, string> {
  nonce: string;
  codeVerifier: string;
  /** Whether the provider has to say when it authenticated the person; empty: it may leave that out. */
  authTime: 'required' | '';
}

export interface OidcProtocolDeps {
  baseUrl: string;
  /** The connection's client secret; null: it is a public client there. */
  clientSecretOf: (connection: Pick<SsoConnection, 'id' | 'oidcClientSecretSealed'>) => string | null;
  outbound: Pick<Outbound, 'ask' | 'get'>;
  now: Clock;
}

export interface BeginOidc {
  state: string;
  loginHint?: string | null;
  forceAuthn?: boolean;
  /** Whether the provider is not to reuse its own session, since the person wants to switch accounts. */
  selectAccount?: boolean;
  maxAge?: number | null;
}

/** Returns the connection's own redirect URI, so that responses of two providers are not mixed up (RFC 9700 §4.4.2). */
export const callbackUrlOf = (baseUrl: string, connectionId: string): string =>
  `${baseUrl}/sso/oidc/${connectionId}/callback`;

/** Returns the URL to which a provider sends people back after logout. */
export const signedOutUrlOf = (baseUrl: string, connectionId: string): string =>
  `${baseUrl}/sso/oidc/${connectionId}/signed-out`;

/** Returns the URL at which a provider reports that a session there is over. */
export const backchannelLogoutUrlOf = (baseUrl: string, connectionId: string): string =>
  `${baseUrl}/sso/oidc/${connectionId}/backchannel-logout`;

/**
 * A `max_age` in seconds, longer than any session: many providers only send `auth_time` in answer to a `max_age`, as
 * all have to then (OpenID Connect Core §3.1.2.1).
 */
const anyAge = 31_536_000;

/** The library trips over a key of the provider that is no JWK, which is the provider's fault. @throws SsoRefused */
const refuseUnusableKey = (error: unknown): never => {
  throw error instanceof TypeError ? refused('malformed', error) : error;
};

/** In characters: longer URLs fail on their way. Without the hint, the client's id tells the provider who asks. */
const maxHintLength = 4096;

/** OpenID Connect as its relying party: authorization code flow with PKCE and a signature check of the ID token. */
export function createOidcProtocol({ baseUrl, clientSecretOf, outbound, now }: OidcProtocolDeps) {
  const fetch = guardedFetch(outbound);
  const metadata = createMetadata({ fetch, now });
  const unreadable = () => new SsoRefused('provider_unreachable', "The provider's keys cannot be read");
  const keySets = createKeySets({ outbound, unreadable, now });

  function configurationOf(connection: SsoConnection, server: ServerMetadata): Configuration {
    const { oidcClientId } = connection;
    if (!oidcClientId) throw new SsoRefused('configuration_incomplete', 'The connection has no client ID');
    const secret = clientSecretOf(connection);
    const skew = Math.round((now().getTime() - Date.now()) / 1000);
    const config = new Configuration(server, oidcClientId, { [clockSkew]: skew }, authenticationBy(secret, server));
    config[customFetch] = fetch;
    allowInsecureRequests(config); // the guard decides on http
    return config;
  }

  /** Turns every error on the way into a refusal, except for faults of ours. */
  async function asked<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw asRefusal(error);
    }
  }

  return {
    /** Returns the URL of the request. @throws SsoRefused if the provider or its metadata cannot be used */
    begin: (connection: SsoConnection, { state, loginHint = null, maxAge = null, ...wishes }: BeginOidc) =>
      asked(async () => {
        const server = await metadata.of(connection.oidcDiscoveryUrl);
        const config = configurationOf(connection, server);
        const prompt = promptOf(server, wishes);
        const [nonce, codeVerifier] = [randomNonce(), randomPKCECodeVerifier()];
        const url = buildAuthorizationUrl(config, {
          redirect_uri: callbackUrlOf(baseUrl, connection.id),
          scope: connection.oidcScopes.join(' '),
          state,
          nonce,
          code_challenge: await calculatePKCECodeChallenge(codeVerifier),
          code_challenge_method: 'S256',
          ...(loginHint !== null && { login_hint: loginHint }),
          ...(prompt !== null && { prompt }),
          max_age: String(maxAge ?? anyAge),
        });
        const isAged = connection.forceAuthn || maxAge !== null;
        const secrets: OidcSecrets = { nonce, codeVerifier, authTime: isAged ? 'required' : '' };
        return { url: url.href, secrets };
      }),

    /**
     * Redeems the code at the provider, and returns what it says about the person.
     * @param callbackUrl as the browser requested it, with its query
     * @throws SsoRefused
     */
    verify: (
      connection: SsoConnection,
      { callbackUrl, expects }: { callbackUrl: string; expects: OidcSecrets & { state: string } },
    ): Promise<Assertion> =>
      asked(async () => {
        const server = await metadata.of(connection.oidcDiscoveryUrl);
        const config = configurationOf(connection, server);
        const tokens = await authorizationCodeGrant(config, new URL(callbackUrl), {
          expectedState: expects.state,
          expectedNonce: expects.nonce,
          pkceCodeVerifier: expects.codeVerifier,
          idTokenExpected: true,
          // Not `maxAge`: the library measures it from now, and people need time between their password and a second
          // factor. `isRecentEnough` measures the sign-in's age from the time of the request instead.
        });
        const [claims, idToken] = [tokens.claims(), tokens.id_token];
        if (!claims || idToken === undefined) throw new SsoRefused('malformed', 'The provider returned no ID token');
        await assertSignedBy(await keySets.ofJustNow(server.jwks_uri ?? ''), idToken, algorithmsOf(server));
        const lacks = mappedClaims(connection).some((name) => claims[name] === undefined);
        enableNonRepudiationChecks(config); // for a signed response
        const more =
          lacks && server.userinfo_endpoint
            ? await fetchUserInfo(config, tokens.access_token, claims.sub).catch(refuseUnusableKey)
            : {};
        const assertion = assertionOf({ ...more, ...claims }, connection, idToken);
        // OpenID Connect Core §3.1.2.1 requires it; the person could have removed `max_age` from the request.
        if (expects.authTime === 'required' && assertion.authenticatedAt === null)
          throw new SsoRefused('auth_time_missing', 'The provider does not say when the person signed in (auth_time)');
        return assertion;
      }),

    /**
     * Returns the URL of the provider's logout (OpenID Connect RP-Initiated Logout 1.0 §2); null if it has none.
     * @throws SsoRefused if the provider cannot be reached, or its metadata cannot be used
     */
    leave: (
      connection: SsoConnection,
      { state, idToken }: { state: string; idToken: string },
    ): Promise<string | null> =>
      asked(async () => {
        const server = await metadata.of(connection.oidcDiscoveryUrl);
        if (!server.end_session_endpoint) return null;
        return buildEndSessionUrl(configurationOf(connection, server), {
          post_logout_redirect_uri: signedOutUrlOf(baseUrl, connection.id),
          state,
          ...(idToken.length <= maxHintLength && { id_token_hint: idToken }),
        }).href;
      }),

    /**
     * Checks and reads a logout token of the provider.
     * @throws SsoRefused
     */
    verifyLogout: (connection: SsoConnection, logoutToken: string): Promise<LogoutToken> =>
      asked(async () => {
        const { oidcClientId: clientId, oidcDiscoveryUrl } = connection;
        if (!clientId) throw new SsoRefused('configuration_incomplete', 'The connection has no client ID');
        const server = await metadata.of(oidcDiscoveryUrl);
        return verifyLogoutToken(logoutToken, {
          issuer: server.issuer,
          clientId,
          now: now(),
          algorithms: algorithmsOf(server),
          keys: await keySets.at(server.jwks_uri ?? ''),
        });
      }),
  };
}

export type OidcProtocol = ReturnType<typeof createOidcProtocol>;
