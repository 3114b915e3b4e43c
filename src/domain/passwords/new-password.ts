import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { Identity } from '../../../entities/identity.js';
import type { Actor } from '../../platform/context.js';
import { type EnvironmentScope, environmentScopeOf } from '../../platform/scope.js';
import { defaultLocaleOf } from '../emails/locale.js';
import { queueEmail } from '../emails/queue.js';
import { recordOfIdentity } from '../events/identity-events.js';
import { forgetFactors } from '../mfa/forget-factors.js';
import { resetGraces } from '../mfa/grace/rules.js';
import { distrustDevices } from '../mfa/trusted-devices.js';
import { keysOfIdentities, withdrawPasskeys } from '../mfa/webauthn/keys.js';
import { inParts } from '../sessions/sessions-in-events.js';

interface EndOfAccess {
  /** The session that continues, with its grants. */
  keepSessionId?: string | null;
  reason: 'password_changed' | 'email_verified' | 'email_changed';
  now: Date;
}

interface Ended {
  id: string;
  environmentId: string;
}

/** The ended sessions of one Environment: events only name those. */
const idsIn = (place: string, ended: readonly Ended[]): string[] =>
  ended.filter(({ environmentId }) => environmentId === place).map(({ id }) => id);

/** The events by which webhooks tell applications which of their own sessions are over. */
const revocationOf = (ended: readonly Ended[], reason: EndOfAccess['reason']) =>
  inParts(ended).map((part) => ({
    action: 'identity.sessions_revoked' as const,
    metadata: (place: string) => {
      const ids = idsIn(place, part);
      return ids.length > 0 ? { reason, session_ids: ids } : null;
    },
  }));

/**
 * Ends every session, grant, trusted device and unfinished sign-in of an Identity in the whole Account.
 * @returns the sessions
 */
async function endAccess(
  tx: EntityManager,
  { accountId, identityId }: Pick<PasswordOwner, 'accountId' | 'identityId'>,
  { keepSessionId = null, reason, now }: EndOfAccess,
): Promise<Ended[]> {
  const [sessions] = await tx.query<[Ended[], number]>(
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

/** The owner of a password, and the Environment in which it was changed. */
export interface PasswordOwner extends EnvironmentScope {
  identityId: string;
  /** Their membership in that Environment, in whose name they get a mail. */
  membershipId: string | null;
}

export interface NewPassword {
  /** Null: the former one becomes invalid, and there is none until the person has chosen another. */
  passwordHash: string | null;
  /** How it was changed, for the event. */
  method: string;
  /** Whether the person has proved the address by this. */
  provesEmail: boolean;
  /** A directory that vouches for the address: see `WaysInOfBefore`. */
  provenFor?: WaysInOfBefore['provenFor'];
  /** The session in which it was changed, which continues with its grants; all others end. */
  keepSessionId?: string | null;
  /** The actor; by default the person. */
  by?: Actor;
  now: Date;
}

/** Everything else with which a former holder of the Identity, before its address was proved, could sign in. */
interface WaysInOfBefore {
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
 * Ends passkeys, too. A passkey belongs to the Account and signs in alone: it would let the former holder in wherever
 * the owner of the address becomes a member.
 */
async function endWaysInOfBefore(
  tx: EntityManager,
  owner: Omit<PasswordOwner, 'membershipId'>,
  { by, provenFor, now }: WaysInOfBefore,
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

/**
 * Sets a new password, ends every session, grant and unfinished sign-in of the Identity in the whole Account, makes its
 * keys second factors until they are used after it, and mails the owner of the address. In the caller's transaction, of
 * the Account, which has locked the Identity's row.
 */
export async function settleNewPassword(
  tx: EntityManager,
  owner: PasswordOwner,
  { passwordHash, method, provesEmail, provenFor, keepSessionId = null, by, now }: NewPassword,
): Promise<void> {
  const { accountId, environmentId, identityId, membershipId } = owner;
  const scope = environmentScopeOf(owner);
  const [[before] = []] = await tx.query<[{ isVerified: boolean }[], number]>(
    `with before as (select email_verified_at from identities where account_id = $1 and id = $2)
     update identities set password_hash = $3, password_changed_at = $4, updated_at = $4,
       email_verified_at = case when $5 then coalesce(identities.email_verified_at, $4) else identities.email_verified_at end,
       verified_by_word = identities.verified_by_word and not ($5 and before.email_verified_at is null)
     from before where account_id = $1 and id = $2 returning before.email_verified_at is not null as "isVerified"`,
    [accountId, identityId, passwordHash, now, provesEmail],
  );
  await withdrawPasskeys(tx, keysOfIdentities, identityId);
  const ended = await endAccess(tx, { accountId, identityId }, { keepSessionId, reason: 'password_changed', now });
  const isNews = provesEmail && before?.isVerified === false;
  const actor: Actor = by ?? { type: 'identity', id: identityId };
  await recordOfIdentity(tx, scope, { identityId, actor }, [
    {
      action: 'identity.password_changed',
      metadata: (place) => ({ method, revoked_session_ids: idsIn(place, ended) }),
    },
    ...revocationOf(ended, 'password_changed'),
    ...(isNews ? [{ action: 'identity.email_verified' as const, metadata: { method } }] : []),
  ]);
  if (isNews) await endWaysInOfBefore(tx, { ...scope, identityId }, { by: actor, provenFor, now });
  if (membershipId === null) return;
  // As for other notices (`mfa/notices.ts`): the request may be somebody else's, who must not choose the owner's
  // language.
  const locale = await defaultLocaleOf(tx, scope);
  const mail = { template: 'identity-password-changed', locale, subjectId: membershipId } as const;
  const cause = `identity-password-changed/${uuidv7()}`; // one mail for each change
  await queueEmail(tx, { ...mail, cause, accountId, environmentId }, now);
}

/** The proof of somebody who owns an address that nobody had confirmed, or that was only asserted. */
export interface ProvedAddress extends Pick<NewPassword, 'passwordHash' | 'method' | 'provenFor' | 'by' | 'now'> {
  /** The Identity as it was. */
  known: Pick<Identity, 'passwordHash' | 'emailVerifiedAt'>;
}

/**
 * Makes the person who has proved such an address the owner of the Identity: a person who created it, or had the
 * address before, then knows no password of it, has no second factor of it and is in no session. In the caller's
 * transaction, as for `settleNewPassword`.
 */
export async function settleProvedAddress(
  tx: EntityManager,
  owner: PasswordOwner,
  { known, ...proved }: ProvedAddress,
): Promise<void> {
  const { passwordHash, method, now } = proved;
  const { accountId, identityId } = owner;
  const change = (fields: Partial<Identity>) => tx.update(Identity, { accountId, id: identityId }, fields);
  // What was asserted counts for nothing: the proof is news, and ends what others could sign in with.
  if (known.emailVerifiedAt) await change({ emailVerifiedAt: null, verifiedByWord: false });
  if (known.passwordHash !== null || passwordHash !== null)
    return settleNewPassword(tx, owner, { ...proved, provesEmail: true });
  await change({ emailVerifiedAt: now, verifiedByWord: false, updatedAt: now });
  const events = [{ action: 'identity.email_verified' as const, metadata: { method } }];
  await recordOfIdentity(tx, environmentScopeOf(owner), { identityId }, events);
  await endAccessOfBefore(tx, owner, proved);
}

/**
 * Ends what somebody else could still do with the Identity after its person has changed its address: all that a new
 * password would end, except the session in which it was changed, with its grants. In the caller's transaction.
 */
export async function endOtherAccess(
  tx: EntityManager,
  owner: Omit<PasswordOwner, 'membershipId'>,
  { keepSessionId, now }: { keepSessionId: string; now: Date },
): Promise<void> {
  const reason = 'email_changed';
  const { identityId } = owner;
  const ended = await endAccess(tx, owner, { keepSessionId, reason, now });
  await recordOfIdentity(tx, environmentScopeOf(owner), { identityId }, revocationOf(ended, reason));
}

/** Ends the access of a person who had the Identity before its address was proved. In the caller's transaction. */
export async function endAccessOfBefore(
  tx: EntityManager,
  owner: Omit<PasswordOwner, 'membershipId'>,
  { by, provenFor, now }: WaysInOfBefore,
): Promise<void> {
  const { accountId, identityId } = owner;
  const reason = 'email_verified';
  const ended = await endAccess(tx, { accountId, identityId }, { reason, now });
  await endWaysInOfBefore(tx, owner, { by, provenFor, now });
  if (ended.length === 0) return;
  await recordOfIdentity(tx, environmentScopeOf(owner), { identityId }, revocationOf(ended, reason));
}
