import type { AdministratorInvite, InviteStatus } from '../../../entities/administrator-invite.js';
import { after, days } from '../../platform/clock.js';
import type { ProcessInput } from '../../platform/process-kinds.js';
import type { QueuedEmail } from '../emails/queue.js';

type Row = Pick<AdministratorInvite, 'id' | 'accountId' | 'status' | 'createdAt' | 'expiresAt'>;

/** How long before the end somebody is reminded; an invite that lives shorter has no reminder. */
const remindBefore = days(2);

/** What the process of an invite is told when it starts, or when something happened to the invite (`news`). */
export const administratorInviteInput = (
  { id, accountId, expiresAt }: Omit<Row, 'createdAt' | 'status'>,
  now: Date,
): ProcessInput<'inviteExpiry'> => ({
  kind: 'administrator',
  inviteId: id,
  accountId,
  ...inviteTimesOf(expiresAt, now),
});

/** When somebody is reminded of an invite of whatever kind; null where that is over, or there is no time for it. */
export function reminderOf(expiresAt: Date, now: Date): Date | null {
  const at = after(expiresAt, -remindBefore);
  return at > now ? at : null;
}

/** Of an invite of whatever kind. */
export const inviteTimesOf = (expiresAt: Date, now: Date) => ({
  expiresAt: expiresAt.toISOString(),
  reminderAt: reminderOf(expiresAt, now)?.toISOString() ?? null,
});

/** As it is now: one whose time is over says so, whether or not a worker has noticed. */
export const inviteStatusOf = ({ status, expiresAt }: Pick<Row, 'status' | 'expiresAt'>, now: Date): InviteStatus =>
  status === 'pending' && expiresAt <= now ? 'expired' : status;

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
