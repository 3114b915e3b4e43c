import type { Client } from './clients.js';
import { withParameters } from './redirect-uris.js';

/**
 * Returns the address at which an application starts a sign-in itself (OpenID Connect Core 1.0 §4, "Initiating Login
 * from a Third Party"); null if it has none. That sign-in has a `state` of whatever browser opens the address.
 * @param issuer this service's, which an application with several issuers needs to know
 * @param loginHint the person, if they have just proved who they are
 */
export const initiateLoginUrl = (
  { initiateLoginUri }: Pick<Client, 'initiateLoginUri'>,
  issuer: string,
  loginHint: string | null,
): string | null =>
  initiateLoginUri === null ? null : withParameters(initiateLoginUri, { iss: issuer, login_hint: loginHint });
