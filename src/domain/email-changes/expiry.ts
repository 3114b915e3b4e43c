import { LessThanOrEqual } from 'typeorm';
import { EmailChange, type EmailChangeStatus } from '../../../entities/email-change.js';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { recordOfUser } from '../events/user-events.js';
import { ended } from './end.js';

export type EmailChangeExpiry = ReturnType<typeof createEmailChangeExpiry>;

/** What the process of a change does with its row. Every operation is safe to repeat. */
export function createEmailChangeExpiry({ db, now }: { db: Db; now: Clock }) {
  /** Ends a pending change, and returns its status; one that was deleted with its user counts as withdrawn. */
  const end = (id: string, status: 'expired' | 'cancelled'): Promise<EmailChangeStatus> =>
    db.transaction('system', async (tx) => {
      const at = now();
      const open = { id, status: 'pending' as const, ...(status === 'expired' && { expiresAt: LessThanOrEqual(at) }) };
      const { affected } = await tx.update(EmailChange, open, ended(status, null, at));
      const change = await tx.findOneBy(EmailChange, { id });
      if (affected && change) {
        const metadata = { email_change_id: id };
        await recordOfUser(tx, `auth.admin_email_change_${status}`, { resourceId: change.userId, metadata });
      }
      return change?.status ?? 'withdrawn';
    });
  return {
    /** Ends a change whose time is over, and deletes the new address. Returns `pending` before that. */
    expire: (id: string) => end(id, 'expired'),
    /** Ends a pending change for an operator. */
    cancel: (id: string) => end(id, 'cancelled'),
  };
}
