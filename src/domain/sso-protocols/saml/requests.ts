import type { KeyObject } from 'node:crypto';
import type { SsoConnection } from '../../../../entities/sso-connection.js';
import { loadLibrary } from './library.js';
import { providerOf, samlServiceProviderOf } from './settings.js';
import { signedUrl } from './signed-url.js';

/** The key that signs a connection's messages, and that its provider may encrypt to. */
export interface ServiceProviderKey {
  privateKey: KeyObject;
  /** In PEM. */
  certificate: string;
}

export interface RequestToSend {
  /** Of the row in `sso_requests`; the message's `ID` is this after an underscore. */
  requestId: string;
  /** The RelayState, which comes back with the answer: a secret that works once, at most 80 bytes (SAML 2.0 Bindings §3.4.3). */
  state: string;
  /** That the person proves anew who they are, also where the connection does not ask it of everybody. */
  forceAuthn?: boolean;
}

/**
 * The URL that takes a browser to the provider with a signed AuthnRequest (SAML 2.0 Bindings §3.4, Core §3.4.1).
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
    // How people prove themselves is the provider's business: several refuse every request that asks for passwords.
    disableRequestedAuthnContext: true,
    generateUniqueId: () => `_${requestId}`,
  });
  return signedUrl(await library.getAuthorizeUrlAsync(state, undefined, {}), connection, key.privateKey);
}
