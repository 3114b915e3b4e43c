import type { SsoConnection } from '../../../entities/sso-connection.js';
import { isStorable } from '../../platform/database/storable.js';
import { isOnOneLine, isVisible } from '../../platform/visible.js';
import type { Profile } from '../identities/profile.js';
import type { Assertion } from '../sso-protocols/assertion.js';

/** The fields of a profile that a provider can fill: everything that is text. */
export type AssertedProfile = Partial<Pick<Profile, 'firstName' | 'lastName' | 'avatarUrl' | 'externalId'>>;

const ofMapping = {
  first_name: 'firstName',
  last_name: 'lastName',
  avatar_url: 'avatarUrl',
  external_id: 'externalId',
} as const satisfies Record<string, keyof AssertedProfile>;

/** The default names, if the mapping has none: those of OpenID Connect (Core §5.1), LDAP, Entra ID and AD FS. */
const usual = {
  firstName: [
    'given_name',
    'givenName',
    'firstName',
    'first_name',
    'urn:oid:2.5.4.42',
    'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/givenname',
  ],
  lastName: [
    'family_name',
    'sn',
    'surname',
    'lastName',
    'last_name',
    'urn:oid:2.5.4.4',
    'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/surname',
  ],
  avatarUrl: ['picture'],
} as const;

type Named = Pick<Assertion, 'attributes'>;

/** The fields that a connection's mapping names, as the provider fills them. They follow it at every sign-in. */
export function mappedProfile({ attributes }: Named, { attributeMapping }: Mapping): AssertedProfile {
  const found = Object.entries(ofMapping).map(([name, field]) => {
    const attribute = attributeMapping[name];
    return [field, attribute === undefined ? null : usable(field, attributes[attribute]?.[0])] as const;
  });
  return Object.fromEntries(found.filter(([, value]) => value !== null));
}

/** Returns the profile of a new person: by the mapping, or else by the usual names. */
export function newProfile(assertion: Named, connection: Mapping): AssertedProfile {
  const found = Object.entries(usual).map(([name, attributes]) => {
    const field = name as keyof typeof usual;
    const texts = attributes.map((attribute) => usable(field, assertion.attributes[attribute]?.[0]));
    return [field, texts.find((text) => text !== null) ?? null] as const;
  });
  return {
    ...Object.fromEntries(found.filter(([, value]) => value !== null)),
    ...mappedProfile(assertion, connection),
  };
}

type Mapping = Pick<SsoConnection, 'attributeMapping'>;

const maxLengths = { firstName: 200, lastName: 200, avatarUrl: 2048, externalId: 255 } as const;

/** Returns the value, if the API would accept it; otherwise it is left out, without a refusal of the sign-in. */
function usable(field: keyof AssertedProfile, said: string | undefined): string | null {
  const text = said?.trim() ?? '';
  if (!isVisible(text) || text.length > maxLengths[field] || !isOnOneLine(text) || !isStorable(text)) return null;
  if (field !== 'avatarUrl') return text;
  return URL.canParse(text) && new URL(text).protocol === 'https:' ? text : null;
}
