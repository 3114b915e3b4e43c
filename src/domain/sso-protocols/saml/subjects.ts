import { isStorable } from '../../../platform/database/storable.js';
import { type Assertion, SsoRefused } from '../assertion.js';
import type { SamlProvider, ServiceProvider } from './settings.js';
import { childOf, samlNamespaces, type XmlElement } from './xml.js';

const { assertion: saml } = samlNamespaces;

export const nameIdFormats = {
  unspecified: 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified',
  email: 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress',
  persistent: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
  transient: 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient',
} as const;

/** SAML 2.0 Core §2.2.2. */
export interface NameId {
  value: string;
  format: string;
  nameQualifier: string | null;
  spNameQualifier: string | null;
}

/** Returns the NameID of a Subject or of a LogoutRequest. @throws SsoRefused `subject_missing` */
export function nameIdOf(parent: XmlElement): NameId {
  const nameId = childOf(parent, saml, 'NameID');
  const value = nameId?.text.trim();
  if (!nameId || !value || nameId.children.length) {
    throw new SsoRefused('subject_missing', 'Its Subject does not have exactly one NameID');
  }
  if (value.length > 512) throw new SsoRefused('too_large', 'Its NameID is longer than 512 characters');
  return {
    value,
    format: nameId.attributes.get('Format') ?? nameIdFormats.unspecified,
    nameQualifier: nameId.attributes.get('NameQualifier') || null,
    spNameQualifier: nameId.attributes.get('SPNameQualifier') || null,
  };
}

/** In characters, with qualifiers; an entry of a PostgreSQL index can have 2704 bytes. */
const maxNameLength = 600;

/** The general-purpose and pairwise identifiers of the SAML 2.0 Subject Identifier Attributes Profile. */
const subjectAttributes = [
  'urn:oasis:names:tc:SAML:attribute:pairwise-id',
  'urn:oasis:names:tc:SAML:attribute:subject-id',
];

/** How an assertion names its person. */
export type Naming = Pick<Assertion, 'subject' | 'attributes' | 'handle'>;

/**
 * Whether the subject of an assertion is such an identifier: it has the form of an address, and is never given to
 * another person (§3.3, §3.4). A NameID that is called an address is one, also if an identifier is spelled alike.
 */
export const isSubjectIdentifier = ({ subject, attributes, handle }: Naming): boolean =>
  subjectAttributes.some((name) => attributes[name]?.[0]?.trim() === subject) &&
  !(handle.protocol === 'saml' && handle.nameId.format === nameIdFormats.email);

/**
 * Returns the provider's persistent name for a person. A qualifier that only states the default (Core §8.3.7) is left
 * out, so that everybody is still recognized when a provider begins to send it. A transient NameID changes each time,
 * so a persistent attribute has to take its place.
 * @throws SsoRefused `subject_missing`, `too_large`
 */
export function lastingNameOf(
  nameId: NameId,
  attributes: Readonly<Record<string, readonly string[]>>,
  parties: { provider: SamlProvider; serviceProvider: ServiceProvider },
): string {
  const name = nameOf(nameId, attributes, parties);
  if (name.length > maxNameLength)
    throw new SsoRefused('too_large', `Its name is longer than ${maxNameLength} characters`);
  if (!isStorable(name)) throw new SsoRefused('subject_missing', 'Its name has a character that cannot be stored');
  return name;
}

/**
 * Returns what identifies the provider's session of a transient NameID: the NameID itself, since it is made for one
 * session (Core §8.3.8), while a SessionIndex may be a small number that recurs among people (§2.7.2). Null for other
 * NameIDs.
 */
export const transientSessionOf = ({ format, value }: NameId): string | null =>
  format === nameIdFormats.transient ? `transient ${value}` : null;

function nameOf(
  { value, format, nameQualifier, spNameQualifier }: NameId,
  attributes: Readonly<Record<string, readonly string[]>>,
  { provider, serviceProvider }: { provider: SamlProvider; serviceProvider: ServiceProvider },
): string {
  if (format === nameIdFormats.transient) {
    const lasting = subjectAttributes.map((name) => attributes[name]?.[0]?.trim()).find((found) => found);
    if (lasting) return lasting;
    throw new SsoRefused(
      'subject_missing',
      'Its NameID is transient (a new one each time): have the provider send a persistent one, or the email address',
    );
  }
  const by = nameQualifier === provider.entityId ? null : nameQualifier;
  const to = spNameQualifier === serviceProvider.entityId ? null : spNameQualifier;
  return by || to ? `${by ?? provider.entityId}!${to ?? serviceProvider.entityId}!${value}` : value;
}
