import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { Identity } from '../../../entities/identity.js';
import type { Actor } from '../../platform/context.js';
import { environmentScopeOf } from '../../platform/scope.js';
import { defaultLocaleOf } from '../emails/locale.js';
import { queueEmail } from '../emails/queue.js';
import { recordOfIdentity } from '../events/identity-events.js';
import { keysOfIdentities, withdrawPasskeys } from '../mfa/webauthn/keys.js';
import {
  type AccessOwner,
  type AddressProof,
  endAccessOfFormerHolder,
  endAllAccess,
  endFormerSignInMethods,
  idsIn,
  revocationOf,
} from './end-access.js';

/** The owner of a password, and the Environment in which it was changed. */
export interface PasswordOwner extends AccessOwner {
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
  /** A directory that vouches for the address: see `AddressProof`. */
  provenFor?: AddressProof['provenFor'];
  /** The session in which it was changed, which continues with its grants; all others end. */
  keepSessionId?: string | null;
  /** The actor; by default the person. */
  by?: Actor;
  now: Date;
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
  const ended = await endAllAccess(tx, { accountId, identityId }, { keepSessionId, reason: 'password_changed', now });
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
  if (isNews) await endFormerSignInMethods(tx, { ...scope, identityId }, { by: actor, provenFor, now });
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
  await endAccessOfFormerHolder(tx, owner, proved);
}
