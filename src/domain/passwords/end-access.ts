import type { EntityManager } from 'typeorm';
import type { Actor } from '../../platform/context.js';
import { type EnvironmentScope, environmentScopeOf } from '../../platform/scope.js';
import { recordOfIdentity } from '../events/identity-events.js';
import { forgetFactors } from '../mfa/forget-factors.js';
import { resetGraces } from '../mfa/grace/rules.js';
import { distrustDevices } from '../mfa/trusted-devices.js';
import { inParts } from '../sessions/sessions-in-events.js';

/** A person, and the Environment in which something happened that ends their access in the whole Account. */
export interface AccessOwner extends EnvironmentScope {
  identityId: string;
}

interface EndOfAccess {
  /** The session that continues, with its grants. */
  keepSessionId?: string | null;
  reason: 'password_changed' | 'email_verified' | 'email_changed';
  now: Date;
}

export interface EndedSession {
  id: string;
  environmentId: string;
}

/** The ended sessions of one Environment: events only name those. */
export const idsIn = (place: string, ended: readonly EndedSession[]): string[] =>
  ended.filter(({ environmentId }) => environmentId === place).map(({ id }) => id);

/** The events by which webhooks tell applications which of their own sessions are over. */
export const revocationOf = (ended: readonly EndedSession[], reason: EndOfAccess['reason']) =>
  inParts(ended).map((part) => ({
    action: 'identity.sessions_revoked' as const,
    metadata: (place: string) => {
      const ids = idsIn(place, part);
      return ids.length > 0 ? { reason, session_ids: ids } : null;
    },
  }));

/**
 * Ends every session, grant, trusted device and unfinished sign-in of an Identity in the whole Account. In the caller's
 * transaction, which records it.
 * @returns the sessions
 */
export async function endAllAccess(
  tx: EntityManager,
  { accountId, identityId }: Pick<AccessOwner, 'accountId' | 'identityId'>,
  { keepSessionId = null, reason, now }: EndOfAccess,
): Promise<EndedSession[]> {
  const [sessions] = await tx.query<[EndedSession[], number]>(
    `update sessions set revoked_at = $2 where identity_id = $1 and revoked_at is null and id is distinct from $3
     returning id, environment_id as "environmentId"`,
    [identityId, now, keepSessionId],
  );
  await tx.query(
    `update grants set revoked_at = $2, revoked_reason = $4
     where identity_id = $1 and revoked_at is null and session_id is distinct from $3`,
    [identityId, now, keepSessionId, reason],
  );
  await distrustDevices(tx, { accountId }, identityId);
  // Otherwise a second factor could complete what was proved before.
  await tx.query('update pending_sign_ins set completed_at = $2 where identity_id = $1 and completed_at is null', [
    identityId,
    now,
  ]);
  return sessions;
}

/**
 * Ends what somebody else could still do with the Identity after its person has changed its address: all that a new
 * password would end, except the session in which it was changed, with its grants. In the caller's transaction.
 */
export async function endOtherAccess(
  tx: EntityManager,
  owner: AccessOwner,
  { keepSessionId, now }: { keepSessionId: string; now: Date },
): Promise<void> {
  const reason = 'email_changed';
  const { identityId } = owner;
  const ended = await endAllAccess(tx, owner, { keepSessionId, reason, now });
  await recordOfIdentity(tx, environmentScopeOf(owner), { identityId }, revocationOf(ended, reason));
}

/** How a person has proved the address of an Identity, which somebody else may have held before. */
export interface AddressProof {
  /** The actor; by default the person. */
  by?: Actor | undefined;
  /** The owner of the providers that know the person as well, whose links stay. Null: the Environment's own. */
  provenFor?: { organizationId: string | null } | undefined;
  now: Date;
}

const forgetLinks = `
delete from sso_links l where l.account_id = $1 and l.identity_id = $2 and not ($3 and exists (
  select from sso_connections c where c.id = l.connection_id and c.account_id = $1 and c.environment_id = $4
    and c.organization_id is not distinct from $5))`;

/**
 * Ends everything besides the password with which a former holder of the Identity, before its address was proved, could
 * sign in. Passkeys, too: a passkey belongs to the Account and signs in alone, so it would let the former holder in
 * wherever the owner of the address becomes a member.
 */
export async function endFormerSignInMethods(
  tx: EntityManager,
  owner: AccessOwner,
  { by, provenFor, now }: AddressProof,
): Promise<void> {
  const { accountId, environmentId, identityId } = owner;
  const scope = environmentScopeOf(owner);
  const hadFactors = await forgetFactors(tx, scope, identityId);
  await resetGraces(tx, scope, identityId, { all: true, now });
  const organizationId = provenFor?.organizationId ?? null;
  await tx.query(forgetLinks, [accountId, identityId, provenFor !== undefined, environmentId, organizationId]);
  if (!hadFactors) return;
  const metadata = { reason: 'email_verified' };
  await recordOfIdentity(tx, scope, { identityId, ...(by && { actor: by }) }, [
    { action: 'identity.mfa_reset', metadata },
  ]);
}

/** Ends the access of a person who held the Identity before its address was proved. In the caller's transaction. */
export async function endAccessOfFormerHolder(
  tx: EntityManager,
  owner: AccessOwner,
  proof: AddressProof,
): Promise<void> {
  const { accountId, identityId } = owner;
  const reason = 'email_verified';
  const ended = await endAllAccess(tx, { accountId, identityId }, { reason, now: proof.now });
  await endFormerSignInMethods(tx, owner, proof);
  if (ended.length === 0) return;
  await recordOfIdentity(tx, environmentScopeOf(owner), { identityId }, revocationOf(ended, reason));
}
