import type { SsoConnection } from '../../../../entities/sso-connection.js';
import { SsoRefused } from '../assertion.js';
import { certificatesIn } from './certificates.js';

/** The URLs of a connection's messages, and its name for the provider (SAML 2.0 Metadata §2.4.4). */
export interface ServiceProvider {
  entityId: string;
  acsUrl: string;
  sloUrl: string;
}

export const samlServiceProviderOf = (baseUrl: string, connectionId: string): ServiceProvider => ({
  entityId: `${baseUrl}/sso/saml/${connectionId}/metadata`,
  acsUrl: `${baseUrl}/sso/saml/${connectionId}/acs`,
  sloUrl: `${baseUrl}/sso/saml/${connectionId}/slo`,
});

/** What a connection needs before people can be sent to its provider. */
export interface SamlProvider {
  entityId: string;
  ssoUrl: string;
  /** In PEM; several while the provider changes its key. */
  certificates: string[];
}

/** @throws SsoRefused `configuration_incomplete` */
export function providerOf(connection: SsoConnection): SamlProvider {
  const { samlEntityId, samlSsoUrl, samlSigningCert } = connection;
  const certificates = certificatesIn(samlSigningCert ?? '');
  if (!samlEntityId || !samlSsoUrl || !certificates.length) {
    throw new SsoRefused('configuration_incomplete', 'The connection lacks its entity ID, sign-in URL or certificate');
  }
  return { entityId: samlEntityId, ssoUrl: samlSsoUrl, certificates };
}
