import type { SsoConnection } from '../../../../entities/sso-connection.js';
import { isStorable } from '../../../platform/database/storable.js';
import { type Assertion, SsoRefused } from '../assertion.js';

/** Claims of the protocol itself, which say nothing about the person. */
const ofProtocol = [
  'nonce',
  'at_hash',
  'c_hash',
  's_hash',
  'azp',
  'iat',
  'exp',
  'nbf',
  'jti',
  'aud',
  'rat',
  'uti',
  'rh',
];
/** OpenID Connect Core §2. */
export const maxSubjectLength = 255;
const maxAttributes = 200;

type Claims = Readonly<Record<string, unknown>>;

/**
 * Returns what the claims of an ID token, and those of the UserInfo endpoint, say about a person.
 * @param idToken as it was received
 * @throws SsoRefused
 */
export function assertionOf(
  claims: Claims,
  { attributeMapping }: Pick<SsoConnection, 'attributeMapping'>,
  idToken: string,
): Assertion {
  const { iss, sub, amr, auth_time: authTime, sid } = claims;
  if (typeof sub !== 'string' || sub === '' || sub.length > maxSubjectLength || !isStorable(sub))
    throw new SsoRefused('subject_missing', 'The response does not identify the person');
  const attributes = attributesOf(claims);
  return {
    issuer: String(iss),
    subject: sub,
    email: attributes[attributeMapping.email ?? 'email']?.[0] ?? null,
    emailVerified: vouchesForAddress(claims),
    attributes,
    amr: Array.isArray(amr) ? amr.filter((one): one is string => typeof one === 'string') : [],
    authenticatedAt: typeof authTime === 'number' ? readTime(authTime) : null,
    sessionIndex: typeof sid === 'string' ? sid : null,
    sessionUntil: null, // `exp` is the end of the ID token, not of the session
    handle: { protocol: 'oidc', idToken },
    once: null, // the state works once, and so does the code
  };
}

/** Returns the names of the claims that a connection's mapping uses. */
export const mappedClaims = ({ attributeMapping }: Pick<SsoConnection, 'attributeMapping'>): string[] => [
  'email',
  ...Object.values(attributeMapping),
];

const attributesOf = (claims: Claims): Record<string, string[]> =>
  Object.fromEntries(
    Object.entries(claims)
      .filter(([name, value]) => !ofProtocol.includes(name) && value !== null && value !== undefined)
      .slice(0, maxAttributes)
      .map(([name, value]) => [name, [value].flat().map(textOf)]),
  );

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** The issuer of all Google accounts, those of companies and private ones. */
export const google = 'https://accounts.google.com';

/**
 * Returns `email_verified`, which some providers send as a string; any other value counts as false. Google has one
 * issuer for companies and private accounts: without `hd`, an address in a company's domain only shows that the person
 * could read its mail once, maybe before they left the company.
 */
function vouchesForAddress({ iss, hd, email_verified: said }: Claims): boolean | null {
  if (iss === google && (typeof hd !== 'string' || hd === '')) return false;
  if (said === undefined || said === null) return null;
  return said === true || (typeof said === 'string' && said.toLowerCase() === 'true');
}

function readTime(seconds: number): Date | null {
  const time = new Date(seconds * 1000);
  // Nobody signed in before 1970, and PostgreSQL cannot store the oldest times that JSON can express.
  return seconds < 0 || Number.isNaN(time.getTime()) ? null : time;
}
