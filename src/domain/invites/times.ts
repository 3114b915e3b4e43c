import type { InviteStatus } from '../../../entities/administrator-invite.js';
import { after, days } from '../../platform/clock.js';

/** Why an invite has expired (`ended_reason`). */
export const notAcceptedInTime = 'not_accepted_in_time';

/** How long before the end somebody is reminded; an invite that lives shorter has no reminder. */
const remindBefore = days(2);

/** When somebody is reminded of an invite; null where that is over, or there is no time for it. */
export function reminderOf(expiresAt: Date, now: Date): Date | null {
  const at = after(expiresAt, -remindBefore);
  return at > now ? at : null;
}

/** What its process is told of them. */
export const inviteTimesOf = (expiresAt: Date, now: Date) => ({
  expiresAt: expiresAt.toISOString(),
  reminderAt: reminderOf(expiresAt, now)?.toISOString() ?? null,
});

/** As it is now: one whose time is over says so, whether or not a worker has noticed. */
export const inviteStatusOf = (
  { status, expiresAt }: { status: InviteStatus; expiresAt: Date },
  now: Date,
): InviteStatus => (status === 'pending' && expiresAt <= now ? 'expired' : status);
