import { X509Certificate } from 'node:crypto';
import { nameIdFormats } from './subjects.js';
import { childrenOf, readXml, samlNamespaces, type XmlElement, XmlRefused } from './xml.js';

const { metadata: md, protocol, signature: dsig } = samlNamespaces;
const redirect = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect';
const maxLength = 1024 * 1024;

/** The fields of a connection that come from a provider's metadata. */
export interface SamlSettings {
  samlEntityId: string;
  /** Its URL for the HTTP-Redirect binding. */
  samlSsoUrl: string;
  samlSloUrl: string | null;
  /** Where our responses to its logout requests go, if not to `samlSloUrl`. */
  samlSloResponseUrl: string | null;
  /** All signing certificates in PEM, one after the other. */
  samlSigningCert: string;
  samlNameIdFormat: string | null;
}

/** Advice for a document that is too large or describes several providers: mostly it is that of a whole federation. */
export const sendOne = 'send the metadata of one identity provider';

/** Metadata that is refused. The message is for the person who imports it. */
export class MetadataRefused extends Error {}

/**
 * Reads the metadata of an identity provider (SAML 2.0 Metadata §2): one EntityDescriptor, or an EntitiesDescriptor in
 * which only one has an IDPSSODescriptor. It needs no signature: the person who sends it may change the connection
 * anyway, and fetched documents come over https.
 * @throws MetadataRefused
 */
export function parseMetadata(xml: string, now: Date): SamlSettings {
  const root = read(xml.replace(/^\uFEFF/, '').trim());
  const { entity, role } = providerIn(root, now);
  assertCurrent(role, now);
  const samlEntityId = entity.attributes.get('entityID')?.trim();
  if (!samlEntityId || samlEntityId.length > 1024) throw new MetadataRefused('It has no entityID, or too long a one');
  const samlSsoUrl = urlOf(endpointOf(role, 'SingleSignOnService'), 'Location');
  if (!samlSsoUrl) throw new MetadataRefused('It has no SingleSignOnService with the HTTP-Redirect binding');
  const logout = endpointOf(role, 'SingleLogoutService');
  const samlSloUrl = urlOf(logout, 'Location');
  return {
    samlEntityId,
    samlSsoUrl,
    samlSloUrl,
    samlSloResponseUrl: samlSloUrl && urlOf(logout, 'ResponseLocation'),
    samlSigningCert: signingCertificatesOf(role),
    samlNameIdFormat: formatOf(role),
  };
}

function read(xml: string): XmlElement {
  try {
    return readXml(xml, { maxLength });
  } catch (refusal) {
    if (!(refusal instanceof XmlRefused)) throw refusal;
    throw new MetadataRefused(refusal.reason === 'too_large' ? `${refusal.message}; ${sendOne}` : refusal.message);
  }
}

function providerIn(root: XmlElement, now: Date): { entity: XmlElement; role: XmlElement } {
  const found: { entity: XmlElement; role: XmlElement }[] = [];
  const look = (element: XmlElement) => {
    if (element.namespace !== md || !['EntityDescriptor', 'EntitiesDescriptor'].includes(element.name)) return;
    assertCurrent(element, now);
    for (const role of childrenOf(element, md, 'IDPSSODescriptor')) {
      const protocols = (role.attributes.get('protocolSupportEnumeration') ?? '').split(/\s+/);
      if (element.name === 'EntityDescriptor' && protocols.includes(protocol)) found.push({ entity: element, role });
    }
    for (const child of element.children) look(child);
  };
  look(root);
  const [only] = found;
  if (!only) throw new MetadataRefused('It describes no identity provider that supports SAML 2.0');
  if (found.length > 1) throw new MetadataRefused(`It describes several identity providers; ${sendOne}`);
  return only;
}

function assertCurrent({ attributes }: XmlElement, now: Date): void {
  const validUntil = attributes.get('validUntil');
  if (validUntil === undefined) return;
  const until = Date.parse(validUntil);
  if (Number.isNaN(until)) throw new MetadataRefused('Its validUntil is not a valid time');
  if (until <= now.getTime()) throw new MetadataRefused(`It was valid until ${new Date(until).toISOString()}`);
}

/** Returns a service's endpoint for the redirect binding; of several the first, as ordered by the provider. */
const endpointOf = (role: XmlElement, service: string): XmlElement | undefined =>
  childrenOf(role, md, service).find(({ attributes }) => attributes.get('Binding') === redirect);

/** Returns one of an endpoint's URLs: where requests go, or where responses go if that differs (Metadata §2.2.2). */
function urlOf(endpoint: XmlElement | undefined, attribute: 'Location' | 'ResponseLocation'): string | null {
  const url = endpoint?.attributes.get(attribute)?.trim();
  if (!endpoint || !url) return null;
  if (url.length > 2048 || !URL.canParse(url))
    throw new MetadataRefused(`The ${attribute} of its ${endpoint.name} is not a URL`);
  return url;
}

/** Returns the signing certificates; a key without a use is for signing, too (Metadata §2.4.1.1). */
function signingCertificatesOf(role: XmlElement): string {
  const texts = childrenOf(role, md, 'KeyDescriptor')
    .filter(({ attributes }) => (attributes.get('use') ?? 'signing') === 'signing')
    .flatMap((key) => childrenOf(key, dsig, 'KeyInfo'))
    .flatMap((info) => childrenOf(info, dsig, 'X509Data'))
    .flatMap((data) => childrenOf(data, dsig, 'X509Certificate'))
    .map(({ text }) => text);
  const certificates = [...new Set(texts.map(pemOf))];
  if (!certificates.length) throw new MetadataRefused('It has no signing certificate');
  if (certificates.length > 8) throw new MetadataRefused('It has more than eight signing certificates');
  return certificates.join('\n');
}

function pemOf(base64: string): string {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(Buffer.from(base64, 'base64'));
  } catch {
    throw new MetadataRefused('One of its certificates cannot be read');
  }
  if (certificate.publicKey.asymmetricKeyType !== 'rsa') {
    throw new MetadataRefused('One of its signing keys is not RSA; only RSA is supported for SAML');
  }
  return certificate.toString().trim();
}

/** Returns the best format on offer: persistent, else the address; null, to request none, if it offers neither. */
function formatOf(role: XmlElement): string | null {
  const offered = childrenOf(role, md, 'NameIDFormat').map(({ text }) => text.trim());
  return [nameIdFormats.persistent, nameIdFormats.email].find((format) => offered.includes(format)) ?? null;
}
