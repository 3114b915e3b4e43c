import type { SsoConnection } from '../../../entities/sso-connection.js';

/** What the administrator of an identity provider enters there. What is not of the protocol is null. */
export interface ServiceProvider {
  protocol: SsoConnection['type'];
  /** SAML: where answers are posted to, and our name. */
  acsUrl: string | null;
  entityId: string | null;
  metadataUrl: string | null;
  /** OpenID Connect: where the browser comes back to. */
  redirectUri: string | null;
}

/** @param baseUrl without a slash at its end */
export function serviceProviderOf(baseUrl: string, { id, type }: Pick<SsoConnection, 'id' | 'type'>): ServiceProvider {
  const saml = `${baseUrl}/sso/saml/${id}`;
  return type === 'saml'
    ? {
        protocol: type,
        acsUrl: `${saml}/acs`,
        entityId: `${saml}/metadata`,
        metadataUrl: `${saml}/metadata`,
        redirectUri: null,
      }
    : {
        protocol: type,
        acsUrl: null,
        entityId: null,
        metadataUrl: null,
        redirectUri: `${baseUrl}/sso/oidc/${id}/callback`,
      };
}
