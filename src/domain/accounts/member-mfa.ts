import { Membership } from '../../../entities/membership.js';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import type { AccountScope } from '../../platform/scope.js';
import { noticeAdmin } from '../admin-mfa/mails.js';
import { resetUserMfa } from '../admin-mfa/reset.js';
import { authorityOf, lockAdministration } from '../capabilities/roles-authority.js';
import { defaultLocaleOf } from '../emails/locale.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events/record.js';
import { findAccountMember, type Member } from './members.js';
import { rolesOf } from './members-roles.js';

/** Helps an administrator who has lost their second factors. */
export const createMemberMfaReset =
  ({ db, now }: { db: Db; now: Clock }) =>
  /**
   * Removes all second factors and recovery codes of a member and ends their sessions; they sign in again with their
   * first factor, and enroll. Factors belong to the person, not to the Account: a member of other Accounts keeps them.
   * @param userId the administrator who resets them
   * @returns the member, without second factors
   * @throws DomainError member.not_found, member.owner_required, member.in_other_accounts; mfa.own_factors for the
   *   caller's own, whose removal takes more than a capability
   */
  ({ accountId }: AccountScope, userId: string, id: string): Promise<Member> =>
    // Factors and sessions belong to no Account, so the Account's scope would see none.
    db.transaction('system', async (tx) => {
      const scope = { accountId };
      await lockAdministration(tx, scope);
      const member = await tx.findOneBy(Membership, { accountId, id });
      if (!member) throw new DomainError('member.not_found');
      if (member.userId === userId) throw new DomainError('mfa.own_factors');
      const resetter = await authorityOf(tx, scope, userId);
      const roles = await rolesOf(tx, scope, [id]);
      if (roles.some(({ systemKey }) => systemKey === 'owner') && !resetter.isOwner) {
        throw new DomainError('member.owner_required');
      }
      const at = now();
      const ended = await resetUserMfa(tx, member.userId, at); // locks the user, so that no Account adds them meanwhile
      if ((await tx.countBy(Membership, { userId: member.userId })) > 1) {
        throw new DomainError('member.in_other_accounts');
      }
      const eventId = await recordEvent(tx, 'member.mfa_reset', {
        accountId,
        resourceId: id,
        metadata: { user_id: member.userId, revoked_session_ids: ended },
      });
      const locale = await defaultLocaleOf(tx, scope);
      await noticeAdmin(tx, { userId: member.userId, eventId, locale, now: at });
      return findAccountMember(tx, scope, id);
    });

export type MemberMfaReset = ReturnType<typeof createMemberMfaReset>;
