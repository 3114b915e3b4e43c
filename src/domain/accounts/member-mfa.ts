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

/** Help for an administrator who has lost their second factors. */
export const createMemberMfaReset =
  ({ db, now }: { db: Db; now: Clock }) =>
  /**
   * Takes all second factors and recovery codes of a member away and ends their sessions; they sign in anew with their first
   * factor, and enroll. The factors are the person's and not the Account's: who is a member elsewhere too keeps them.
   * @param userId who resets
   * @returns the member, without them
   * @throws DomainError member.not_found, member.owner_required, member.in_other_accounts; mfa.own_factors for the own ones,
   *   which ask for more than a capability
   */
  ({ accountId }: AccountScope, userId: string, id: string): Promise<Member> =>
    // Factors and sessions are of no Account, so that its own scope sees none.
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
      const ended = await resetUserMfa(tx, member.userId, at); // with a lock on them, so that no Account takes them in meanwhile
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
