import { withParameters } from '../clients/redirect-uris.js';
import { OAuthError } from '../oauth-error.js';
import { type AuthorizeRequest, type ParsedAuthorizeRequest, parseAuthorizeRequest } from './authorize-request.js';
import { onlyOnce, type ReadParameters } from './parameters.js';

/** A page of the person's own account, as its path under `/oauth/`. A sign-in can have no other destination. */
export type AccountPage = `account${string}`;

const accountPages =
  /^account(?:\/(?:password|email|recovery-codes|launch|factors\/(?:totp|webauthn|email-otp|[0-9a-f-]{36}(?:\/name)?)))?$/;
/** Parameters that a relying party's request always has, and ours never. */
const ofClients = ['redirect_uri', 'response_type'];

/**
 * Reads a sign-in that leads to a page of the person's account and not back to a client. It is an authorization request
 * except for where it ends: the path is one of ours, so is its origin, and no code is issued.
 * @returns null for any other request
 * @throws OAuthError invalid_request
 */
export function parseAccountRequest(read: ReadParameters, baseUrl: string): ParsedAuthorizeRequest | null {
  const destination = read.values.get('destination');
  // A client may use a parameter of this name for itself, which is ignored like any unknown one.
  if (destination === undefined || ofClients.some((name) => read.values.has(name) || read.malformed.includes(name))) {
    return null;
  }
  const values = onlyOnce(read, ['client_id', 'destination']);
  if (!accountPages.test(destination)) throw new OAuthError('invalid_request', 'destination is unknown');
  const redirectUri = accountUrl(baseUrl, destination as AccountPage, {
    client_id: values.get('client_id') ?? null,
    ui_locales: values.get('ui_locales') ?? null,
  });
  const requested = { ...read, values: new Map([...values, ['redirect_uri', redirectUri], ['response_type', 'code']]) };
  const parsed = parseAuthorizeRequest(requested, {
    clientType: 'confidential',
    redirectUris: [redirectUri],
    scopes: [],
    consentRequired: false,
    requirePkce: false,
  });
  return 'redirected' in parsed ? parsed : { request: replayedAs(parsed.request, destination) };
}

/** The address of an account page. */
export const accountUrl = (
  baseUrl: string,
  page: AccountPage,
  parameters: Record<string, string | null> = {},
): string => withParameters(`${baseUrl}/oauth/${page}`, parameters);

/** The forms on the way carry the parameters as they came. */
function replayedAs(request: AuthorizeRequest, destination: string): AuthorizeRequest {
  const { redirect_uri: _, response_type: __, ...parameters } = request.parameters;
  return { ...request, responseMode: 'query', parameters: { ...parameters, destination } };
}
