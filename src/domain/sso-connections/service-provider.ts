import type { SsoConnection } from '../../../entities/sso-connection.js';
import { backchannelLogoutUrlOf, callbackUrlOf, signedOutUrlOf } from '../sso-protocols/oidc/oidc.js';
import { samlServiceProviderOf } from '../sso-protocols/saml/settings.js';
import { type CertificateDates, datesOf } from './certificates.js';

/** What the administrator of an identity provider enters there. What is not of the protocol is null. */
export interface ServiceProvider {
  protocol: SsoConnection['type'];
  /** SAML: where answers are posted to, and our name. */
  acsUrl: string | null;
  entityId: string | null;
  metadataUrl: string | null;
  /** SAML: where messages of single logout are sent to. */
  sloUrl: string | null;
  /** OpenID Connect: where the browser comes back to, after a sign-in and after a sign-out. */
  redirectUri: string | null;
  postLogoutRedirectUri: string | null;
  /** OpenID Connect: where the provider itself says that a session there is over. */
  backchannelLogoutUri: string | null;
  /** SAML: of the key that signs our messages; null before the first of them, which makes it. */
  signingCertificate: CertificateDates | null;
}

/**
 * @param baseUrl without a slash at its end
 * @param certificate of the connection's key, where it has one
 */
export function serviceProviderOf(
  baseUrl: string,
  { id, type }: Pick<SsoConnection, 'id' | 'type'>,
  certificate: string | null,
): ServiceProvider {
  const ofOidc = { redirectUri: null, postLogoutRedirectUri: null, backchannelLogoutUri: null };
  const ofSaml = { acsUrl: null, entityId: null, metadataUrl: null, sloUrl: null, signingCertificate: null };
  if (type === 'oidc') {
    return {
      ...ofSaml,
      protocol: type,
      redirectUri: callbackUrlOf(baseUrl, id),
      postLogoutRedirectUri: signedOutUrlOf(baseUrl, id),
      backchannelLogoutUri: backchannelLogoutUrlOf(baseUrl, id),
    };
  }
  const { acsUrl, entityId, sloUrl } = samlServiceProviderOf(baseUrl, id);
  // Our name is where our metadata is.
  const signingCertificate = datesOf(certificate ?? '')[0] ?? null;
  return { ...ofOidc, protocol: type, acsUrl, entityId, metadataUrl: entityId, sloUrl, signingCertificate };
}
