import type { EntityManager } from 'typeorm';
import { EmailChange, type EmailChangeStatus } from '../../../entities/email-change.js';
import { recordOfUser } from '../events/user-events.js';
import { startLater } from '../outbox.js';
import { emailChangeInput } from './process.js';

/** Returns the columns of a change that has ended, without the new address; a confirmed one's is the user's. */
export const ended = (status: Exclude<EmailChangeStatus, 'pending'>, reason: string | null, now: Date) =>
  ({ status, endedReason: reason, endedAt: now, email: null }) satisfies Partial<EmailChange>;

/** Makes the process of a change that has ended end at once. */
export const notifyEnded = (tx: EntityManager, change: Pick<EmailChange, 'id' | 'expiresAt'>): Promise<void> =>
  startLater(tx, 'emailChange', { ...emailChangeInput(change), news: 'ended' });

/** Ends the pending change of a user, if there is one. The caller has locked the user. */
export async function withdrawPending(
  tx: EntityManager,
  userId: string,
  { reason, now }: { reason: 'withdrawn' | 'replaced'; now: Date },
): Promise<void> {
  const change = await tx.findOneBy(EmailChange, { userId, status: 'pending' });
  if (!change) return;
  const { id } = change;
  const { affected } = await tx.update(EmailChange, { id, status: 'pending' }, ended('withdrawn', reason, now));
  if (!affected) return; // its process has ended it meanwhile
  const metadata = { email_change_id: id, reason };
  await recordOfUser(tx, 'auth.admin_email_change_withdrawn', { resourceId: userId, metadata });
  await notifyEnded(tx, change);
}
