import type { SsoConnection } from '../../../entities/sso-connection.js';
import { callbackUrlOf } from '../sso-protocols/oidc/oidc.js';
import { serviceProviderOf as samlServiceProviderOf } from '../sso-protocols/saml/settings.js';

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
  const nothing = { acsUrl: null, entityId: null, metadataUrl: null, redirectUri: null };
  if (type === 'oidc') return { ...nothing, protocol: type, redirectUri: callbackUrlOf(baseUrl, id) };
  const { acsUrl, entityId } = samlServiceProviderOf(baseUrl, id);
  // Our name is where our metadata is.
  return { ...nothing, protocol: type, acsUrl, entityId, metadataUrl: entityId };
}
