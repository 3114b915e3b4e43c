import type { EntityManager } from 'typeorm';
import { Account } from '../../../entities/account.js';
import { AdministratorInvite } from '../../../entities/administrator-invite.js';
import { AdministratorRole } from '../../../entities/administrator-role.js';
import { User } from '../../../entities/user.js';
import type { Clock } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import { roleName } from '../accounts/members-roles.js';
import { formatDateTime } from '../emails/format-date-time.js';
import type { EmailSubjects } from '../emails/subjects.js';
import { inviteStatusOf } from '../invites/times.js';
import { administratorInviteLink, administratorInviteToken } from './link.js';

export interface InviteMailsDeps {
  sealing: Pick<Sealing, 'derive'>;
  now: Clock;
  baseUrl: string;
}

/** The contents of the mails about invites; null once the invite has ended. They contain the newest link. */
export function administratorInviteMails({ sealing, now, baseUrl }: InviteMailsDeps) {
  const open = async (tx: EntityManager, id: string, locale: 'en' | 'de') => {
    const invite = await tx.findOneBy(AdministratorInvite, { id });
    if (!invite || inviteStatusOf(invite, now()) !== 'pending') return null;
    const account = await tx.findOneByOrFail(Account, { id: invite.accountId });
    const role = await tx.findOneByOrFail(AdministratorRole, { id: invite.roleId! });
    const inviter = invite.invitedBy && (await tx.findOneBy(User, { id: invite.invitedBy }));
    return {
      to: invite.email,
      values: {
        first_name: invite.firstName,
        account_name: account.name,
        inviter: inviter ? `${inviter.firstName} ${inviter.lastName}` : account.name,
        role: roleName(role),
        link: administratorInviteLink(baseUrl, administratorInviteToken(sealing, invite).token),
        expires_at_text: formatDateTime(invite.expiresAt, locale),
      },
    };
  };
  return { 'administrator-invite': open, 'administrator-invite-reminder': open } satisfies Partial<EmailSubjects>;
}
