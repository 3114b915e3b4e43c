import type { AdministratorInvite } from '../../../entities/administrator-invite.js';
import type { ProcessInput } from '../../platform/process-kinds.js';
import type { QueuedEmail } from '../emails/queue.js';
import { inviteTimesOf } from '../invites/times.js';

/** Returns the input of an invite's process, for its start and for changes of the invite (`news`). */
export const administratorInviteInput = (
  { id, accountId, expiresAt }: Pick<AdministratorInvite, 'id' | 'accountId' | 'expiresAt'>,
  now: Date,
): ProcessInput<'inviteExpiry'> => ({
  kind: 'administrator',
  inviteId: id,
  accountId,
  ...inviteTimesOf(expiresAt, now),
});

type Mailed = Pick<AdministratorInvite, 'id' | 'accountId' | 'locale' | 'linkNumber'>;

/** One mail for each link. */
export const administratorInviteEmail = ({ id, accountId, locale, linkNumber }: Mailed): QueuedEmail => ({
  template: 'administrator-invite',
  locale,
  accountId,
  subjectId: id,
  cause: `administrator-invite/${id}/link/${linkNumber}`,
});

export const administratorInviteReminder = ({ id, accountId, locale, linkNumber }: Mailed): QueuedEmail => ({
  template: 'administrator-invite-reminder',
  locale,
  accountId,
  subjectId: id,
  cause: `administrator-invite/${id}/reminder/${linkNumber}`,
});
