import type { SsoConnection } from '../../../../entities/sso-connection.js';
import { isStorable } from '../../../platform/database/storable.js';
import { type Assertion, SsoRefused } from '../assertion.js';

/** Of the protocol itself: they say nothing of the person. */
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
export const longestSubject = 255;
const mostAttributes = 200;

type Claims = Readonly<Record<string, unknown>>;

/**
 * What the claims of an ID token, and of the UserInfo endpoint beside them, say of a person.
 * @param idToken as it came
 * @throws SsoRefused
 */
export function assertionOf(
  claims: Claims,
  { attributeMapping }: Pick<SsoConnection, 'attributeMapping'>,
  idToken: string,
): Assertion {
  const { iss, sub, amr, auth_time: authTime, sid } = claims;
  if (typeof sub !== 'string' || sub === '' || sub.length > longestSubject || !isStorable(sub))
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
    sessionUntil: null, // `exp` is the ID token's own end, and says nothing of the session
    handle: { protocol: 'oidc', idToken },
    once: null, // the state works once, and so does the code
  };
}

/** Names of claims that a connection's mapping picks from. */
export const mappedClaims = ({ attributeMapping }: Pick<SsoConnection, 'attributeMapping'>): string[] => [
  'email',
  ...Object.values(attributeMapping),
];

const attributesOf = (claims: Claims): Record<string, string[]> =>
  Object.fromEntries(
    Object.entries(claims)
      .filter(([name, value]) => !ofProtocol.includes(name) && value !== null && value !== undefined)
      .slice(0, mostAttributes)
      .map(([name, value]) => [name, [value].flat().map(textOf)]),
  );

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** The issuer of all whom Google signs in, of companies and for themselves. */
export const google = 'https://accounts.google.com';

/**
 * `email_verified`, which some providers say in words; what is neither of the two is no yes. Google answers by one issuer for
 * companies and for everybody: an address of a company's domain that has no `hd` is one whose mail somebody has read once, maybe
 * before they left.
 */
function vouchesForAddress({ iss, hd, email_verified: said }: Claims): boolean | null {
  if (iss === google && (typeof hd !== 'string' || hd === '')) return false;
  if (said === undefined || said === null) return null;
  return said === true || (typeof said === 'string' && said.toLowerCase() === 'true');
}

function readTime(seconds: number): Date | null {
  const time = new Date(seconds * 1000);
  // Before 1970, nobody has signed in; and a database has no room for the oldest times that JSON has.
  return seconds < 0 || Number.isNaN(time.getTime()) ? null : time;
}
