import { createHash } from 'node:crypto';
import type { JWTPayload } from 'jose';
import { epochSeconds } from '../../../platform/clock.js';
import { type ClaimedPermissions, permissionClaims } from '../../access/decisions/root-permissions.js';
import { fullNameOf } from '../../full-name.js';
import { type ClaimedOrganizations, organizationClaims } from '../../organizations/claim.js';
import type { Client } from '../clients/clients.js';
import type { ScopeName } from '../scopes.js';

/** A person's profile, as a statement returns it. */
export interface Subject {
  identityId: string;
  email: string;
  emailVerifiedAt: Date | null;
  firstName: string | null;
  lastName: string | null;
  avatarUrl: string | null;
  updatedAt: Date;
}

/** The columns of a `Subject`; the statement names the identity `i`. */
export const subjectColumns = `i.id as "identityId", i.email, i.email_verified_at as "emailVerifiedAt", i.first_name as "firstName",
  i.last_name as "lastName", i.avatar_url as "avatarUrl", i.updated_at as "updatedAt"`;

/** A grant, as described in tokens. */
export interface Granted extends Subject {
  grantId: string;
  sessionId: string;
  scope: string[];
  authTime: Date;
  amr: string[];
  acr: string;
  /** The organization that the sign-in was for, if any. */
  organizationId: string | null;
}

/**
 * SQL: the `authTime` of a grant, or of the code or session for which it is given; `authTimeOf` chooses between the two
 * times.
 */
export const authTimeIn = (row: string): string => `coalesce(${row}.auth_time, ${row}.authenticated_at) as "authTime"`;

export const grantColumns = `g.id as "grantId", g.session_id as "sessionId", g.scope, ${authTimeIn('g')}, g.amr, g.acr,
  g.organization_id as "organizationId"`;

export interface Issuing {
  baseUrl: string;
  at: Date;
  client: Client;
  granted: Granted;
  /** The granted scope, or the part of it that a refresh requested. */
  scope: readonly string[];
  /** The person's permissions at the Environment's root, if the scope asks for them; as many as fit a token. */
  permissions?: ClaimedPermissions;
  /** The person's organizations, if the scope asks for them; as many as fit a token. */
  organizations?: ClaimedOrganizations;
}

/** The claims of an access token (RFC 9068 §2.2, contract §2). Revocation finds it by `grant_id`. */
export function accessTokenClaims({ permissions, ...issuing }: Issuing, jti: string): JWTPayload {
  const { baseUrl, client, granted, scope } = issuing;
  // Not a single literal: V8 takes a microsecond for each member behind a leading spread (docs/decisions/0089).
  const own = {
    aud: baseUrl,
    client_id: client.clientId,
    jti,
    scope: scope.join(' '),
    principal_type: 'identity',
    account_id: client.accountId,
    application_id: client.applicationId,
    environment_id: client.environmentId,
    grant_id: granted.grantId,
  };
  return Object.assign(common(issuing), own, permissions && permissionClaims(permissions));
}

/** The claims of an ID token (OpenID Connect Core 2 and 3.1.3.6). */
export function idTokenClaims(issuing: Issuing, accessToken: string, nonce: string | null): JWTPayload {
  const own = { aud: issuing.client.clientId, at_hash: leftHalfHash(accessToken) };
  return Object.assign(
    common(issuing),
    own,
    nonce !== null && { nonce },
    profileClaims(issuing.granted, issuing.scope),
  );
}

const common = ({ baseUrl, at, client, granted, scope, organizations }: Issuing): JWTPayload => ({
  iss: baseUrl,
  sub: granted.identityId,
  iat: epochSeconds(at),
  exp: epochSeconds(at) + client.settings.accessTokenTtlSeconds,
  // One second after 1970 for an unknown time: some clients refuse a zero.
  auth_time: Math.max(1, epochSeconds(granted.authTime)),
  acr: granted.acr,
  amr: granted.amr,
  sid: granted.sessionId,
  ...(granted.organizationId !== null &&
    namesOrganization(client, scope) && { organization_id: granted.organizationId }),
  ...(organizations && organizationClaims(organizations)),
});

/** Third-party applications only get organizations if the person consents (docs/decisions/0063). */
const namesOrganization = ({ consentRequired }: Client, scope: readonly string[]): boolean =>
  !consentRequired || scope.includes('org' satisfies ScopeName);

/** The standard claims of scopes (OpenID Connect Core 5.4); unknown values are left out. */
export function profileClaims(subject: Subject, scope: readonly string[]): Record<string, unknown> {
  const has = (name: ScopeName) => scope.includes(name);
  const claims: Record<string, unknown> = {};
  const set = (name: string, value: unknown) => {
    if (value !== null) claims[name] = value;
  };
  if (has('profile')) {
    set('name', fullNameOf(subject));
    set('given_name', subject.firstName);
    set('family_name', subject.lastName);
    set('picture', subject.avatarUrl);
    set('updated_at', epochSeconds(subject.updatedAt));
  }
  if (has('email')) {
    set('email', subject.email);
    set('email_verified', subject.emailVerifiedAt !== null);
  }
  return claims;
}

/**
 * Every claim that an ID token or userinfo can have, for discovery; an access token's own (`scope`, `permissions`) are
 * RFC 9068's and ours.
 */
export const supportedClaims = [
  'iss',
  'sub',
  'aud',
  'exp',
  'iat',
  'auth_time',
  'nonce',
  'at_hash',
  'acr',
  'amr',
  'sid',
  'name',
  'given_name',
  'family_name',
  'picture',
  'updated_at',
  'email',
  'email_verified',
  'organizations',
  'organizations_truncated',
  'organization_id',
];

/** OpenID Connect Core 3.1.3.6: the left half of the hash of the token's ASCII form. */
const leftHalfHash = (token: string) =>
  createHash('sha256').update(token, 'ascii').digest().subarray(0, 16).toString('base64url');
