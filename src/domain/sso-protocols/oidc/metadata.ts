import {
  allowInsecureRequests,
  type CustomFetch,
  customFetch,
  discovery,
  None,
  type ServerMetadata,
} from 'openid-client';
import { type Clock, minutes } from '../../../platform/clock.js';
import { SsoRefused } from '../assertion.js';
import { asRefusal } from './refusals.js';

/** Signature algorithms that need only the provider's public key: never `none`, and none with a shared secret. */
const idTokenAlgorithms: readonly string[] = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

/** Returns those of them that a provider uses. */
export const algorithmsOf = (server: ServerMetadata): readonly string[] =>
  server.id_token_signing_alg_values_supported ?? [];

/** How long a provider's metadata is used before it is fetched again, and for how many providers it is cached. */
const cachedFor = minutes(5);
const cacheSize = 500;

const wellKnown = '/.well-known/openid-configuration';

/**
 * Fetches and caches the metadata of providers, by their discovery URL. Failures are not cached.
 * @param fetch the guarded one
 */
export function createMetadata({ fetch, now }: { fetch: CustomFetch; now: Clock }) {
  const cache = new Map<string, { server: ServerMetadata; at: number }>();

  async function read(url: URL): Promise<ServerMetadata> {
    const options = { [customFetch]: fetch, execute: [allowInsecureRequests] }; // the guard decides on http
    const found = await discovery(url, 'discovery', undefined, None(), options).catch((error) => {
      throw asRefusal(error);
    });
    return usable(found.serverMetadata(), url);
  }

  return {
    /**
     * Returns a provider's metadata (OpenID Connect Discovery 1.0 §3).
     * @param discoveryUrl with or without `/.well-known/openid-configuration` at its end
     * @throws SsoRefused algorithm_refused, configuration_incomplete, issuer_mismatch, provider_unreachable,
     *   provider_error, malformed
     */
    async of(discoveryUrl: string | null): Promise<ServerMetadata> {
      const url = urlOf(discoveryUrl);
      const at = now().getTime();
      const known = cache.get(url.href);
      if (known && Math.abs(at - known.at) < cachedFor) return known.server; // also after the clock was set back
      const server = await read(url);
      cache.delete(url.href);
      const [oldest] = cache.keys();
      if (oldest !== undefined && cache.size >= cacheSize) cache.delete(oldest);
      cache.set(url.href, { server, at });
      return server;
    },
  };
}

function urlOf(text: string | null): URL {
  if (text === null || !URL.canParse(text))
    throw new SsoRefused('configuration_incomplete', 'The connection has no discovery URL');
  const url = new URL(text);
  if (!url.pathname.endsWith(wellKnown)) url.pathname = `${url.pathname.replace(/\/$/, '')}${wellKnown}`;
  return url;
}

/** Returns the checked metadata that we use: its issuer is the one asked (OpenID Connect Discovery 1.0 §4.3). */
function usable(server: ServerMetadata, asked: URL): ServerMetadata {
  const said = `${server.issuer.replace(/\/$/, '')}${wellKnown}`;
  if (said !== asked.href)
    throw new SsoRefused('issuer_mismatch', 'The issuer in the discovery document does not match its URL');
  const { authorization_endpoint, token_endpoint, jwks_uri } = server;
  if (!authorization_endpoint || !isUrl(token_endpoint) || !isUrl(jwks_uri))
    throw new SsoRefused(
      'configuration_incomplete',
      'The discovery document names no authorization_endpoint, token_endpoint or jwks_uri',
    );
  // Browsers are sent there, so it has to be https, or have the same scheme as the document.
  const isForBrowsers = (endpoint: string | undefined) => {
    const protocol = endpoint !== undefined && URL.canParse(endpoint) ? new URL(endpoint).protocol : null;
    return protocol === 'https:' || protocol === asked.protocol;
  };
  if (!isForBrowsers(authorization_endpoint))
    throw new SsoRefused('configuration_incomplete', 'The authorization_endpoint is not an https URL');
  const algorithms = listOf(server, 'id_token_signing_alg_values_supported', ['RS256']).filter((name) =>
    idTokenAlgorithms.includes(name),
  );
  if (algorithms.length === 0)
    throw new SsoRefused('algorithm_refused', 'The provider does not sign ID tokens with an asymmetric algorithm');
  const { end_session_endpoint, ...rest } = server;
  return {
    ...rest,
    // An unusable logout endpoint is left out: people can sign in without it.
    ...(end_session_endpoint && isForBrowsers(end_session_endpoint) && { end_session_endpoint }),
    id_token_signing_alg_values_supported: algorithms,
    token_endpoint_auth_methods_supported: listOf(server, 'token_endpoint_auth_methods_supported', [
      'client_secret_basic',
    ]),
  };
}

const isUrl = (text: unknown): boolean => typeof text === 'string' && URL.canParse(text);

type Lists = 'id_token_signing_alg_values_supported' | 'token_endpoint_auth_methods_supported';

/** Returns a list of the document, which the library does not check. @param otherwise its default (Discovery 1.0 §3) */
function listOf(server: ServerMetadata, name: Lists, otherwise: string[]): string[] {
  const said: unknown = server[name] ?? otherwise;
  if (!Array.isArray(said)) throw new SsoRefused('malformed', `The ${name} of the discovery document is not a list`);
  return said.filter((one): one is string => typeof one === 'string');
}
