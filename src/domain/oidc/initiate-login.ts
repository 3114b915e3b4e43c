import type { Client } from './clients.js';
import { withParameters } from './redirect-uris.js';

/**
 * The address at which an application begins a sign-in by itself (OpenID Connect Core 1.0 §4, "Initiating Login from a
 * Third Party"); null if it has none. That sign-in has a `state` of the browser that opens the address, whichever that
 * is.
 * @param issuer of this service, which an application of several needs to know
 * @param loginHint the person, if they have just proved who they are
 */
export const initiateLoginUrl = (
  { initiateLoginUri }: Pick<Client, 'initiateLoginUri'>,
  issuer: string,
  loginHint: string | null,
): string | null =>
  initiateLoginUri === null ? null : withParameters(initiateLoginUri, { iss: issuer, login_hint: loginHint });
