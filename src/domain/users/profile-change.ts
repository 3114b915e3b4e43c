import { User } from '../../../entities/user.js';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { assertSpeaksForAll } from '../admin-mfa/other-sign-in.js';
import { changedFields } from '../changed-fields.js';
import { DomainError } from '../errors.js';
import { recordOfUser } from '../events/user-events.js';
import type { AdminSubject } from './admin-tokens.js';

export type ProfileChanges = Partial<Pick<User, 'firstName' | 'lastName'>>;

/** Changes a user's name in all of their Accounts. The event names the fields, not their values. */
export const createProfileChange =
  ({ db, now }: { db: Db; now: Clock }) =>
  /** @throws DomainError account.other_sign_in_required; auth.invalid_credentials if the user has been deleted */
  (subject: AdminSubject, changes: ProfileChanges): Promise<void> =>
    db.transaction('system', async (tx) => {
      const { userId } = subject;
      await assertSpeaksForAll(tx, subject);
      const user = await tx.findOne(User, { where: { id: userId }, lock: { mode: 'for_no_key_update' } });
      if (!user) throw new DomainError('auth.invalid_credentials');
      const changed = changedFields(user, changes);
      if (changed.length === 0) return;
      await tx.update(User, { id: userId }, { ...changes, updatedAt: now() });
      await recordOfUser(tx, 'auth.admin_updated', { resourceId: userId, metadata: { changed } });
    });
