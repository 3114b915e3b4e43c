import type { SsoConnection, SsoType } from '../../../entities/sso-connection.js';
import { inSnakeCase } from '../../platform/database/naming.js';
import { faultOfTarget, type Guard } from '../../platform/outbound/guard.js';
import { isSame } from '../changed-fields.js';
import { DomainError, type ErrorDetail } from '../errors.js';
import { readCertificates } from './certificates.js';

/** Fields of an Identity that an attribute or a claim of the provider can fill. */
export const mappedFields = ['email', 'first_name', 'last_name', 'avatar_url', 'external_id'] as const;
export const signatureAlgorithms = ['sha256', 'sha512'] as const;
/** The formats that name a person the same at every sign-in; a transient one would not. */
export const lastingNameIdFormats = [
  'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified',
  'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress',
  'urn:oasis:names:tc:SAML:1.1:nameid-format:X509SubjectName',
  'urn:oasis:names:tc:SAML:1.1:nameid-format:WindowsDomainQualifiedName',
  'urn:oasis:names:tc:SAML:2.0:nameid-format:kerberos',
  'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
] as const;

type Stored = Pick<
  SsoConnection,
  | 'name'
  | 'samlEntityId'
  | 'samlSsoUrl'
  | 'samlSloUrl'
  | 'samlSloResponseUrl'
  | 'samlSigningCert'
  | 'samlSignatureAlgorithm'
  | 'samlWantAssertionsSigned'
  | 'samlNameIdFormat'
  | 'samlAllowIdpInitiated'
  | 'forceAuthn'
  | 'singleLogoutEnabled'
  | 'oidcDiscoveryUrl'
  | 'oidcClientId'
  | 'oidcScopes'
  | 'attributeMapping'
  | 'jitProvisioningEnabled'
  | 'defaultRoleId'
>;
/** The settings of a connection, with the client secret in clear text; null removes it. */
export interface ConnectionSettings extends Stored {
  oidcClientSecret: string | null;
}

/** Returns the defaults of settings. */
export const emptySettings = (type: SsoType): Omit<ConnectionSettings, 'name'> => ({
  samlEntityId: null,
  samlSsoUrl: null,
  samlSloUrl: null,
  samlSloResponseUrl: null,
  samlSigningCert: null,
  samlSignatureAlgorithm: type === 'saml' ? 'sha256' : null,
  samlWantAssertionsSigned: true,
  samlNameIdFormat: null,
  samlAllowIdpInitiated: false,
  forceAuthn: false,
  singleLogoutEnabled: true,
  oidcDiscoveryUrl: null,
  oidcClientId: null,
  oidcClientSecret: null,
  oidcScopes: type === 'oidc' ? ['openid', 'profile', 'email'] : [],
  attributeMapping: {},
  jitProvisioningEnabled: false,
  defaultRoleId: null,
});

/** The URLs in settings, and who opens them. */
const urls = [
  ['samlSsoUrl', 'browser'],
  ['samlSloUrl', 'browser'],
  ['samlSloResponseUrl', 'browser'],
  ['oidcDiscoveryUrl', 'us'],
] as const;

export interface Judging {
  guard: Pick<Guard, 'enter'>;
  now: Date;
}

/**
 * Checks the wanted settings of a connection and returns them as they are stored.
 * @param current the connection, or `emptySettings` of a new one; repeating a current value is no fault
 * @throws DomainError validation.failed naming everything that is not possible
 */
export function settledSettings(
  current: Pick<SsoConnection, 'type' | 'scope' | 'ownedByOrganization'> & Partial<Stored>,
  wanted: Partial<ConnectionSettings>,
  { guard, now }: Judging,
): Partial<ConnectionSettings> {
  const details: ErrorDetail[] = [];
  const refuse = (field: string, code: string, message: string) =>
    details.push({ field: inSnakeCase(field), code, message });
  const other = current.type === 'saml' ? 'oidc' : 'saml';
  for (const [field, value] of Object.entries(wanted)) {
    const isOfOther = field.startsWith(other) && !isSame(value, current[field as keyof Stored] ?? null);
    if (isOfOther) refuse(field, 'not_of_type', `is not a setting of connections of the type ${current.type}`);
  }
  for (const [field, by] of urls) {
    const url = wanted[field];
    const fault = url ? faultOfUrl(url, guard, by) : null;
    if (fault) refuse(field, fault.code, fault.message);
  }
  const certificates =
    wanted.samlSigningCert == null ? null : readCertificates(wanted.samlSigningCert, now, current.samlSigningCert);
  if (certificates && 'code' in certificates) refuse('samlSigningCert', certificates.code, certificates.message);
  if (current.type === 'oidc' && wanted.oidcScopes && !wanted.oidcScopes.includes('openid'))
    refuse('oidcScopes', 'openid_missing', 'must include openid');
  if (wanted.defaultRoleId && current.scope === 'admin')
    refuse('defaultRoleId', 'not_of_scope', 'is for end users: administrators get their roles through invites');
  if (current.ownedByOrganization && wanted.attributeMapping?.external_id !== undefined)
    // It identifies a person in the developers' own system: somebody who could choose it could choose who they are
    // there.
    refuse('attributeMapping.external_id', 'not_of_organization', 'can only be set by the account of the organization');
  if (details.length > 0) throw new DomainError('validation.failed', { details });
  return {
    ...(leavesLogoutUrl(current, wanted) && { samlSloResponseUrl: null }),
    ...wanted,
    ...(certificates && 'pem' in certificates && { samlSigningCert: certificates.pem }),
  };
}

/**
 * Whether another logout URL replaces the present one. Both URLs describe one endpoint (SAML 2.0 Metadata §2.2.2), so a
 * response URL that is not sent along is that of the former one.
 */
const leavesLogoutUrl = (current: Partial<Stored>, { samlSloUrl }: Partial<ConnectionSettings>): boolean =>
  Boolean(current.samlSloUrl) && samlSloUrl !== undefined && samlSloUrl !== current.samlSloUrl;

/** Returns what is wrong with a tenant's URL, as far as can be known before it is called; null if nothing is. */
export function faultOfUrl(
  url: string,
  guard: Pick<Guard, 'enter'>,
  by: 'us' | 'browser' = 'us',
): { code: string; message: string } | null {
  if (!URL.canParse(url)) return { code: 'url', message: 'must be an absolute URL' };
  const { username, password } = new URL(url);
  if (username || password) return { code: 'credentials', message: 'must not contain credentials' };
  if (url.includes('#')) return { code: 'fragment', message: 'must not have a fragment' };
  return faultOfTarget(guard, url, by);
}

const required = {
  saml: ['samlEntityId', 'samlSsoUrl', 'samlSigningCert'],
  oidc: ['oidcDiscoveryUrl', 'oidcClientId', 'oidcClientSecretSealed'],
} as const satisfies Record<SsoType, readonly (keyof SsoConnection)[]>;

/** Returns the required settings that a connection lacks. */
const missingOf = (connection: SsoConnection): ErrorDetail[] =>
  required[connection.type]
    .filter((field) => !connection[field])
    .map((field) => ({ field: inSnakeCase(field).replace(/_sealed$/, ''), code: 'missing', message: 'is required' }));

/** @throws DomainError sso_connection.incomplete naming what is missing */
export function assertComplete(connection: SsoConnection): void {
  const details = missingOf(connection);
  if (details.length > 0) throw new DomainError('sso_connection.incomplete', { details });
}
