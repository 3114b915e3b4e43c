import type { Client } from './clients.js';
import { withParameters } from './redirect-uris.js';

/**
 * Where an application begins a sign-in by itself, asked from here (OpenID Connect Core 1.0 §4, "Initiating Login from a Third Party"); null
 * where it has not said. What it begins there has a `state` of the browser that is in front of it, whichever that is.
 * @param issuer of this service, which an application of several needs to know
 * @param loginHint who it is, where they have just proved it
 */
export const initiateLoginUrl = (
  { initiateLoginUri }: Pick<Client, 'initiateLoginUri'>,
  issuer: string,
  loginHint: string | null,
): string | null =>
  initiateLoginUri === null ? null : withParameters(initiateLoginUri, { iss: issuer, login_hint: loginHint });
