import {
  AuthorizationResponseError,
  ClientError,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
} from 'openid-client';
import { OutboundError } from '../../../platform/outbound/errors.js';
import { type SsoRefusal, SsoRefused } from '../assertion.js';
import { providerMessage } from '../provider-message.js';

/** Turns an error of the library or the network into a refusal. Other errors are faults, and returned as they are. */
export function asRefusal(error: unknown): Error {
  if (error instanceof SsoRefused) return error;
  const outbound = causes(error).find((cause) => cause instanceof OutboundError);
  if (outbound) return ofNetwork(outbound, error);
  if (error instanceof AuthorizationResponseError) return answeredWith(error);
  if (error instanceof ResponseBodyError) return ofBody(error);
  if (error instanceof WWWAuthenticateChallengeError)
    return new SsoRefused('client_refused', 'The provider does not accept the client ID and secret', { cause: error });
  if (error instanceof ClientError) return ofLibrary(error);
  return error instanceof Error ? error : new Error('unknown failure', { cause: error });
}

const causes = (error: unknown): unknown[] => {
  const found: unknown[] = [];
  for (let at = error; at instanceof Error && found.length < 8; at = at.cause) found.push(at);
  return found;
};

/** RFC 6749 §4.1.2.1 allows more characters; what comes through the browser is shown only if it looks like a code. */
const named = (code: string): string => (/^[a-z_]{1,60}$/.test(code) ? code : 'an error');

function ofNetwork(outbound: OutboundError, cause: unknown): SsoRefused {
  const code: SsoRefusal = outbound.reason === 'size' ? 'too_large' : 'provider_unreachable';
  return new SsoRefused(code, `The provider could not be reached: ${outbound.message}`, { cause });
}

/** An error response of the token endpoint (RFC 6749 §5.2). */
function ofBody(error: ResponseBodyError): SsoRefused {
  const isClient = error.error === 'invalid_client' || error.error === 'unauthorized_client';
  if (!isClient) return answeredWith(error);
  const words = providerMessage(error.error_description);
  return new SsoRefused('client_refused', `The provider does not accept the client ID and secret${words}`, {
    cause: error,
  });
}

const answeredWith = (error: ResponseBodyError | AuthorizationResponseError): SsoRefused =>
  new SsoRefused(
    'provider_error',
    `The provider answered with ${named(error.error)}${providerMessage(error.error_description)}`,
    { cause: error },
  );

/** The refusal of a token, by the claim that the library rejects. */
export const claimRefusals: Readonly<Record<string, SsoRefusal>> = {
  iss: 'issuer_mismatch',
  aud: 'audience_mismatch',
  azp: 'audience_mismatch',
  nonce: 'nonce_mismatch',
  sub: 'subject_missing',
  exp: 'expired',
  iat: 'not_yet_valid',
  nbf: 'not_yet_valid',
};
const texts: Partial<Record<SsoRefusal, string>> = {
  issuer_mismatch: 'The response is from another issuer',
  audience_mismatch: 'The ID token is for another client',
  nonce_mismatch: 'The ID token is not for this sign-in: its nonce is different',
  state_mismatch: 'The response is not for this sign-in: its state is different',
  subject_missing: 'The response does not identify the person',
  expired: 'The ID token has expired',
  not_yet_valid: 'The ID token is not valid yet',
  algorithm_refused: 'The ID token is not signed with an asymmetric algorithm',
  signature_invalid: 'The ID token is not signed with a key of the provider',
  malformed: 'The response does not conform to OpenID Connect',
  provider_unreachable: 'The provider did not respond as expected',
};
/** Returns a refusal with its message. */
export const refused = (code: SsoRefusal, cause: unknown): SsoRefused =>
  new SsoRefused(code, texts[code] ?? 'The response is not accepted', { cause });

function ofLibrary(error: ClientError): SsoRefused {
  const { code = '' } = error;
  const details = detailsOf(error);
  if (code === 'OAUTH_TIMEOUT' || code === 'OAUTH_ABORT') return refused('provider_unreachable', error);
  if (code === 'OAUTH_RESPONSE_IS_NOT_CONFORM')
    return refused(statusOf(error) >= 500 ? 'provider_unreachable' : 'provider_error', error);
  if (code === 'OAUTH_KEY_SELECTION_FAILED') return refused('signature_invalid', error);
  if (code === 'OAUTH_UNSUPPORTED_OPERATION') return refused('algorithm_refused', error);
  if (details.claim !== undefined) return refused(claimRefusals[details.claim] ?? 'malformed', error);
  const said = causes(error)
    .map((cause) => (cause as Error).message)
    .join('\n');
  const found = sayings.find(([pattern]) => pattern.test(said));
  return refused(found?.[1] ?? 'malformed', error);
}

/** Errors that the library tells apart only by their messages. */
const sayings: readonly (readonly [RegExp, SsoRefusal])[] = [
  [/"alg" header/, 'algorithm_refused'],
  [/signature verification/, 'signature_invalid'],
  [/"iss"|issuer/, 'issuer_mismatch'],
  [/"state"/, 'state_mismatch'],
  [/"nonce"/, 'nonce_mismatch'],
  [/"aud"|"azp"/, 'audience_mismatch'],
  [/"sub"/, 'subject_missing'],
  [/"exp"/, 'expired'],
];

/** Returns which claim an error is about; the error or one of its causes names it. */
function detailsOf(error: ClientError): { claim?: string } {
  for (const { cause } of causes(error) as Error[]) {
    const claim = (cause as { claim?: unknown } | undefined)?.claim;
    if (typeof claim === 'string') return { claim };
  }
  return {};
}

function statusOf(error: ClientError): number {
  for (const { cause } of causes(error) as Error[]) {
    const status = (cause as { status?: unknown } | undefined)?.status;
    if (typeof status === 'number') return status;
  }
  return 0;
}
