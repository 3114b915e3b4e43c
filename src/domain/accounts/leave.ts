import { Any, type EntityManager } from 'typeorm';
import { Membership } from '../../../entities/membership.js';
import { UserApplicationState } from '../../../entities/user-application-state.js';
import type { Db } from '../../platform/database/db.js';
import type { AccountScope } from '../../platform/scope.js';
import { assertSpeaksFor } from '../admin-mfa/other-sign-in.js';
import type { SignedInAdmin } from '../admin-mfa/signed-in-admin.js';
import { isOwner } from '../capabilities/owners.js';
import { lockAdministration } from '../capabilities/roles-authority.js';
import { DomainError } from '../errors.js';
import { recordEvents } from '../events/record.js';
import { refusedMember } from './refused-member.js';

/** Ends the caller's own access to an Account at once, whatever their roles. */
export const createLeaving =
  ({ db }: { db: Db }) =>
  /**
   * @throws DomainError account.not_found if the caller is not a member, account.other_sign_in_required if another
   *   Account's identity provider signed them in, member.last_owner
   */
  (subject: SignedInAdmin, accountId: string): Promise<void> =>
    // Sessions belong to no Account.
    db
      .transaction('system', async (tx) => {
        const { userId } = subject;
        if (!(await tx.existsBy(Membership, { accountId, userId }))) throw new DomainError('account.not_found');
        await assertSpeaksFor(tx, subject, accountId);
        await lockAdministration(tx, { accountId });
        const membership = await tx.findOneBy(Membership, { accountId, userId });
        if (!membership) throw new DomainError('account.not_found'); // ended meanwhile
        await assertAnotherOwner(tx, { accountId }, membership.id);
        await endMembership(tx, membership);
      })
      .catch(refusedMember(db, { accountId }, 'leaveAccount'));

// The caller of the following functions holds `lockAdministration`, so that Owners do not change until the transaction
// ends.

/** Returns the memberships of an Account's Owners. */
export const ownersOf = (
  tx: EntityManager,
  { accountId }: AccountScope,
): Promise<Pick<Membership, 'id' | 'userId'>[]> =>
  tx.query(`select m.id, m.user_id as "userId" from memberships m where m.account_id = $1 and ${isOwner('m')}`, [
    accountId,
  ]);

/** Whether an Account has an Owner other than this member. */
export const hasAnotherOwner = async (tx: EntityManager, scope: AccountScope, exceptId: string): Promise<boolean> =>
  (await ownersOf(tx, scope)).some(({ id }) => id !== exceptId);

/** @throws DomainError member.last_owner */
export async function assertAnotherOwner(tx: EntityManager, scope: AccountScope, exceptId: string): Promise<void> {
  if (!(await hasAnotherOwner(tx, scope, exceptId))) throw new DomainError('member.last_owner');
}

/** Ends a member's access to an Account; they keep their sign-in and their other Accounts. */
export const endMembership = (
  tx: EntityManager,
  { accountId, ...member }: Pick<Membership, 'accountId' | 'id' | 'userId'>,
): Promise<void> => endMemberships(tx, { accountId }, [member]);

/** Ends the access of any number of members, in a few statements. */
export async function endMemberships(
  tx: EntityManager,
  { accountId }: AccountScope,
  members: readonly Pick<Membership, 'id' | 'userId'>[],
): Promise<void> {
  await tx.delete(Membership, { accountId, id: Any(members.map(({ id }) => id)) });
  // After the memberships: a request that is storing a state locks the membership.
  await tx.delete(UserApplicationState, { accountId, userId: Any(members.map(({ userId }) => userId)) });
  await recordEvents(
    tx,
    'member.removed',
    members.map(({ id, userId }) => ({ accountId, resourceId: id, metadata: { user_id: userId } })),
  );
}
