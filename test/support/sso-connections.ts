import { newSelfSigned } from '../../src/platform/crypto/self-signed.js';

const day = 86_400_000;

/** Creates a certificate in PEM, valid from 400 days ago until `days` days from now. */
export async function certificateFor(days = 30, name = 'idp.example', now = Date.now()): Promise<string> {
  const [from, until] = [new Date(now - 400 * day), new Date(now + days * day)];
  const made = await newSelfSigned(name, { from, until, bits: 2048 });
  return made.certificate;
}

let lasting: Promise<string> | undefined;
/** Returns one shared certificate, for tests that do not care which: generating a key takes a while. */
export const someCertificate = (): Promise<string> => {
  lasting ??= certificateFor(3650);
  return lasting;
};

/** Returns the metadata of an identity provider (SAML 2.0 Metadata §2). */
export async function providerMetadata({
  entityId = 'https://idp.example/saml',
  certificates,
  format = 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
}: {
  entityId?: string;
  certificates?: string[];
  format?: string;
} = {}): Promise<string> {
  const keys = (certificates ?? [await someCertificate()]).map(
    (pem) =>
      `<md:KeyDescriptor use="signing"><ds:KeyInfo><ds:X509Data><ds:X509Certificate>${pem.replace(/-----[A-Z ]+-----|\s/g, '')}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>`,
  );
  const redirect = 'Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"';
  return `<?xml version="1.0"?>
<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" xmlns:ds="http://www.w3.org/2000/09/xmldsig#" entityID="${entityId}">
  <md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">
    ${keys.join('')}
    <md:SingleLogoutService ${redirect} Location="https://idp.example/slo"/>
    <md:NameIDFormat>${format}</md:NameIDFormat>
    <md:SingleSignOnService ${redirect} Location="https://idp.example/sso"/>
  </md:IDPSSODescriptor>
</md:EntityDescriptor>`;
}
