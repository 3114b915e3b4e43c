import type { InviteStatus } from '../../../entities/administrator-invite.js';
import { after, days } from '../../platform/clock.js';

/** Why an invite has expired (`ended_reason`). */
export const notAcceptedInTime = 'not_accepted_in_time';

/** How long before its end the reminder is sent; an invite with a shorter life has none. */
const remindBefore = days(2);

/** Returns when the reminder of an invite is due; null if that is past, or the invite's life is too short. */
export function reminderOf(expiresAt: Date, now: Date): Date | null {
  const at = after(expiresAt, -remindBefore);
  return at > now ? at : null;
}

/** Returns an invite's times for its process. */
export const inviteTimesOf = (expiresAt: Date, now: Date) => ({
  expiresAt: expiresAt.toISOString(),
  reminderAt: reminderOf(expiresAt, now)?.toISOString() ?? null,
});

/** Returns the present status: `expired` after its end, even if no worker has noticed yet. */
export const inviteStatusOf = (
  { status, expiresAt }: { status: InviteStatus; expiresAt: Date },
  now: Date,
): InviteStatus => (status === 'pending' && expiresAt <= now ? 'expired' : status);
