import type { EntityManager } from 'typeorm';
import { IdentityInvite } from '../../../entities/identity-invite.js';
import type { Clock } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import { formatDateTime } from '../emails/format-date-time.js';
import { greetingOf } from '../emails/greeting.js';
import type { EmailSubjects } from '../emails/subjects.js';
import { inviteStatusOf } from '../invites/times.js';
import { contentsOf } from './contents.js';
import { isKeptOut } from './find.js';
import { identityInviteLink, identityInviteToken } from './link.js';

export interface IdentityInviteMailsDeps {
  sealing: Pick<Sealing, 'derive'>;
  now: Clock;
  baseUrl: string;
}

/**
 * The contents of mails about invites. Null if the invite has ended or its link is void. A mail always has the latest
 * link.
 */
export function identityInviteMails({ sealing, now, baseUrl }: IdentityInviteMailsDeps) {
  const open = async (tx: EntityManager, id: string, locale: 'en' | 'de') => {
    const invite = await tx.findOneBy(IdentityInvite, { id });
    if (!invite || inviteStatusOf(invite, now()) !== 'pending' || (await isKeptOut(tx, invite))) return null;
    const { placeName, inviter } = await contentsOf(tx, invite);
    return {
      to: invite.email,
      values: {
        first_name: greetingOf(invite),
        place_name: placeName,
        inviter,
        link: identityInviteLink(baseUrl, identityInviteToken(sealing, invite).token),
        expires_at_text: formatDateTime(invite.expiresAt, locale),
      },
    };
  };
  return { 'identity-invite': open, 'identity-invite-reminder': open } satisfies Partial<EmailSubjects>;
}
