import type { SsoConnection } from '../../../../entities/sso-connection.js';
import { escapeMarkup } from '../../../platform/markup.js';
import type { ServiceProvider } from './settings.js';
import { samlNamespaces } from './xml.js';

const bindings = 'urn:oasis:names:tc:SAML:2.0:bindings';
const { signature: dsig, encryption: xenc, encryption11: xenc11 } = samlNamespaces;

/**
 * The methods of `openAssertion` that we prefer, best first (SAML 2.0 Metadata §2.4.1.1). AES-CBC is not listed: it is
 * for providers that know nothing better.
 */
const encryptionMethods = [
  `<EncryptionMethod Algorithm="${xenc11}aes256-gcm"/>`,
  `<EncryptionMethod Algorithm="${xenc11}aes128-gcm"/>`,
  `<EncryptionMethod Algorithm="${xenc11}rsa-oaep"><DigestMethod xmlns="${dsig}" Algorithm="${xenc}sha256"/><MGF xmlns="${xenc11}" Algorithm="${xenc11}mgf1sha256"/></EncryptionMethod>`,
  `<EncryptionMethod Algorithm="${xenc}rsa-oaep-mgf1p"><DigestMethod xmlns="${dsig}" Algorithm="${dsig}sha1"/></EncryptionMethod>`,
];

export interface MetadataWanted {
  /** Whether it includes our encryption key, too: many providers encrypt as soon as they find one. */
  encryption?: boolean;
}

/**
 * Returns the metadata that a provider imports for the connection (SAML 2.0 Metadata §2.4.4).
 * @param certificate in PEM, of the key that signs our messages, and to which responses may be encrypted
 */
export function serviceProviderMetadata(
  { samlNameIdFormat, samlWantAssertionsSigned }: SsoConnection,
  { entityId, acsUrl, sloUrl }: ServiceProvider,
  certificate: string,
  { encryption = false }: MetadataWanted,
): string {
  const bare = certificate.replace(/-----[A-Z ]+-----|\s/g, '');
  const keyInfo = `<KeyInfo xmlns="${dsig}"><X509Data><X509Certificate>${bare}</X509Certificate></X509Data></KeyInfo>`;
  const toEncryptTo = `
    <KeyDescriptor use="encryption">
      ${keyInfo}
      ${encryptionMethods.join('\n      ')}
    </KeyDescriptor>`;
  const format = samlNameIdFormat ? `\n    <NameIDFormat>${escapeMarkup(samlNameIdFormat)}</NameIDFormat>` : '';
  return `<?xml version="1.0" encoding="UTF-8"?>
<EntityDescriptor xmlns="${samlNamespaces.metadata}" entityID="${escapeMarkup(entityId)}">
  <SPSSODescriptor protocolSupportEnumeration="${samlNamespaces.protocol}" AuthnRequestsSigned="true" WantAssertionsSigned="${samlWantAssertionsSigned}">
    <KeyDescriptor use="signing">
      ${keyInfo}
    </KeyDescriptor>${encryption ? toEncryptTo : ''}
    <SingleLogoutService Binding="${bindings}:HTTP-Redirect" Location="${escapeMarkup(sloUrl)}"/>
    <SingleLogoutService Binding="${bindings}:HTTP-POST" Location="${escapeMarkup(sloUrl)}"/>${format}
    <AssertionConsumerService index="0" isDefault="true" Binding="${bindings}:HTTP-POST" Location="${escapeMarkup(acsUrl)}"/>
  </SPSSODescriptor>
</EntityDescriptor>
`;
}
