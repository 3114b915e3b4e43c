import type { SsoConnection } from '../../../../entities/sso-connection.js';
import { escapeMarkup } from '../../../platform/markup.js';
import type { ServiceProvider } from './settings.js';
import { samlNamespaces } from './xml.js';

const bindings = 'urn:oasis:names:tc:SAML:2.0:bindings';
const { signature: dsig, encryption: xenc, encryption11: xenc11 } = samlNamespaces;

/**
 * What we would rather have of what `openAssertion` takes, first what is best (SAML 2.0 Metadata §2.4.1.1): AES-CBC only if a provider
 * knows no better.
 */
const encryptionMethods = [
  `<EncryptionMethod Algorithm="${xenc11}aes256-gcm"/>`,
  `<EncryptionMethod Algorithm="${xenc11}aes128-gcm"/>`,
  `<EncryptionMethod Algorithm="${xenc11}rsa-oaep"><DigestMethod xmlns="${dsig}" Algorithm="${xenc}sha256"/><MGF xmlns="${xenc11}" Algorithm="${xenc11}mgf1sha256"/></EncryptionMethod>`,
  `<EncryptionMethod Algorithm="${xenc}rsa-oaep-mgf1p"><DigestMethod xmlns="${dsig}" Algorithm="${dsig}sha1"/></EncryptionMethod>`,
];

export interface MetadataWanted {
  /** Whether it names our key to encrypt to as well: many a provider encrypts as soon as it finds one. */
  encryption?: boolean;
}

/**
 * What a provider imports to know the connection (SAML 2.0 Metadata §2.4.4).
 * @param certificate in PEM, of the key that signs our messages, and that answers may be encrypted to
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
