import type { EntityManager } from 'typeorm';
import { UserMfaFactor } from '../../../entities/user-mfa-factor.js';
import { UserRecoveryCode } from '../../../entities/user-recovery-code.js';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { dbWithin } from '../../platform/database/db-within.js';
import { lockUserByAddress } from '../addresses/user-by-address.js';
import { recordOfUser } from '../events/user-events.js';
import { forgiveMfaTries } from '../mfa/attempts.js';
import { endAdministratorAccess } from '../sessions/end-administrator-access.js';
import { noticeAdmin } from './mails.js';

/**
 * Deletes all second factors and recovery codes of a user, and ends their sessions and their pending sign-ins, also
 * those that wait for the choice of an Application. Locks the user's row, so that meanwhile no session begins and no
 * Account makes them a member.
 * @returns ids of the sessions that ended
 */
export async function resetUserMfa(tx: EntityManager, userId: string, now: Date): Promise<string[]> {
  await tx.query('select from users where id = $1 for update', [userId]);
  await tx.query('update users set mfa_reset_at = $2 where id = $1', [userId, now]);
  await tx.delete(UserMfaFactor, { userId });
  await tx.delete(UserRecoveryCode, { userId });
  await forgiveMfaTries(dbWithin(tx), 'user', userId, () => now);
  return endAdministratorAccess(tx, { userId, now });
}

/**
 * Resets the second factors of an administrator on behalf of the operator, where nobody else may: of an only Owner, or
 * a member of several Accounts.
 */
export const createMfaResetByOperator =
  ({ db, now }: { db: Db; now: Clock }) =>
  /** Notifies the person by mail. False if nobody has the address. */
  (email: string): Promise<boolean> =>
    db.transaction('system', async (tx) => {
      const user = await lockUserByAddress(tx, email);
      if (!user) return false;
      const { id: userId } = user;
      const at = now();
      const metadata = { revoked_session_ids: await resetUserMfa(tx, userId, at) };
      const eventId = await recordOfUser(tx, 'auth.admin_mfa_reset', { resourceId: userId, metadata });
      await noticeAdmin(tx, { userId, eventId, locale: 'en', now: at });
      return true;
    });
