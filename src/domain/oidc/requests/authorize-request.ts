import { isRegistered } from '../clients/redirect-uris.js';
import { OAuthError, type OAuthErrorCode } from '../oauth-error.js';
import { allowedScopes, type ScopeName } from '../scopes.js';
import { isChallenge } from '../tokens/pkce.js';
import { levelIn, type RequestedLevel } from './acr-values.js';
import { maxHintLength } from './hints.js';
import { onlyOnce, type Parameters, type ReadParameters } from './parameters.js';

/** How the client is answered (OAuth 2.0 Multiple Response Type Encoding Practices; Form Post Response Mode 1.0). */
export type ResponseMode = 'query' | 'form_post';

/** A well-formed authorization request (RFC 6749 §4.1.1, OpenID Connect Core 3.1.2.1). */
export interface AuthorizeRequest extends RequestedLevel {
  redirectUri: string;
  responseMode: ResponseMode;
  scope: ScopeName[];
  state: string | null;
  nonce: string | null;
  codeChallenge: string | null;
  prompt: { none: boolean; login: boolean; consent: boolean; selectAccount: boolean };
  /** The greatest age of the sign-in that the client accepts, in seconds. */
  maxAge: number | null;
  idTokenHint: string | null;
  loginHint: string | null;
  /** Id or slug of the organization that the sign-in is for. */
  organization: string | null;
  /** What the forms of the hosted pages carry along, so that each step checks everything again. */
  parameters: Record<string, string>;
}

/** The settings of a client that decide about its requests. */
export interface AuthorizeClient {
  clientType: 'public' | 'confidential';
  redirectUris: readonly string[];
  /** The scopes that it may be given. */
  scopes: readonly string[];
  /** Whether it is a third-party application. */
  consentRequired: boolean;
  requirePkce: boolean;
}

/**
 * A refusal that is sent back to the client, as OpenID Connect says; any other one is shown on a page (contract §10).
 */
export interface RedirectedError {
  redirectUri: string;
  responseMode: ResponseMode;
  state: string | null;
  error: OAuthErrorCode;
  description: string;
}

export type ParsedAuthorizeRequest = { request: AuthorizeRequest } | { redirected: RedirectedError };

const known = [
  'client_id',
  'redirect_uri',
  'response_type',
  'response_mode',
  'scope',
  'state',
  'nonce',
  'code_challenge',
  'code_challenge_method',
  'prompt',
  'max_age',
  'id_token_hint',
  'login_hint',
  'ui_locales',
  'claims_locales',
  'display',
  'acr_values',
  'claims',
  'method',
  'organization',
  'request',
  'request_uri',
  'registration',
] as const;
/** Whether an authorization request may have a parameter of this name. */
export const isAuthorizeParameter = (name: string): boolean => (known as readonly string[]).includes(name);
/**
 * RFC 6749 does not limit lengths; these leave room in a request line, which with all headers is limited to 16 KiB.
 * Some clients keep in `state` where to continue.
 */
const maxLengths: Readonly<Record<string, number>> = { id_token_hint: maxHintLength, claims: 8192, state: 8192 };
const maxOtherLength = 2048;
/**
 * In bytes of the header that carries it back: text that is not ASCII takes up to nine times as much there, and proxies
 * accept 16 KB of headers at most.
 */
const maxReturnedLength = 8192;
/** Whether a `state` can go back in an answer's `Location`. */
export const isReturnable = (state: string): boolean =>
  state.length <= maxReturnedLength && new URLSearchParams([['', state]]).toString().length <= maxReturnedLength + 1;
const prompts = ['none', 'login', 'consent', 'select_account'];

/** The client that a request names, for its look-up. @throws OAuthError invalid_request */
export function clientIdOf(read: ReadParameters): string {
  const clientId = onlyOnce(read, ['client_id']).get('client_id');
  if (clientId === undefined) throw new OAuthError('invalid_request', 'client_id is missing');
  return clientId;
}

/**
 * Reads an authorization request of a client that was found.
 * @throws OAuthError for errors that are shown on a page: nothing malformed is answered by a redirect, and nothing at
 *   all before the redirect URI is known to be the client's
 */
export function parseAuthorizeRequest(read: ReadParameters, client: AuthorizeClient): ParsedAuthorizeRequest {
  const values = onlyOnce(read, known);
  const redirectUri = values.get('redirect_uri');
  if (redirectUri === undefined) throw invalid('redirect_uri is missing');
  if (!isRegistered(redirectUri, client.redirectUris)) throw invalid('redirect_uri is not registered for this client');
  assertReadable(values);

  const responseMode = responseModeIn(values, redirectUri);
  const state = values.get('state') ?? null;
  const redirected = (error: OAuthErrorCode, description: string) => ({
    redirected: { redirectUri, responseMode, state, error, description },
  });
  // OpenID Connect Core 3.1.2.6 has an error for each of these, which the relying party gets by a redirect.
  if (values.has('request')) return redirected('request_not_supported', 'request objects are not supported');
  if (values.has('request_uri')) return redirected('request_uri_not_supported', 'request_uri is not supported');
  if (values.has('registration')) return redirected('registration_not_supported', 'registration is not supported');

  assertResponse(values);
  const scope = allowedScopes(values.get('scope'), client.scopes);
  const parsed = {
    request: {
      redirectUri,
      responseMode,
      scope,
      state,
      nonce: values.get('nonce') ?? null,
      codeChallenge: challengeIn(values, client),
      prompt: promptIn(values),
      maxAge: maxAgeIn(values),
      ...levelIn(values.get('acr_values')),
      idTokenHint: values.get('id_token_hint') ?? null,
      loginHint: values.get('login_hint') ?? null,
      organization: values.get('organization') ?? null,
      parameters: Object.fromEntries([...values].filter(([name]) => isAuthorizeParameter(name))),
    },
  };
  // Membership is what the scope `org` tells; without it, nobody is asked about that (docs/decisions/0063).
  if (client.consentRequired && values.has('organization') && !scope.includes('org'))
    return redirected('invalid_scope', 'organization is for requests with the scope org');
  return parsed;
}

const invalid = (description: string) => new OAuthError('invalid_request', description);

function assertReadable(values: Parameters) {
  for (const name of known) {
    const value = values.get(name);
    if (value === undefined) continue;
    const maxLength = maxLengths[name] ?? maxOtherLength;
    if (value.length > maxLength) throw invalid(`${name} is longer than ${maxLength} characters`);
    if (name === 'state' && !isReturnable(value))
      throw invalid(`state is longer than ${maxReturnedLength} bytes in a URL`);
    // `claims` is JSON, which some clients write on several lines.
    const text = name === 'claims' ? value.replace(/[\t\r\n]/g, '') : value;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    if (/[\x00-\x1f\x7f]/.test(text)) throw invalid(`${name} has a control character`);
  }
}

function assertResponse(values: Parameters) {
  const responseType = values.get('response_type');
  if (responseType === undefined) throw invalid('response_type is missing');
  if (responseType !== 'code') throw new OAuthError('unsupported_response_type', 'response_type must be code');
}

function responseModeIn(values: Parameters, redirectUri: string): ResponseMode {
  const mode = values.get('response_mode') ?? 'query';
  if (mode !== 'query' && mode !== 'form_post') throw invalid('response_mode must be query or form_post');
  if (mode === 'form_post' && !/^https?:/i.test(redirectUri))
    throw invalid('response_mode form_post is for redirect URIs of http and https');
  return mode;
}

const challengeMissing = 'this client must send a code_challenge: switch PKCE with S256 on in its library';

/** RFC 7636 §4.3, S256 only. */
function challengeIn(values: Parameters, client: AuthorizeClient): string | null {
  const challenge = values.get('code_challenge');
  const method = values.get('code_challenge_method');
  if (challenge === undefined) {
    if (method !== undefined) throw invalid('code_challenge is missing');
    if (client.clientType === 'public') throw invalid(challengeMissing);
    // Many server libraries only use PKCE if configured to.
    if (client.requirePkce) throw invalid(`${challengeMissing}, unless it is registered with require_pkce false`);
    return null;
  }
  // Without a method RFC 7636 means plain, which is not offered.
  if (method !== 'S256') throw invalid('code_challenge_method must be S256');
  if (!isChallenge(challenge)) throw invalid('code_challenge must be 43 characters of base64url');
  return challenge;
}

function promptIn(values: Parameters): AuthorizeRequest['prompt'] {
  const requested = values.get('prompt')?.split(' ').filter(Boolean) ?? [];
  const unknown = requested.find((value) => !prompts.includes(value));
  if (unknown !== undefined) throw invalid('prompt has an unknown value');
  if (requested.includes('none') && requested.length > 1) throw invalid('prompt=none cannot be combined with others');
  return {
    none: requested.includes('none'),
    login: requested.includes('login'),
    consent: requested.includes('consent'),
    selectAccount: requested.includes('select_account'),
  };
}

function maxAgeIn(values: Parameters): number | null {
  const text = values.get('max_age');
  if (text === undefined) return null;
  if (!/^\d{1,10}$/.test(text)) throw invalid('max_age must be a number of seconds');
  return Number(text);
}
