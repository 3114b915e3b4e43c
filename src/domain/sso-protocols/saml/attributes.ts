import { SsoRefused } from '../assertion.js';
import { type NameId, nameIdFormats } from './subjects.js';
import { childrenOf, samlNamespaces, type XmlElement } from './xml.js';

const { assertion: saml } = samlNamespaces;

/** More than any person has; attributes are kept for minutes, sealed. */
const limits = { names: 200, values: 1_000, length: 4_096 };

/** Providers' default names for the attribute with the address. */
const addressNames = [
  'email',
  'mail',
  'emailAddress',
  'urn:oid:0.9.2342.19200300.100.1.3',
  'urn:oid:1.2.840.113549.1.9.1',
  'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress',
  'http://schemas.xmlsoap.org/claims/EmailAddress',
];

/** Returns every attribute by name, with all values in order (Core §2.7.3). @throws SsoRefused `too_large` */
export function attributesOf(assertion: XmlElement): Record<string, string[]> {
  const found = new Map<string, string[]>();
  let values = 0;
  for (const statement of childrenOf(assertion, saml, 'AttributeStatement')) {
    for (const attribute of childrenOf(statement, saml, 'Attribute')) {
      const name = attribute.attributes.get('Name');
      if (!name) throw new SsoRefused('malformed', 'It has an attribute without a name');
      const own = childrenOf(attribute, saml, 'AttributeValue').map(({ text }) => text.trim());
      values += own.length;
      if (own.some(({ length }) => length > limits.length) || name.length > limits.length) {
        throw new SsoRefused('too_large', `It has an attribute longer than ${limits.length} characters`);
      }
      found.set(name, [...(found.get(name) ?? []), ...own]);
    }
  }
  if (found.size > limits.names || values > limits.values)
    throw new SsoRefused('too_large', 'It has too many attributes');
  return Object.fromEntries(found); // defines own properties, so that no name is special
}

/** Returns the person's address: from the mapped attribute, else from one with a usual name, else from the NameID. */
export function addressOf(
  { value, format }: NameId,
  attributes: Readonly<Record<string, readonly string[]>>,
  mapping: Readonly<Record<string, string>>,
): string | null {
  const named = mapping.email ? [mapping.email] : addressNames;
  const sent = named.map((name) => attributes[name]?.[0]).find((found) => found);
  const inNameId = format === nameIdFormats.email || format === nameIdFormats.unspecified ? value : undefined;
  return [sent, inNameId].find((candidate) => candidate && looksLikeAddress(candidate)) ?? null;
}

const looksLikeAddress = (text: string) => text.length <= 254 && /^[^\s@<>]+@[^\s@<>]+$/.test(text);
