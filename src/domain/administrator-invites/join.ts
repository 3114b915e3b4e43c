import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { AdministratorInvite } from '../../../entities/administrator-invite.js';
import { Membership } from '../../../entities/membership.js';
import { User } from '../../../entities/user.js';
import { actAs } from '../../platform/context.js';
import { resetUserMfa } from '../admin-mfa/reset.js';
import { addMember } from '../capabilities/add-member.js';
import { recordEvent } from '../events/record.js';
import { startLater } from '../outbox.js';
import { lockForPassword, writePassword } from '../passwords/administrator-password.js';
import { discardWaiting } from '../registration/rivals.js';
import { administratorInviteInput } from './process.js';

export interface Joining {
  invite: AdministratorInvite;
  /** The User who has the invite's address already. */
  user: User | null;
  names: { firstName: string; lastName: string };
  /** Null if no password was needed. */
  passwordHash: string | null;
  now: Date;
}

/**
 * Makes a person an administrator with the invite's role, and ends the invite, in the caller's transaction.
 * @returns the User's id
 */
export async function joinAccount(tx: EntityManager, joining: Joining): Promise<string> {
  const { invite, now } = joining;
  const { accountId } = invite;
  const { roleId, limits } = await lockedInvite(tx, invite);
  const userId = joining.user?.id ?? uuidv7();
  // The person who opened the link is the actor.
  await actAs({ type: 'platform_admin', id: userId }, async () => {
    await saveUser(tx, userId, { ...joining, email: invite.email });
    if (joining.user?.emailVerifiedAt) await setFirstPassword(tx, userId, joining);
    const member = await tx.findOneBy(Membership, { accountId, userId });
    const joined = { accountId, userId, roleId: roleId!, limits, now, by: { invite_id: invite.id } };
    const membershipId = member?.id ?? (await addMember(tx, joined));
    const ended = { status: 'accepted' as const, membershipId, endedAt: now };
    await tx.update(AdministratorInvite, { accountId, id: invite.id }, ended);
    await recordEvent(tx, 'administrator_invite.accepted', {
      accountId,
      resourceId: invite.id,
      metadata: { membership_id: membershipId, user_id: userId },
    });
    await startLater(tx, 'inviteExpiry', { ...administratorInviteInput(invite, now), news: 'accepted' });
  });
  return userId;
}

/**
 * Reads and locks the invite until the end of the transaction: a deletion of a place that it is limited to removes the
 * place from the invite before this, or afterwards from the role that it has become.
 */
const lockedInvite = (tx: EntityManager, { accountId, id }: AdministratorInvite): Promise<AdministratorInvite> =>
  tx.findOneOrFail(AdministratorInvite, { where: { accountId, id }, lock: { mode: 'pessimistic_write' } });

/** Creates the User of an address that the person has just proved, or verifies the existing one. */
export async function saveUser(
  tx: EntityManager,
  id: string,
  { email, user, names, passwordHash, now }: Omit<Joining, 'invite'> & { email: string },
): Promise<void> {
  if (!user) {
    await discardWaiting(tx, email, { userId: id, now });
    await tx.insert(User, {
      id,
      email,
      ...names,
      passwordHash,
      passwordChangedAt: passwordHash && now,
      emailVerifiedAt: now,
      createdAt: now,
      updatedAt: now,
    });
  } else if (!user.emailVerifiedAt) {
    // The person who created this User had not proved the address: nothing by which they sign in may stay valid.
    const mine = {
      ...names,
      passwordHash,
      passwordChangedAt: passwordHash && now,
      emailVerifiedAt: now,
      updatedAt: now,
    };
    await tx.update(User, { id }, mine);
    await resetUserMfa(tx, id, now);
  }
}

/** Sets the password of a verified User who has none, as a mailed link does; one that they have set meanwhile stays. */
async function setFirstPassword(
  tx: EntityManager,
  userId: string,
  { invite: { locale }, passwordHash, now }: Pick<Joining, 'invite' | 'passwordHash' | 'now'>,
): Promise<void> {
  if (passwordHash === null || (await lockForPassword(tx, userId))?.passwordHash !== null) return;
  await writePassword(tx, { userId, passwordHash, locale, provesEmail: true, action: 'auth.password_set', now });
}
