import { type EntityManager, IsNull } from 'typeorm';
import { Account } from '../../../entities/account.js';
import { AdministratorRole } from '../../../entities/administrator-role.js';
import { Membership } from '../../../entities/membership.js';
import { MembershipRole } from '../../../entities/membership-role.js';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { retryingDeadlocks } from '../../platform/database/retry-deadlocks.js';
import type { AccountScope } from '../../platform/scope.js';
import { lockUserByAddress } from '../addresses/user-by-address.js';
import { noticeAdmin } from '../admin-mfa/mails.js';
import { addMember } from '../capabilities/add-member.js';
import { lockAdministration, makesOwner } from '../capabilities/roles-authority.js';
import { defaultLocaleOf } from '../emails/locale.js';
import { recordEvent } from '../events/record.js';
import { ownersOf } from './leave.js';
import { rolesOf } from './members-roles.js';

export type OwnerMade = 'made' | 'is_owner' | 'no_account' | 'no_user';

/**
 * Makes an administrator an Owner of an Account, for the operators of the service, if its Owners cannot: the only one
 * has left, or has lost their mailbox (docs/decisions/0097). Every Owner gets a mail, the new one among them.
 */
export const createOwnerByOperator =
  ({ db, now }: { db: Db; now: Clock }) =>
  /**
   * @param slug the Account's
   * @returns `no_account` also for an Account that was closed, `no_user` also for an address that was never confirmed
   */
  (slug: string, email: string): Promise<OwnerMade> =>
    retryingDeadlocks(() =>
      db.transaction('system', async (tx) => {
        const found = await tx.findOneBy(Account, { slug, closedAt: IsNull() });
        if (!found) return 'no_account';
        const scope = { accountId: found.id };
        await lockAdministration(tx, scope);
        const account = await tx.findOneByOrFail(Account, { id: found.id });
        if (account.closedAt) return 'no_account'; // meanwhile
        const user = await lockUserByAddress(tx, email);
        if (!user?.emailVerifiedAt) return 'no_user';
        if (!(await assignOwnerRole(tx, scope, user.id, now()))) return 'is_owner';
        const eventId = await recordEvent(tx, 'account.owner_appointed', {
          ...scope,
          resourceId: account.id,
          resourceLabel: account.name,
          metadata: { user_id: user.id },
        });
        const locale = await defaultLocaleOf(tx, scope);
        for (const { userId } of await ownersOf(tx, scope))
          await noticeAdmin(tx, { userId, eventId, locale, now: now() });
        return 'made';
      }),
    );

/** Gives the Owner role without limits to a member, or to somebody who becomes one. @returns false if they hold it */
async function assignOwnerRole(tx: EntityManager, scope: AccountScope, userId: string, now: Date): Promise<boolean> {
  const { accountId } = scope;
  const { id: roleId } = await tx.findOneByOrFail(AdministratorRole, { accountId, systemKey: 'owner' });
  const member = await tx.findOneBy(Membership, { accountId, userId });
  if (!member) {
    await addMember(tx, { accountId, userId, roleId, limits: null, now });
    return true;
  }
  const of = { accountId, membershipId: member.id };
  const before = await rolesOf(tx, scope, [member.id]);
  if (before.some(makesOwner)) return false;
  await tx.delete(MembershipRole, { ...of, roleId }); // an Owner role with limits makes no Owner
  await tx.insert(MembershipRole, { ...of, roleId, limits: null });
  const roles = (await rolesOf(tx, scope, [member.id])).map((held) => ({ role_id: held.roleId, limits: held.limits }));
  await recordEvent(tx, 'member.updated', {
    accountId,
    resourceId: member.id,
    metadata: { user_id: userId, roles },
  });
  return true;
}
