import type { KeyObject } from 'node:crypto';
import type { SsoConnection } from '../../../../entities/sso-connection.js';
import { loadLibrary } from './library.js';
import { providerOf, samlServiceProviderOf } from './settings.js';
import { signedUrl } from './signed-url.js';

/** The key that signs a connection's messages, and to which its provider may encrypt. */
export interface ServiceProviderKey {
  privateKey: KeyObject;
  /** In PEM. */
  certificate: string;
}

export interface RequestToSend {
  /** The id of the row in `sso_requests`; the message's `ID` is an underscore and this. */
  requestId: string;
  /** The RelayState, which the response returns: a secret, works once, at most 80 bytes (SAML 2.0 Bindings §3.4.3). */
  state: string;
  /** Whether the person has to authenticate again, even if the connection does not require it of everybody. */
  forceAuthn?: boolean;
}

/**
 * Returns the URL that takes a browser to the provider with a signed AuthnRequest (SAML 2.0 Bindings §3.4, Core
 * §3.4.1).
 * @throws SsoRefused `configuration_incomplete`
 */
export async function authnRequestUrl(
  connection: SsoConnection,
  { requestId, state, forceAuthn }: RequestToSend,
  { baseUrl, key }: { baseUrl: string; key: ServiceProviderKey },
): Promise<string> {
  const provider = providerOf(connection);
  const { entityId, acsUrl } = samlServiceProviderOf(baseUrl, connection.id);
  const { SAML } = await loadLibrary();
  const library = new SAML({
    idpCert: provider.certificates,
    issuer: entityId,
    callbackUrl: acsUrl,
    entryPoint: provider.ssoUrl,
    identifierFormat: connection.samlNameIdFormat,
    forceAuthn: forceAuthn || connection.forceAuthn,
    // The provider decides on the method: several refuse every request that asks for passwords.
    disableRequestedAuthnContext: true,
    generateUniqueId: () => `_${requestId}`,
  });
  return signedUrl(await library.getAuthorizeUrlAsync(state, undefined, {}), connection, key.privateKey);
}
