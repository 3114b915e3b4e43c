import type { SsoConnection } from '../../../../entities/sso-connection.js';
import type { ServiceProvider } from './settings.js';
import { samlNamespaces } from './xml.js';

const bindings = 'urn:oasis:names:tc:SAML:2.0:bindings';

/**
 * What a provider imports to know the connection (SAML 2.0 Metadata §2.4.4).
 * @param certificate in PEM, of the key that signs our messages
 */
export function serviceProviderMetadata(
  { samlNameIdFormat, samlWantAssertionsSigned }: SsoConnection,
  { entityId, acsUrl, sloUrl }: ServiceProvider,
  certificate: string,
): string {
  const bare = certificate.replace(/-----[A-Z ]+-----|\s/g, '');
  const format = samlNameIdFormat ? `\n    <NameIDFormat>${escaped(samlNameIdFormat)}</NameIDFormat>` : '';
  return `<?xml version="1.0" encoding="UTF-8"?>
<EntityDescriptor xmlns="${samlNamespaces.metadata}" entityID="${escaped(entityId)}">
  <SPSSODescriptor protocolSupportEnumeration="${samlNamespaces.protocol}" AuthnRequestsSigned="true" WantAssertionsSigned="${samlWantAssertionsSigned}">
    <KeyDescriptor use="signing">
      <KeyInfo xmlns="${samlNamespaces.signature}"><X509Data><X509Certificate>${bare}</X509Certificate></X509Data></KeyInfo>
    </KeyDescriptor>
    <SingleLogoutService Binding="${bindings}:HTTP-Redirect" Location="${escaped(sloUrl)}"/>
    <SingleLogoutService Binding="${bindings}:HTTP-POST" Location="${escaped(sloUrl)}"/>${format}
    <AssertionConsumerService index="0" isDefault="true" Binding="${bindings}:HTTP-POST" Location="${escaped(acsUrl)}"/>
  </SPSSODescriptor>
</EntityDescriptor>
`;
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (text: string) => text.replace(/[&<>"]/g, (character) => entities[character] ?? '');
