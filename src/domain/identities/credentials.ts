import type { EntityManager } from 'typeorm';
import { EnvironmentSettings } from '../../../entities/environment-settings.js';
import { Identity } from '../../../entities/identity.js';
import { OAuthClient } from '../../../entities/oauth-client.js';
import type { SsoConnectionStatus, SsoType } from '../../../entities/sso-connection.js';
import { currentContext } from '../../platform/context.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import { within } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { queueEmail } from '../emails/queue.js';
import { DomainError } from '../errors.js';
import { recordOfIdentity } from '../events/identity-events.js';
import { recordEvent } from '../events/record.js';
import { isMfaRequired } from '../mfa/grace/rules.js';
import { insertIdentityLink } from '../one-time/identity-links.js';
import { settleNewPassword } from '../passwords/new-password.js';
import { type findMember, lockMember } from './find.js';

/**
 * Sets a password that somebody else has chosen; the person is notified by mail and signed out everywhere.
 * @throws DomainError identity.not_found
 */
export async function setPassword(
  tx: EntityManager,
  scope: EnvironmentScope,
  id: string,
  { passwordHash, at }: { passwordHash: string; at: Date },
): Promise<void> {
  const { identity, membership } = await lockMember(tx, scope, id);
  const owner = { ...scope, identityId: id, membershipId: membership.id };
  const by = currentContext().actor;
  await settleNewPassword(tx, owner, { passwordHash, method: 'administrator', provesEmail: false, by, now: at });
  // The person who chose it can sign in as them from now on, and add a passkey, so the address's verification counts as
  // asserted again, and at this time: an invite may have been sent before (docs/decisions/0077).
  const isOwn = by.type === 'identity' && by.id === id;
  if (identity.emailVerifiedAt && !isOwn)
    await tx.update(Identity, { accountId: scope.accountId, id }, { emailVerifiedAt: at, verifiedByWord: true });
}

/**
 * Removes the password, ends every session, and mails a link to choose another one; unless the link would not work,
 * because the person is deactivated or passwords are switched off. The link leads back to the named client, or else to
 * the Environment's oldest one.
 * @param clientId the client's public id
 * @throws DomainError identity.not_found, oauth_client.not_found
 */
export async function forceReset(
  tx: EntityManager,
  sealing: Pick<Sealing, 'derive'>,
  scope: EnvironmentScope,
  id: string,
  { clientId, at }: { clientId: string | undefined; at: Date },
): Promise<void> {
  const { accountId, environmentId } = scope;
  const { membership } = await lockMember(tx, scope, id);
  const client = await tx.findOne(OAuthClient, {
    where: { ...within(scope), ...(clientId !== undefined && { clientId }) },
    order: { createdAt: 'ASC', id: 'ASC' },
  });
  if (!client) throw new DomainError('oauth_client.not_found');
  const owner = { ...scope, identityId: id, membershipId: null };
  const by = currentContext().actor;
  const none = { passwordHash: null, method: 'reset_forced', provesEmail: false, by, now: at };
  await settleNewPassword(tx, owner, none);
  const { defaultLocale: locale, passwordLoginEnabled } = await tx.findOneByOrFail(EnvironmentSettings, within(scope));
  if (!membership.isActive || !passwordLoginEnabled) return; // no link would work
  const link = { identityId: id, purpose: 'reset_password', locale, parameters: {}, now: at } as const;
  const linkId = await insertIdentityLink(tx, sealing, { ...scope, id: client.id }, link);
  const mail = { template: 'identity-password-reset', locale, subjectId: linkId } as const;
  await queueEmail(tx, { ...mail, cause: `identity-link/${linkId}`, accountId, environmentId }, at);
  await recordEvent(tx, 'auth.identity_password_link_requested', { ...scope, resourceId: linkId });
}

/** Marks the address as verified. @throws DomainError identity.not_found */
export async function verifyEmail(tx: EntityManager, scope: EnvironmentScope, id: string, at: Date): Promise<void> {
  const { identity } = await lockMember(tx, scope, id);
  if (identity.emailVerifiedAt) return;
  const verified = { emailVerifiedAt: at, verifiedByWord: true, updatedAt: at };
  await tx.update(Identity, { accountId: scope.accountId, id }, verified);
  const metadata = { method: 'administrator' };
  await recordOfIdentity(tx, scope, { identityId: id }, [{ action: 'identity.email_verified', metadata }]);
}

/** A provider of the Environment, or of an organization in it, by which the person has signed in. */
interface LinkedConnection {
  id: string;
  organizationId: string | null;
  type: SsoType;
  name: string;
  status: SsoConnectionStatus;
  linkedAt: Date;
  lastLoginAt: Date;
}

/** How a person can sign in, and has signed in, in this Environment. */
export interface AuthState {
  hasPassword: boolean;
  passwordChangedAt: Date | null;
  emailVerified: boolean;
  mfaEnrolled: boolean;
  /** The deadline for enrolling a first factor; null without one, or if MFA is not required now. */
  graceExpiresAt: Date | null;
  /** As far as its sessions are stored. */
  lastLoginAt: Date | null;
  lockedUntil: Date | null;
  ssoConnections: LinkedConnection[];
}

/** As stored; of locks only those for a day are. */
export async function authStateOf(
  tx: EntityManager,
  scope: EnvironmentScope,
  { identity, membership }: Awaited<ReturnType<typeof findMember>>,
  at: Date,
): Promise<AuthState> {
  const { id } = identity;
  const [row] = await tx.query<Pick<AuthState, 'mfaEnrolled' | 'graceExpiresAt' | 'lastLoginAt'>[]>(
    `select exists (select from mfa_factors where account_id = $1 and identity_id = $3) as "mfaEnrolled",
       (select expires_at from mfa_graces where account_id = $1 and environment_id = $2 and identity_id = $3
          and status not in ('enrolled', 'reset') and ${isMfaRequired}) as "graceExpiresAt",
       (select max(authenticated_at) from sessions
        where account_id = $1 and environment_id = $2 and identity_id = $3) as "lastLoginAt"`,
    [scope.accountId, scope.environmentId, id],
  );
  const ssoConnections = await tx.query<LinkedConnection[]>(
    `select c.id, c.organization_id as "organizationId", c.type, c.name, c.status, l.created_at as "linkedAt",
       l.last_login_at as "lastLoginAt"
     from sso_links l join sso_connections c on c.account_id = l.account_id and c.id = l.connection_id
     where l.account_id = $1 and c.environment_id = $2 and l.identity_id = $3 order by l.created_at, l.id`,
    [scope.accountId, scope.environmentId, id],
  );
  const { lockedUntil } = membership;
  return {
    hasPassword: identity.passwordHash !== null,
    passwordChangedAt: identity.passwordChangedAt,
    emailVerified: identity.emailVerifiedAt !== null,
    lockedUntil: lockedUntil && lockedUntil > at ? lockedUntil : null,
    ...(row as Pick<AuthState, 'mfaEnrolled' | 'graceExpiresAt' | 'lastLoginAt'>),
    ssoConnections,
  };
}
