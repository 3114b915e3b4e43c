import type { IdentityInvite } from '../../../entities/identity-invite.js';
import type { ProcessInput } from '../../platform/process-kinds.js';
import type { QueuedEmail } from '../emails/queue.js';
import { inviteTimesOf } from '../invites/times.js';

/** Returns the input of an invite's process, for its start or for something that happened to the invite (`news`). */
export const identityInviteInput = (
  { id, accountId, environmentId, expiresAt }: Pick<IdentityInvite, 'id' | 'accountId' | 'environmentId' | 'expiresAt'>,
  now: Date,
): ProcessInput<'inviteExpiry'> => ({
  kind: 'identity',
  inviteId: id,
  accountId,
  environmentId,
  ...inviteTimesOf(expiresAt, now),
});

type Mailed = Pick<IdentityInvite, 'id' | 'accountId' | 'environmentId' | 'locale' | 'linkNumber'>;

const mailOf = ({ id, accountId, environmentId, locale }: Mailed) => ({
  locale,
  accountId,
  environmentId,
  subjectId: id,
});

/** One mail for each link. */
export const identityInviteEmail = (invite: Mailed): QueuedEmail => ({
  ...mailOf(invite),
  template: 'identity-invite',
  cause: `identity-invite/${invite.id}/link/${invite.linkNumber}`,
});

export const identityInviteReminder = (invite: Mailed): QueuedEmail => ({
  ...mailOf(invite),
  template: 'identity-invite-reminder',
  cause: `identity-invite/${invite.id}/reminder/${invite.linkNumber}`,
});
