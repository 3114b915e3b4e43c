import { createPublicKey, type JsonWebKey } from 'node:crypto';
import type { OAuthClient } from '../../../../entities/oauth-client.js';
import { invalidField } from '../../errors.js';
import { assertionAlgorithms } from './assertions.js';

/** A client as an administrator sets it; the service adds ids, hashes and times. */
export type ClientSettings = Pick<
  OAuthClient,
  | 'name'
  | 'clientType'
  | 'redirectUris'
  | 'postLogoutRedirectUris'
  | 'tokenEndpointAuthMethod'
  | 'requirePkce'
  | 'rotateRefreshTokens'
  | 'scopes'
  | 'consentRequired'
  | 'jwks'
  | 'jwksUri'
  | 'logoUrl'
  | 'initiateLoginUri'
  | 'backchannelLogoutUri'
  | 'backchannelLogoutSessionRequired'
>;

/**
 * Rules of a client's registration that the schema cannot express (RFC 7591 §2, RFC 8252, OIDC Registration §2).
 * @throws DomainError validation.failed naming the field
 */
export function assertClient(client: ClientSettings): void {
  const { clientType, tokenEndpointAuthMethod: method, requirePkce, rotateRefreshTokens, jwks, jwksUri } = client;
  if ((clientType === 'public') !== (method === 'none')) {
    throw invalidField('token_endpoint_auth_method', 'mismatch', 'must be none for public clients, and only for those');
  }
  if (clientType === 'public' && !requirePkce) {
    throw invalidField('require_pkce', 'required', 'cannot be disabled for public clients (RFC 9700 §2.1.1)');
  }
  if (clientType === 'public' && !rotateRefreshTokens) {
    throw invalidField('rotate_refresh_tokens', 'required', 'cannot be disabled for public clients (RFC 9700 §2.2.2)');
  }
  if (jwks && jwksUri) throw invalidField('jwks_uri', 'exclusive', 'cannot be used together with jwks');
  if ((method === 'private_key_jwt') !== Boolean(jwks || jwksUri)) {
    throw invalidField('jwks', 'mismatch', 'jwks or jwks_uri is required for private_key_jwt, and only for that');
  }
  if (jwks?.keys.some((key) => 'd' in key || 'k' in key)) {
    throw invalidField('jwks', 'private_key', 'contains a private key; register only public keys');
  }
  if (jwksUri && !isSecure(jwksUri)) throw invalidField('jwks_uri', 'scheme', 'must use https');
  assertSecure('initiate_login_uri', client.initiateLoginUri);
  assertSecure('backchannel_logout_uri', client.backchannelLogoutUri);
  client.redirectUris.forEach((uri, index) => {
    const problem = problemOfRedirectUri(uri);
    if (problem) throw invalidField(`redirect_uris[${index}]`, 'redirect_uri', problem);
  });
  client.postLogoutRedirectUris.forEach((uri, index) => {
    const problem = problemOfRedirectUri(uri);
    if (problem) throw invalidField(`post_logout_redirect_uris[${index}]`, 'redirect_uri', problem);
  });
}

/** @throws DomainError validation.failed */
function assertSecure(field: string, uri: string | null): void {
  if (uri !== null && !isSecure(uri))
    throw invalidField(field, 'redirect_uri', problemOfRedirectUri(uri) ?? 'must use https');
}

/**
 * At least one key has to be usable. A set may also contain others (RFC 7517 §5), but without a usable one every
 * request of the client would be refused without saying why; so it would be with a key that can be mistaken for
 * another.
 * @throws DomainError validation.failed
 */
export function assertUsableKeys(jwks: ClientSettings['jwks']): void {
  if (!jwks) return;
  const usable = jwks.keys.filter(isUsable) as JsonWebKey[];
  if (usable.length === 0)
    throw invalidField('jwks', 'unusable', `has no public key that can verify ${assertionAlgorithms.join(', ')}`);
  if (usable.some((key, index) => usable.slice(index + 1).some((other) => areAlike(key, other))))
    throw invalidField('jwks', 'ambiguous', 'has keys of one type that no kid tells apart (OpenID Connect Core 10.1)');
}

/**
 * Whether an assertion by one key can be mistaken for another's, judging by its header: an unnamed key has to be the
 * only one of its type.
 */
const areAlike = (one: JsonWebKey, other: JsonWebKey): boolean =>
  one.kty === other.kty && maybeSame(one.alg, other.alg) && maybeSame(one.kid, other.kid);
const maybeSame = (one: unknown, other: unknown) => one === undefined || other === undefined || one === other;

function isUsable(key: object): boolean {
  const jwk = key as JsonWebKey;
  const { alg, use = 'sig' } = jwk;
  if (use !== 'sig' || (alg !== undefined && !assertionAlgorithms.includes(alg as string))) return false;
  try {
    const { asymmetricKeyType, asymmetricKeyDetails } = createPublicKey({ key: jwk, format: 'jwk' });
    const { modulusLength = 0, namedCurve } = asymmetricKeyDetails ?? {};
    return asymmetricKeyType === 'rsa' ? modulusLength >= 2048 : namedCurve === 'prime256v1';
  } catch {
    return false;
  }
}

/** Why a URI cannot be a redirect URI; null when it can. Plain http is for loopback only (RFC 8252 §7.3). */
export function problemOfRedirectUri(uri: string): string | null {
  if (!URL.canParse(uri)) return 'must be an absolute URI';
  const { protocol, hostname, hash, username, password } = new URL(uri);
  // `URL` ignores all of these characters, and a browser may take the text for another address (RFC 3986 §3).
  if (/[\s\\\p{Cc}]/u.test(uri)) return 'must not contain blanks, backslashes or control characters';
  if (/^https?:/i.test(uri) && !/^https?:\/\/[^/]/i.test(uri))
    return 'must have two slashes and a host after its scheme';
  if (hash || uri.includes('#')) return 'must not have a fragment (RFC 6749 §3.1.2)';
  if (username || password) return 'must not contain credentials';
  if (uri.includes('*')) return 'must not contain a wildcard';
  if (/^https?:$/.test(protocol) && !/^(?:[a-z0-9._-]+|\[[\da-f:.]+\])$/.test(hostname))
    return 'must name a host as DNS allows it';
  if (protocol === 'https:') return null;
  if (protocol === 'http:') return isLoopback(hostname) ? null : 'must use https, unless it is a loopback address';
  // RFC 8252 §7.1: a private-use scheme is a reversed domain name, so that its owner can be told.
  return protocol.includes('.')
    ? null
    : 'must use https, or a private-use scheme with a dot, such as com.example.app:/callback';
}

const isSecure = (uri: string) => /^https?:/.test(uri) && problemOfRedirectUri(uri) === null;

const isLoopback = (hostname: string) =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
