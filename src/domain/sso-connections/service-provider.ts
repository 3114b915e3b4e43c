import type { SsoConnection } from '../../../entities/sso-connection.js';
import { backchannelLogoutUrlOf, callbackUrlOf, signedOutUrlOf } from '../sso-protocols/oidc/oidc.js';
import { samlServiceProviderOf } from '../sso-protocols/saml/settings.js';
import { type CertificateDates, datesOf } from './certificates.js';

/** What the administrator of an identity provider enters there. Fields of the other protocol are null. */
export interface ServiceProvider {
  protocol: SsoConnection['type'];
  /** SAML: where responses are posted to, and our entity id. */
  acsUrl: string | null;
  entityId: string | null;
  metadataUrl: string | null;
  /** SAML: where messages of Single Logout are sent to. */
  sloUrl: string | null;
  /** OpenID Connect: where the browser returns to after a sign-in, and after a sign-out. */
  redirectUri: string | null;
  postLogoutRedirectUri: string | null;
  /** OpenID Connect: where the provider itself reports that a session there has ended. */
  backchannelLogoutUri: string | null;
  /** SAML: the certificate of the key that signs our messages; null before the first one, which creates the key. */
  signingCertificate: CertificateDates | null;
}

/**
 * Returns what the administrator of a connection's identity provider enters there.
 * @param baseUrl without a trailing slash
 * @param certificate of the connection's key, if it has one
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
  // Our entity id is the URL of our metadata.
  const signingCertificate = datesOf(certificate ?? '')[0] ?? null;
  return { ...ofOidc, protocol: type, acsUrl, entityId, metadataUrl: entityId, sloUrl, signingCertificate };
}
